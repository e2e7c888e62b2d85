"""Programs of the apps, killed and resumed on other plans: the files of an undisturbed run, those of the references."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from actorstream.checkpoint.store import CheckpointStore
from actorstream.errors import WorkerDiedError
from actorstream.launch.launcher import Launcher
from actorstream.launch.resume import restore_job
from actorstream.launch.run import run_job
from actorstream.plan.compile import read_job
from apps.keyed_counters import reference as keyed_counters
from apps.outlier_detection import reference as outlier_detection
from apps.page_view_join import reference as page_view_join
from apps.rule_fraud import reference as rule_fraud
from apps.smart_home import reference as smart_home
from apps.value_barrier import reference as value_barrier
from tests.apps.dependency import APPS, ROOT, as_csv, rows_of
from tests.integration.processes import kill_one, launched

RATE = 4_000
"""Rows a second of the greatest input: two to three seconds of most apps."""
PLANS = ("communication", "balanced", "sequential")


def _sums() -> dict[str, list[str]]:
    data = APPS / "value_barrier" / "data"
    rows = value_barrier.sums(rows_of(data / "values.csv.gz"), rows_of(data / "barriers.csv"))
    return {"sums": as_csv(value_barrier.COLUMNS, rows, ordered=True)}


def _frauds() -> dict[str, list[str]]:
    data = APPS / "rule_fraud" / "data"
    aggregates, frauds = rule_fraud.detect(rows_of(data / "transactions.csv.gz"), rows_of(data / "rules.csv"))
    return {
        "aggregates": as_csv(rule_fraud.AGGREGATES, aggregates, ordered=True),
        "frauds": as_csv(rule_fraud.FRAUDS, frauds),
    }


def _joined() -> dict[str, list[str]]:
    data = APPS / "page_view_join" / "data"
    joined, replaced = page_view_join.join(rows_of(data / "views.csv.gz"), rows_of(data / "updates.csv"))
    return {
        "joined": as_csv(page_view_join.JOINED, joined),
        "replaced": as_csv(page_view_join.REPLACED, replaced),
    }


def _reads() -> dict[str, list[str]]:
    files = sorted((APPS / "keyed_counters" / "data" / "events").iterdir())
    rows = keyed_counters.reads(row for path in files for row in rows_of(path))
    return {"reads": by_key(as_csv(keyed_counters.COLUMNS, rows, ordered=True))}


def _outliers() -> dict[str, list[str]]:
    data = APPS / "outlier_detection" / "data"
    checks = [int(row["ts"]) for row in rows_of(data / "checks.csv")]
    rows = outlier_detection.detect(outlier_detection.read(data / "connections.csv.gz"), checks)
    return {"outliers": as_csv(outlier_detection.COLUMNS, rows, ordered=True)}


def _averages() -> dict[str, list[str]]:
    loads = smart_home.loads(rows_of(APPS / "smart_home" / "data" / "measurements.csv.gz"), 1_377_986_401, 5)
    found = smart_home.predict(loads, 4)
    return {name: as_csv(smart_home.COLUMNS[name], rows, ordered=True) for name, rows in found.items()}


@dataclass(frozen=True)
class App:
    """An app on its data: its program, its greatest input, and its outputs."""

    program: str
    source: str
    sinks: tuple[str, ...]
    reference: Callable[[], dict[str, list[str]]]
    """What its files have."""
    unordered: tuple[str, ...] = ()
    """Sinks that several workers of a plan write to; the others' rows have an order."""
    keyed: tuple[str, ...] = ()
    """Those of which the rows of each value of the first column have one."""
    topology: str = "topology.toml"
    rate: int = RATE


CASES = {
    "value_barrier": App("sum", "values", ("sums",), _sums),
    "rule_fraud": App("detect", "transactions", ("aggregates", "frauds"), _frauds, unordered=("frauds",)),
    "page_view_join": App("join", "views", ("joined", "replaced"), _joined, unordered=("joined", "replaced")),
    "keyed_counters": App("count", "events", ("reads",), _reads, keyed=("reads",)),
    "outlier_detection": App(
        "detect", "connections", ("outliers",), _outliers, topology="checks.toml", rate=1000
    ),
    "smart_home": App("average", "measurements", ("house", "household", "plug", "predictions"), _averages),
}


def by_key(lines: list[str]) -> list[str]:
    """Lines behind the first sorted by their first column, those of each of its values in their order."""
    return [lines[0], *sorted(lines[1:], key=lambda line: line.split(",")[0])]


