"""kill -9 of any worker, and of the launcher, at any moment: no hang, no orphan, nothing left, no partial output."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from tests.integration.processes import Announcements, launched

COUNT = 30_000
TOPOLOGY = f"""
name = "kills"

[actors.numbers]
type = "tests.integration.parts:Announced"
pipe = "started"
count = {COUNT}
rate = {COUNT * 2}
parts = 4
replicas = 2

[actors.double]
type = "tests.integration.parts:Double"
inputs = [{{ from = "numbers", route = "key", key = "group" }}]
replicas = 2

[actors.rows]
type = "csv-sink"
inputs = ["double"]
path = "out/rows.csv"

[actors.parts]
type = "jsonl-sink"
inputs = ["double"]
replicas = 2
path = "out/parts"
"""
DEPLOY = """
transport = "shm"
batch_size = 256
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "topology.toml").write_text(TOPOLOGY)
    (tmp_path / "deploy.toml").write_text(DEPLOY)
    return tmp_path


def outputs(folder: Path) -> set[Path]:
    """Files under their final names."""
    found = (folder / "out").rglob("*") if (folder / "out").exists() else []
    return {path for path in found if path.is_file() and not path.name.startswith(".")}


def check_complete(path: Path) -> int:
    """How many rows the file has; each is whole."""
    lines = path.read_text().splitlines()
    if path.suffix == ".csv":
        assert lines[0] == "value,group"
        assert sorted(int(line.split(",")[0]) for line in lines[1:]) == list(range(0, 2 * COUNT, 2))
        return len(lines) - 1
    assert all(line.startswith('{"value":') and line.endswith("}") for line in lines)
    return len(lines)


def check_outputs(folder: Path, *, all_there: bool) -> None:
    """No file under its final name is partial; all are there after a run that succeeded."""
    found = outputs(folder)
    rows = {path.name: check_complete(path) for path in found}
    parts = [count for name, count in rows.items() if name.endswith(".jsonl")]
    if all_there:
        assert "rows.csv" in rows
        assert len(parts) == 2
    if len(parts) == 2:
        assert sum(parts) == COUNT


def clear(folder: Path, started: Announcements) -> None:
    for path in outputs(folder):
        path.unlink()
    started.clear()


def arguments(workers: int) -> list[object]:
    return ["topology.toml", "--deploy", "deploy.toml", "--workers", workers, "--quiet"]


def undisturbed(folder: Path, started: Announcements) -> tuple[float, float]:
    """Seconds that a run takes until its sources start, and from there on."""
    began = monotonic()
    with launched(folder, *arguments(3)) as run:
        assert started.wait(run)
        at_work = monotonic()
        status, _, errors = run.wait()
    assert status == 0, errors
    check_outputs(folder, all_there=True)
    clear(folder, started)
    return at_work - began, monotonic() - at_work


def kill_at(folder: Path, started: Announcements | None, moment: float, dice: random.Random) -> str:
    """Kills one process of a run `moment` seconds after its start, or after its sources have started if that is to be
    waited for, and checks what is left; says which process it was."""
    with launched(folder, *arguments(dice.choice([1, 2, 3, 4]))) as run:
        if started is not None:
            assert started.wait(run)
        run.ends_within(moment)
        family = run.family()
        workers = [pid for pid in family if pid != run.pid]
        victim = dice.choice(workers if workers and dice.random() < 0.7 else [run.pid])
        with suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        status, _, errors = run.wait()
        left = run.wait_until_nobody_is_left()
        assert not left, f"processes {left} outlived a run whose process {victim} was killed"
    if victim == run.pid:
        assert status in (-signal.SIGKILL, 0), errors
    else:
        assert status in (0, 1), errors
        if status == 1:
            assert "was killed by signal 9 (SIGKILL)" in errors, errors
    check_outputs(folder, all_there=status == 0)
    assert not [path for path in Path("/dev/shm").iterdir() if "actorstream" in path.name]
    return f"{'launcher' if victim == run.pid else 'worker'} {status}"


def kill_many(folder: Path, started: Announcements, times: int, seed: int) -> None:
    """Kills one process in each of `times` runs, and goes on until a launcher and a worker have died of it."""
    dice = random.Random(seed)
    before, after = undisturbed(folder, started)
    # evenly over the whole run, each moved a little: some from its very start, most from the start of the sources
    plans: list[tuple[Announcements | None, float]] = []
    for number in range(times):
        share = (number + dice.random()) / times
        plans.append((None, before * share * 3) if number % 3 == 0 else (started, after * share))
    dice.shuffle(plans)
    ends = []
    for from_there, moment in plans:
        ends.append(kill_at(folder, from_there, moment, dice))
        clear(folder, started)
    wanted = {"launcher -9", "worker 1"}
    # on a slow machine every kill so far may have come too early or too late
    while not wanted <= set(ends) and len(ends) < times + 30:
        ends.append(kill_at(folder, started, 0.0, dice))
        clear(folder, started)
    assert wanted <= set(ends), ends


@pytest.fixture
def started(folder: Path) -> Iterator[Announcements]:
    announcements = Announcements(folder / "started")
    yield announcements
    announcements.close()


def test_kills_spread_over_a_run_leave_nothing(folder: Path, started: Announcements) -> None:
    kill_many(folder, started, 8, seed=20260101)
    undisturbed(folder, started)
    assert not list(folder.rglob(".*.tmp")), "the next run removes what killed ones have left"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_hundred_kills_spread_over_runs_leave_nothing(
    folder: Path, started: Announcements, seed: int
) -> None:
    kill_many(folder, started, 20, seed)
