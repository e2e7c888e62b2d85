"""Checkpoints: a run whose worker is killed goes on with --resume, and its files are those of an undisturbed run."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from functools import cache, partial
from itertools import product
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from actorstream.checkpoint.store import CheckpointStore
from actorstream.connectors.sink import END
from actorstream.control.messages import Commit, Message
from actorstream.errors import ConfigurationError, OperatorError, RunError, WorkerDiedError
from actorstream.events.event import Event
from actorstream.launch.launcher import Launcher
from actorstream.launch.resume import restore_job
from actorstream.launch.run import RunResult, run_job
from actorstream.plan.compile import read_job
from tests.integration.processes import kill_one, launched
from tests.integration.worker_kills import killer, was_killed


class Row(Event):
    value: int


ROWS = 6_000
RATE = 2_000
KILLS = 2
SOURCE = """
[actors.numbers]
type = "csv-source"
path = "numbers"
schema = { time = "int", group = "int", value = "int" }
event_time = "time"
max_out_of_orderness = "40ms"
"""
SINK = """
[actors.{name}]
type = "{form}-sink"
inputs = [{inputs}]
path = "out/{name}"
"""


def sink(name: str, inputs: str, form: str = "csv") -> str:
    return SINK.format(name=name, inputs=inputs, form=form)


TIMED = (
    SOURCE  # two partitions in one replica, sorted and merged by time
    + """
[actors.others]
type = "csv-source"
path = "others.csv"
schema = { time = "int", group = "int", value = "int" }
event_time = "time"
max_out_of_orderness = "20ms"
[actors.odd]
type = "filter"
inputs = [{ from = "numbers", route = "shuffle" }]
where = "value % 2 == 1"
replicas = 2
[actors.sums]
type = "reduce"
inputs = [{ from = "odd", key = "group", order = "timestamp" }, { from = "others", key = "group", order = "timestamp" }]
aggregate = "sum(value)"
replicas = 2
[actors.windows]
type = "aggregate"
inputs = [{ from = "others", route = "key", key = "group" }]
key = ["group"]
window = { type = "tumbling", size = "100ms" }
aggregates = { total = "sum(value)", first = "first(value)" }
replicas = 2
[actors.both]
type = "union"
inputs = [{ from = "odd", order = "timestamp" }, { from = "others", order = "timestamp" }]
[actors.third]
type = "filter"
inputs = [{ from = "both", route = "shuffle" }]
where = "value % 3 == 0"
replicas = 2
"""
    + sink("totals", '{ from = "sums", order = "timestamp" }')
    + sink("thirds", '{ from = "third", order = "timestamp" }')
    + sink("windows-out", '{ from = "windows", order = "timestamp" }')
    + sink("late", '"numbers.late"')
)

CASES = {
    "keyed state, several sinks": SOURCE
    + """
replicas = 2
[actors.sums]
type = "reduce"
inputs = [{ from = "numbers", route = "key", key = "group" }]
aggregate = "sum(value)"
replicas = 3
"""
    + sink("totals", '"sums"')
    + sink("all", '"numbers"', "jsonl"),
    "windows and late rows behind a union": SOURCE
    + """
replicas = 2
[actors.odd]
type = "filter"
inputs = ["numbers"]
where = "value % 2 == 1"
replicas = 2
[actors.both]
type = "union"
inputs = ["odd", "numbers"]
replicas = 2
[actors.windows]
type = "aggregate"
inputs = [{ from = "both", route = "key", key = "group" }]
key = ["group"]
window = { type = "sliding", size = "200ms", slide = "50ms" }
aggregates = { total = "sum(value)", least = "min(time)", kinds = "count_distinct(value)" }
replicas = 2
"""
    + sink("windows-out", '"windows"')
    + sink("late", '"windows.late"'),
    "a history, then live rows": """
[actors.numbers]
type = "history-then-live"
history = { type = "csv-source", path = "numbers", max_out_of_orderness = "40ms" }
live = { type = "csv-source", path = "numbers", max_out_of_orderness = "40ms" }
schema = { time = "int", group = "int", value = "int" }
event_time = "time"
cut = 1500
[actors.windows]
type = "aggregate"
inputs = [{ from = "numbers", route = "key", key = "group" }]
key = ["group"]
window = { type = "tumbling", size = "200ms" }
aggregates = { total = "sum(value)", rows = "count()" }
"""
    + sink("windows-out", '"windows"')
    + sink("all", '"numbers"'),
    "serial order": """
[actors.numbers]
type = "csv-source"
path = "numbers/0.csv"
[actors.map]
type = "map"
inputs = ["numbers"]
set = { value = "value * 3" }
replicas = 3
"""
    + sink("mapped", '{ from = "map", order = "serial" }'),
    "timestamp order": TIMED + sink("others-out", '{ from = "others", order = "timestamp" }'),
    "all orders": TIMED
    + """
