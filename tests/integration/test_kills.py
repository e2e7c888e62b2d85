"""kill -9 of any worker, and of the launcher, at any moment: no hang, no orphan, nothing left, no partial output."""

from __future__ import annotations

import os
import random
import signal
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from tests.integration.processes import launched

COUNT = 60_000
TOPOLOGY = f"""
name = "kills"

[actors.numbers]
type = "tests.integration.parts:Numbers"
count = {COUNT}
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


def clear(folder: Path) -> None:
    for path in outputs(folder):
        path.unlink()


def undisturbed(folder: Path) -> float:
    """Seconds that a run takes."""
    started = monotonic()
    with launched(folder, "topology.toml", "--deploy", "deploy.toml", "--workers", 3, "--quiet") as run:
        status, _, errors = run.wait()
    assert status == 0, errors
    check_outputs(folder, all_there=True)
    clear(folder)
    return monotonic() - started


def kill_at(folder: Path, moment: float, dice: random.Random) -> str:
    """Kills one process of a run after `moment` seconds, and checks what is left; says which it was."""
    workers = dice.choice([1, 2, 3, 4])
    with launched(folder, "topology.toml", "--deploy", "deploy.toml", "--workers", workers, "--quiet") as run:
        run.ends_within(moment)
        family = run.family()
        victim = dice.choice(family) if family else run.pid
        with suppress(ProcessLookupError):
            if family:
                os.kill(victim, signal.SIGKILL)
        status, _, errors = run.wait()
        left = run.wait_until_nobody_is_left()
        assert not left, f"processes {left} outlived a run whose process {victim} was killed"
    if family and victim == run.pid:
        assert status in (-signal.SIGKILL, 0), errors
        kind = "launcher"
    else:
        assert status in (0, 1), errors
        if status == 1:
            assert "was killed by signal 9 (SIGKILL)" in errors, errors
        kind = "worker" if family else "nobody"
    check_outputs(folder, all_there=status == 0)
    assert not [path for path in Path("/dev/shm").iterdir() if "actorstream" in path.name]
    clear(folder)
    return f"{kind} {status}"


def kill_many(folder: Path, times: int, seed: int) -> list[str]:
    dice = random.Random(seed)
    whole = undisturbed(folder)
    # evenly over the run, in random order, each moved a little
    moments = [whole * (number + dice.random()) / times for number in range(times)]
    dice.shuffle(moments)
    return [kill_at(folder, moment, dice) for moment in moments]


def test_twenty_kills_spread_over_a_run_leave_nothing(folder: Path) -> None:
    ends = kill_many(folder, 20, seed=20260101)
    assert {end.split()[0] for end in ends} >= {"launcher", "worker"}
    undisturbed(folder)
    assert not list(folder.rglob(".*.tmp")), "the next run removes what killed ones have left"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_a_hundred_kills_spread_over_runs_leave_nothing(folder: Path, seed: int) -> None:
    ends = kill_many(folder, 20, seed)
    assert {end.split()[0] for end in ends} >= {"launcher", "worker"}
