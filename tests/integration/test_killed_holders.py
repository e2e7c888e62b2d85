"""A worker that is killed while it holds a serial number: an error says so, and what came out is the beginning of what one
worker gives, without a gap and in its order."""

from __future__ import annotations

import os
import random
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.processes import Announcements, launched

COUNT, ROWS = 400_000, 64
PARTS = "tests.integration.killed_parts"
NOBODY = -1


def topology(first: int) -> str:
    return f"""
name = "held"

[actors.numbers]
type = "tests.integration.parts:Numbers"
count = {COUNT}

[actors.holds]
type = "{PARTS}:Holds"
inputs = ["numbers"]
pipe = "held"
first = {first}
replicas = 3

[actors.shown]
type = "{PARTS}:Shows"
inputs = [{{ from = "holds", order = "serial" }}]
path = "shown.txt"

[actors.out]
type = "csv-sink"
inputs = [{{ from = "holds", order = "serial" }}]
path = "out.csv"
"""


def arguments(window: int) -> list[object]:
    """Of a run in four processes."""
    sets = ["--set", f"deploy.batch_size={ROWS}", "--set", f"deploy.reorder_window={window}"]
    return ["topology.toml", "--quiet", "--transport", "shm", "--workers", 4, *sets]


def check_beginning(folder: Path, end: int) -> None:
    """What was shown is the beginning of the numbers up to `end`."""
    found = shown(folder)
    whole = "".join(f"{value}\n" for value in range(end))
    if not whole.startswith(found):
        wrong = next(place for place, (one, other) in enumerate(zip(found, whole + "\0")) if one != other)
        pytest.fail(f"after {whole[:wrong].count(chr(10))} numbers came {found[wrong : wrong + 40]!r}")


def shown(folder: Path) -> str:
    return (folder / "shown.txt").read_text() if (folder / "shown.txt").exists() else ""


def kill_the_holder(folder: Path, *, first: int, window: int) -> None:
    (folder / "topology.toml").write_text(topology(first))
    held = Announcements(folder / "held")
    try:
        with launched(folder, *arguments(window)) as run:
            assert held.wait(run), run.wait()
            process, value = map(int, (folder / "held.held").read_text().split())
            os.kill(process, signal.SIGKILL)
            status, _, errors = run.wait()
    finally:
        held.close()
    assert status == 1, errors
    assert "was killed by signal 9 (SIGKILL)" in errors
    assert value >= first
    check_beginning(folder, value)
    assert not (folder / "out.csv").exists()


@pytest.mark.parametrize(("first", "window"), [(9 * ROWS, 1), (1000 * ROWS, 1024)])
def test_a_worker_killed_while_it_holds_a_number_leaves_neither_gap_nor_disorder(
    tmp_path: Path, first: int, window: int
) -> None:
    kill_the_holder(tmp_path, first=first, window=window)


@pytest.mark.slow
@pytest.mark.parametrize("window", [1, 2, 16, 1024])
@pytest.mark.parametrize("number", [0, 1, 2, 100, 3000, 5000])
def test_a_worker_killed_while_it_holds_any_number_leaves_neither_gap_nor_disorder(
    tmp_path: Path, number: int, window: int
) -> None:
    kill_the_holder(tmp_path, first=number * ROWS, window=window)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_a_worker_killed_at_any_moment_leaves_neither_gap_nor_disorder(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    (tmp_path / "topology.toml").write_text(topology(NOBODY))
    with launched(tmp_path, *arguments(dice.choice([1, 16, 1024]))) as run:
        run.ends_within(dice.uniform(0.2, 2.0))
        workers = run.workers()
        if workers:
            with suppress(ProcessLookupError):
                os.kill(dice.choice(workers), signal.SIGKILL)
        status, _, errors = run.wait()
    assert status in (0, 1), errors
    assert (status == 0) or "was killed by signal 9 (SIGKILL)" in errors
    check_beginning(tmp_path, COUNT)
    if status == 0 or (tmp_path / "out.csv").exists():  # it was killed after the end of the rows
        lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
        assert [int(line.split(",")[0]) for line in lines] == list(range(COUNT))
