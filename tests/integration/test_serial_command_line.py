"""Serial order by the real command line: the csv file of any deployment is that of one worker, byte for byte; or there
is none, and an error says why."""

from __future__ import annotations

import os
import signal
from itertools import product
from pathlib import Path

import pytest

from tests.integration.processes import Announcements, launched

PARTS = "tests.integration.serial_parts"
TOPOLOGY = f"""
name = "serial"

[actors.numbers]
type = "tests.integration.parts:Numbers"
count = 150

[actors.some]                                   # any selectivity: 0 to 3 rows of each
type = "{PARTS}:Some"
inputs = ["numbers"]
replicas = 3

[actors.counts]                                 # by key, so it gets serial input too
type = "{PARTS}:CountByGroup"
inputs = [{{ from = "some", key = "group" }}]
replicas = 2
totals = true

[actors.kept]                                   # a native operator
type = "filter"
inputs = ["counts"]
where = "value % 3 != 0"
replicas = 4

[actors.out]
type = "csv-sink"
inputs = [{{ from = "kept", order = "serial" }}]
path = "out.csv"

[actors.wide]                                   # 50 rows of each
type = "tests.integration.parts:Expand"
inputs = ["numbers"]
times = 50
replicas = 2

[actors.twice]
type = "tests.integration.parts:DoubleBatch"
inputs = [{{ from = "wide", route = "key", key = "value" }}]
replicas = 2

[actors.chain]                                  # a second stage behind the first one
type = "{PARTS}:Chain"
inputs = [{{ from = "twice", order = "serial" }}]

[actors.again]
type = "{PARTS}:SomeBatch"
inputs = ["chain"]
replicas = 3

[actors.out2]
type = "csv-sink"
inputs = [{{ from = "again", order = "serial" }}]
path = "out2.csv"

[actors.dropped]                                # a filter that lets nothing through
type = "filter"
inputs = ["numbers"]
where = "value < 0"
replicas = 3

[actors.out3]
type = "csv-sink"
inputs = [{{ from = "dropped", order = "serial" }}]
path = "out3.csv"
"""
OUTPUTS = ("out.csv", "out2.csv", "out3.csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("serial")
    (folder / "topology.toml").write_text(TOPOLOGY)
    return folder


def bytes_of(folder: Path, *arguments: object) -> list[bytes]:
    """The outputs of a run of the command with these arguments."""
    for name in OUTPUTS:
        (folder / name).unlink(missing_ok=True)
    with launched(folder, "topology.toml", "--quiet", *arguments) as run:
        status, _, errors = run.wait()
    assert status == 0, errors
    return [(folder / name).read_bytes() for name in OUTPUTS]


@pytest.fixture(scope="module")
def sequential(folder: Path) -> list[bytes]:
    """What one worker writes."""
    found = bytes_of(folder, "--workers", 1)
    assert all(found)
    return found


def settings(transport: str, workers: int, batch: int, window: int, edge: int, seed: int) -> list[object]:
    keys = {"batch_size": batch, "reorder_window": window, "edge_bytes": edge}
    if seed:
        keys["testing"] = f'{{delay = "300us", seed = {seed}}}'  # type: ignore[assignment]
    sets = [each for key, value in keys.items() for each in ("--set", f"deploy.{key}={value}")]
    return ["--transport", transport, "--workers", workers, *sets]


@pytest.mark.parametrize(
    ("transport", "workers", "batch", "window", "edge", "seed"),
    [
        ("shm", 2, 4096, 1024, 4 << 20, 1),
        ("shm", 4, 64, 1, 1, 2),
        ("shm", 3, 16, 8, 1024, 3),
        ("local", 3, 16, 1, 1, 4),
    ],
)
def test_the_output_is_that_of_one_worker(
    folder: Path,
    sequential: list[bytes],
    transport: str,
    workers: int,
    batch: int,
    window: int,
    edge: int,
    seed: int,
) -> None:
    assert bytes_of(folder, *settings(transport, workers, batch, window, edge, seed)) == sequential


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 5])
@pytest.mark.parametrize("batch", [3, 100, 4096])
@pytest.mark.parametrize(
    ("transport", "workers"), [*product(["shm"], range(1, 9)), ("local", 2), ("local", 8)]
)
def test_the_output_is_that_of_one_worker_for_any_batch_and_buffer_size(
    folder: Path, sequential: list[bytes], transport: str, workers: int, batch: int, seed: int
) -> None:
    for window, edge in product([1, 32, 1024], [1, 1024]):
        found = bytes_of(folder, *settings(transport, workers, batch, window, edge, seed))
        assert found == sequential, (window, edge)


KILLED = f"""
name = "killed"

[actors.numbers]
type = "tests.integration.parts:Numbers"
count = 100000

[actors.stuck]
type = "{PARTS}:StuckOnce"
pipe = "stuck"
inputs = ["numbers"]
replicas = 3

[actors.out]
type = "csv-sink"
inputs = [{{ from = "stuck", order = "serial" }}]
path = "out.csv"
"""


def test_a_worker_killed_while_it_holds_a_number_ends_the_run_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").write_text(KILLED)
    stuck = Announcements(tmp_path / "stuck")
    try:
        arguments = ["--workers", 3, "--quiet", "--set", "deploy.batch_size=64"]
        with launched(tmp_path, "topology.toml", *arguments) as run:
            assert stuck.wait(run)  # the worker that holds the number has said so
            os.kill(int((tmp_path / "stuck.pid").read_text()), signal.SIGKILL)
            status, _, errors = run.wait()
        assert status == 1, errors
        assert "was killed by signal 9 (SIGKILL)" in errors
        assert not (tmp_path / "out.csv").exists()
    finally:
        stuck.close()