[actors.lines]
type = "csv-source"
path = "numbers/0.csv"
[actors.tripled]
type = "map"
inputs = ["lines"]
set = { value = "value * 3" }
replicas = 3
[actors.groups]
type = "reduce"
inputs = [{ from = "lines", route = "key", key = "group" }]
aggregate = "sum(value)"
replicas = 2
"""
    + sink("tripled-out", '{ from = "tripled", order = "serial" }')
    + sink("by-group-late", '"groups"'),
    "parquet": SOURCE + sink("rows", '"numbers"', "parquet"),
    "an end that came before": """
[actors.few]
type = "csv-source"
path = "few.csv"
[actors.sum]
type = "reduce"
inputs = ["few"]
aggregate = "sum(value)"
"""
    + SOURCE
    + sink("few-out", '"sum"')
    + sink("rows", '"numbers"'),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return with_inputs(tmp_path)


def with_inputs(folder: Path) -> Path:
    """Two files of rows out of order, some of them late, and others."""
    random.seed(7)
    (folder / "numbers").mkdir()
    for part in range(2):
        rows = [
            f"{at + random.choice((0, 5, 30, -90))},{at % 17},{at * 7 % 1000}"
            for at in range(100, 100 + ROWS // 2)
        ]
        (folder / "numbers" / f"{part}.csv").write_text("time,group,value\n" + "\n".join(rows) + "\n")
    others = [f"{100 + at // 3 + random.choice((0, 0, 9))},{at % 5},{at % 1000}" for at in range(ROWS)]
    (folder / "others.csv").write_text("time,group,value\n" + "\n".join(others) + "\n")
    (folder / "few.csv").write_text("value\n1\n2\n3\n")
    return folder


def run(
    folder: Path,
    case: str,
    out: str,
    *sets: str,
    rate: float | None = None,
    resume: bool = True,
    control: Callable[[Launcher], Callable[[], None]] | None = None,
) -> RunResult:
    """One launch of a case whose outputs go to folder `out`."""
    (folder / "topology.toml").write_text('name = "checkpoints"\n' + CASES[case].replace("out/", f"{out}/"))
    (folder / "deploy.toml").write_text(
        f'batch_size = 64\n[checkpoint]\npath = "state-{out}"\nevery = "10ms"\n'
    )
    paced = [f"actors.numbers.rate={rate}"] if rate is not None else []
    job = read_job(folder / "topology.toml", folder / "deploy.toml", [*paced, *sets])
    if resume:
        restore_job(job)
    return run_job(job, on_start=None if control is None else lambda launcher, _: control(launcher))


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, list[str]]]:
    """What a run of a case leaves to which nothing happens; each is run once, when somebody asks."""

    @cache
    def left(case: str) -> dict[str, list[str]]:
        folder = with_inputs(tmp_path_factory.mktemp("undisturbed"))
        run(folder, case, "out")
        return content(folder / "out", case)

    return left


def content(folder: Path, case: str = "") -> dict[str, list[str]]:
    """File name -> lines; sorted where their order is not defined."""
    found = {}
    for path in sorted(folder.iterdir()):
        if not path.name.startswith("."):
            parquet = path.read_bytes()[:4] == b"PAR1"
            lines = (
                list(map(str, pq.read_table(path).to_pylist())) if parquet else path.read_text().splitlines()
            )
            in_order = "order" in case and "late" not in path.name
            found[path.name] = lines if in_order else sorted(lines)
    return found


LARGE = ("a history, then live rows", "timestamp order", "all orders")
QUICK = [("a history, then live rows", 2), ("timestamp order", 1), ("all orders", 2)]


@pytest.mark.parametrize(
    ("case", "workers"),
    [
        pytest.param(*each, marks=[pytest.mark.slow] if each[0] in LARGE and each not in QUICK else [])
        for each in product(CASES, (1, 2))
    ],
)
def test_a_run_that_is_killed_and_resumed_leaves_what_an_undisturbed_one_does(
    folder: Path, undisturbed: Callable[[str], dict[str, list[str]]], case: str, workers: int
) -> None:
    several, made = f"deploy.workers={workers}", 0
    for kill in range(KILLS):
        control = killer(kill, 1 + kill)
        if not was_killed(partial(run, folder, case, "disturbed", several, rate=RATE, control=control)):
            break
        assert not [path for path in (folder / "disturbed").glob("*") if not path.name.startswith(".")]
        last = CheckpointStore(str(folder / "state-disturbed")).latest()
        assert last is not None
        assert last.number > made
        made = last.number
    else:
        result = run(folder, case, "disturbed", f"deploy.workers={3 - workers}")
        assert result.report["events_out"]["numbers"] < ROWS
    assert content(folder / "disturbed", case) == undisturbed(case)
    assert not list((folder / "disturbed").glob(".*"))


def at_the_commit(launcher: Launcher) -> Callable[[], None]:
    """Kills all workers when they are told to commit the end, and lets nobody hear of it."""

    def tick() -> None:
        assert launcher.host is not None
        told = launcher.host.send

        def send(worker: int, message: Message) -> None:
            if isinstance(message, Commit) and message.barrier == END:
                launcher.workers[worker].kill()
            else:
                told(worker, message)

        launcher.host.send = send

    return tick


@pytest.mark.parametrize("case", ["keyed state, several sinks", "parquet"])
def test_a_run_that_ended_and_could_not_commit_is_committed_when_it_is_resumed(
    folder: Path, undisturbed: Callable[[str], dict[str, list[str]]], case: str
) -> None:
    with pytest.raises(WorkerDiedError):
        run(folder, case, "disturbed", control=at_the_commit)
    assert not [path for path in (folder / "disturbed").glob("*") if not path.name.startswith(".")]
    for _ in range(2):
        run(folder, case, "disturbed")
        assert content(folder / "disturbed", case) == undisturbed(case)


def test_a_run_that_does_not_resume_begins_anew_whatever_the_store_has(
    folder: Path, undisturbed: Callable[[str], dict[str, list[str]]]
) -> None:
    case = "serial order"
    with pytest.raises(WorkerDiedError):
        run(folder, case, "disturbed", rate=RATE, control=killer(1, 1))
    result = run(folder, case, "disturbed", resume=False)
    assert result.report["events_out"]["numbers"] == ROWS // 2
    assert result.report["checkpoints"] >= 1
    assert content(folder / "disturbed", case) == undisturbed(case)


def test_a_checkpoint_of_another_topology_or_with_other_replicas_is_refused(folder: Path) -> None:
    run(folder, "serial order", "out")
    with pytest.raises(ConfigurationError, match="checkpoint has 3 replicas of actor 'map', this run 2"):
        run(folder, "serial order", "out", "actors.map.replicas=2")
    with pytest.raises(ConfigurationError, match=r"output default is .*float.*, and was .*int") as raised:
        run(folder, "serial order", "out", 'actors.map.set.value="value * 1.5"')
    assert len(raised.value.problems) == 1


@pytest.mark.parametrize(
    ("key", "value", "was"),
    [
        (
            "actors.windows.window.size",
            "300ms",
            "actor 'windows': key window is .*'300ms'.*, and was .*'100ms'",
        ),
        ("actors.late.path", "out/elsewhere", "actor 'late': key path is .*elsewhere'?, and was .*late"),
    ],
)
def test_state_and_files_are_not_mixed_with_those_of_other_keys(
    folder: Path, key: str, value: str, was: str
) -> None:
    run(folder, "timestamp order", "out")
    with pytest.raises(ConfigurationError, match=was):
        run(folder, "timestamp order", "out", f"{key}={value}")


def test_a_run_that_failed_goes_on_with_another_on_error(folder: Path) -> None:
    case, fails = "serial order", "actors.map.set.value=1000 // (value - 999)"
    with pytest.raises(OperatorError):
        run(folder, case, "failed", fails, rate=RATE)
    run(folder, case, "failed", fails, "actors.map.on_error=skip")
    run(folder, case, "skipped", fails, "actors.map.on_error=skip")
    assert content(folder / "failed", case) == content(folder / "skipped", case)


def test_a_store_that_cannot_be_written_ends_the_run(folder: Path) -> None:
    (folder / "state-out").write_text("a file is in the way")
    with pytest.raises(RunError, match="cannot be written to"):
        run(folder, "serial order", "out", rate=RATE)
    assert not (folder / "out" / "mapped").exists()


def test_resuming_without_a_store_is_a_configuration_error(folder: Path) -> None:
    (folder / "t.toml").write_text('name = "t"\n' + CASES["serial order"])
    job = read_job(folder / "t.toml")
    with pytest.raises(ConfigurationError, match=r"no \[checkpoint\]"):
        restore_job(job)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_fifty_kills_of_workers_and_launchers_at_random_moments_leave_what_an_undisturbed_run_does(
    folder: Path, undisturbed: Callable[[str], dict[str, list[str]]], case: str
) -> None:
    """Through the command line, each time until the run has ended: before the first checkpoint, between, at the end."""
    (folder / "topology.toml").write_text(
        'name = "checkpoints"\n' + CASES[case].replace("out/", "disturbed/")
    )
    (folder / "deploy.toml").write_text('batch_size = 64\n[checkpoint]\npath = "state"\nevery = "20ms"\n')
    command = ["topology.toml", "--deploy", "deploy.toml", "--resume", "--quiet"]
    slowly = ["--set", f"actors.numbers.rate={RATE}"]
    dice = random.Random(case)
    kills = 0
    while kills < 50:
        with launched(folder, *command, *(slowly if kills % 5 else [])) as launch:
            kills += kill_one(launch, dice, 1.5)
        done = (folder / "state").is_dir() and CheckpointStore(str(folder / "state")).latest()
        if done and done.ended:
            with launched(folder, *command) as launch:
                status, _, errors = launch.wait()
            assert status == 0, errors
            assert content(folder / "disturbed", case) == undisturbed(case)
            shutil.rmtree(folder / "disturbed")
            shutil.rmtree(folder / "state")