def topology(app: str) -> Path:
    return APPS / app / CASES[app].topology


def sets(app: str, out: Path) -> list[str]:
    """Where a run writes."""
    return [f"actors.{sink}.path={out / sink}.csv" for sink in CASES[app].sinks]


def slow(app: str, rate: float) -> list[str]:
    return [f"actors.{CASES[app].source}.rate={rate}"]


def another(app: str, chance: random.Random) -> list[str]:
    """A random deployment and plan."""
    program = CASES[app].program
    return [
        f"deploy.workers={chance.randint(1, 3)}",
        f"deploy.batch_size={chance.choice((7, 64, 1000))}",
        f"actors.{program}.plan={chance.choice(PLANS)}",
        f"actors.{program}.plan_workers={chance.randint(1, 4)}",
    ]


def written(app: str, out: Path) -> dict[str, list[str]]:
    """Sink -> the lines of its file; sorted behind the first where no order is defined."""
    found = {sink: (out / f"{sink}.csv").read_text().splitlines() for sink in CASES[app].sinks}
    for sink in CASES[app].unordered:
        found[sink] = [found[sink][0], *sorted(found[sink][1:])]
    for sink in CASES[app].keyed:
        found[sink] = by_key(found[sink])
    return found


def undisturbed(app: str, folder: Path) -> dict[str, list[str]]:
    run_job(read_job(topology(app), None, [*sets(app, folder / "undisturbed"), "deploy.workers=2"]))
    found = written(app, folder / "undisturbed")
    assert all(len(lines) > 1 for lines in found.values())
    for sink, lines in CASES[app].reference().items():
        assert found[sink] == lines
    return found


def deployment(folder: Path) -> Path:
    path = folder / "deploy.toml"
    path.write_text('[checkpoint]\npath = "state"\nevery = "20ms"\n')
    return path


@pytest.mark.parametrize("app", ["rule_fraud", "smart_home"])
def test_an_app_that_is_killed_twice_and_goes_on_leaves_what_an_undisturbed_run_does(
    app: str, tmp_path: Path
) -> None:
    expected, deploy, chance = undisturbed(app, tmp_path), deployment(tmp_path), random.Random(app)
    out = tmp_path / "out"
    rate, kills = float(CASES[app].rate), 0
    while kills < 2:

        def kill(launcher: Launcher, kills: int = kills) -> None:
            assert launcher.checkpoints is not None
            if launcher.checkpoints.made > kills:
                chance.choice(launcher.workers).kill()

        job = read_job(topology(app), deploy, [*sets(app, out), *slow(app, rate), *another(app, chance)])
        restore_job(job)
        try:
            run_job(job, on_start=lambda launcher, _: lambda: kill(launcher))
        except WorkerDiedError:
            kills += 1
        else:  # all was read before a worker could be killed: anew, and slower
            shutil.rmtree(out)
            shutil.rmtree(tmp_path / "state")
            rate, kills = rate / 2, 0
    job = read_job(topology(app), deploy, [*sets(app, out), *another(app, chance)])
    restore_job(job)
    assert job.restored is not None
    run_job(job)
    assert written(app, out) == expected


@pytest.mark.slow
@pytest.mark.parametrize("app", CASES)
def test_fifty_kills_of_an_app_at_random_moments_leave_what_an_undisturbed_run_does(
    app: str, tmp_path: Path
) -> None:
    """Through the command line; workers or the launcher, until a run has ended, again and again, each launch on another
    plan."""
    expected, chance = undisturbed(app, tmp_path), random.Random(app)
    out, store = tmp_path / "out", tmp_path / "state"
    command = [topology(app), "--deploy", deployment(tmp_path), "--resume", "--quiet"]

    def options(*more: str) -> list[str]:
        return [part for each in (*sets(app, out), *another(app, chance), *more) for part in ("--set", each)]

    kills = ended = 0
    while kills < 50:
        with launched(ROOT, *command, *options(*slow(app, CASES[app].rate))) as launch:
            kills += kill_one(launch, chance, 2.5)
        done = CheckpointStore(str(store)).latest() if store.is_dir() else None
        if (done is not None and done.ended) or kills == 50:
            with launched(ROOT, *command, *options()) as launch:
                status, _, errors = launch.wait()
            assert status == 0, errors
            assert written(app, out) == expected
            ended += 1
            shutil.rmtree(out)
            shutil.rmtree(store)
    assert ended
