"""Ctrl-C and SIGTERM: the first ends the sources and commits, the second stops at once and commits nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.processes import Announcements, Run, launched

SOURCE = """
name = "interrupted"

[actors.numbers]
type = "tests.integration.parts:Announced"
pipe = "here"
count = 1_000_000_000
rate = 50_000
"""
DOUBLE = """
[actors.double]
type = "tests.integration.parts:Double"
inputs = [{ from = "numbers", route = "shuffle" }]
replicas = 2
"""
SINK = """
[actors.rows]
type = "csv-sink"
inputs = ["double"]
path = "out/rows.csv"
"""
SIGNALS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
WORKERS = pytest.mark.parametrize("workers", [1, 2, 3])


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Announcements]:
    announcements = Announcements(tmp_path / "here")
    yield announcements
    announcements.close()


def write(folder: Path, *parts: str) -> None:
    (folder / "topology.toml").write_text("".join(parts))


def arguments(workers: int) -> list[object]:
    return ["topology.toml", "--transport", "shm", "--workers", workers, "--report", "report.json"]


def outputs(folder: Path) -> list[str]:
    out = folder / "out"
    return sorted(path.name for path in out.iterdir()) if out.exists() else []


def interrupt_all(run: Run, number: int) -> None:
    """As a terminal does it: everybody gets the signal."""
    for pid in run.family():
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@SIGNALS
@WORKERS
def test_the_first_ends_the_sources_and_commits_what_was_read(
    tmp_path: Path, here: Announcements, number: int, workers: int
) -> None:
    write(tmp_path, SOURCE, DOUBLE, SINK)
    with launched(tmp_path, *arguments(workers)) as run:
        assert here.wait(run)
        interrupt_all(run, number)
        status, _, errors = run.wait()
        assert not run.wait_until_nobody_is_left()
    assert status == 130, errors
    assert "interrupted" in errors
    lines = (tmp_path / "out/rows.csv").read_text().splitlines()
    values = sorted(int(line.split(",")[0]) for line in lines[1:])
    assert values == list(range(0, 2 * len(values), 2)), "all that was read, and nothing else"
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["events_out"]["numbers"] == report["events_in"]["rows"] == len(values)


@SIGNALS
def test_only_the_command_needs_to_be_told(tmp_path: Path, here: Announcements, number: int) -> None:
    write(tmp_path, SOURCE, DOUBLE, SINK)
    with launched(tmp_path, *arguments(2)) as run:
        assert here.wait(run)
        os.kill(run.pid, number)
        status, _, errors = run.wait()
    assert status == 130, errors
    assert outputs(tmp_path) == ["rows.csv"]


@SIGNALS
@WORKERS
def test_the_second_stops_at_once_and_commits_nothing(
    tmp_path: Path, here: Announcements, number: int, workers: int
) -> None:
    stuck = '[actors.stuck]\ntype = "tests.integration.parts:StuckInPrepare"\ninputs = ["double"]\npipe = "here"\n'
    write(tmp_path, SOURCE, DOUBLE, SINK, stuck)
    with launched(tmp_path, *arguments(workers)) as run:
        assert here.wait(run)
        here.clear()
        os.kill(run.pid, number)
        assert here.wait(run), "the run ends, and one sink does not come to an end with prepare"
        interrupt_all(run, number)
        status, _, errors = run.wait()
        assert not run.wait_until_nobody_is_left()
    assert status == 130, errors
    assert "nothing committed" in errors
    assert "rows.csv" not in outputs(tmp_path)


@pytest.mark.parametrize("kind", ["StuckInHook", "StuckAtStart"])
def test_a_hook_that_never_returns_keeps_nobody_from_stopping(
    tmp_path: Path, here: Announcements, kind: str
) -> None:
    stuck = f'[actors.double]\ntype = "tests.integration.parts:{kind}"\ninputs = ["numbers"]\npipe = "here"\n'
    write(tmp_path, SOURCE.replace("Announced", "Numbers").replace('pipe = "here"\n', ""), stuck, SINK)
    with launched(tmp_path, *arguments(2)) as run:
        assert here.wait(run)
        os.kill(run.pid, signal.SIGINT)
        os.kill(run.pid, signal.SIGTERM)
        status, _, errors = run.wait()
        assert not run.wait_until_nobody_is_left()
    assert status == 130, errors
    assert "rows.csv" not in outputs(tmp_path)


@WORKERS
def test_a_live_source_that_waits_is_ended(tmp_path: Path, here: Announcements, workers: int) -> None:
    live = '[actors.numbers]\ntype = "tests.integration.parts:AnnouncedLive"\npipe = "here"\n'
    write(tmp_path, 'name = "live"\n', live, DOUBLE, SINK)
    with launched(tmp_path, *arguments(workers)) as run:
        assert here.wait(run)
        os.kill(run.pid, signal.SIGINT)
        status, _, errors = run.wait()
    assert status == 130, errors
    lines = (tmp_path / "out/rows.csv").read_text().splitlines()
    assert sorted(int(line.split(",")[0]) for line in lines[1:]) == list(range(0, 20, 2))


def test_an_interrupt_before_the_sources_have_started_is_not_lost(
    tmp_path: Path, here: Announcements
) -> None:
    """The command is told while a worker still starts: it drains as soon as it can."""
    slow = '[actors.double]\ntype = "tests.integration.parts:WaitsAtStart"\ninputs = ["numbers"]\n'
    slow += 'pipe = "here"\ngo = "go"\n'
    write(tmp_path, SOURCE.replace("Announced", "Numbers").replace('pipe = "here"\n', ""), slow, SINK)
    os.mkfifo(tmp_path / "go")
    with launched(tmp_path, *arguments(2)) as run:
        assert here.wait(run)
        os.kill(run.pid, signal.SIGINT)
        with (tmp_path / "go").open("w") as go:
            go.write("go\n")
        status, _, errors = run.wait()
    assert status == 130, errors
    assert outputs(tmp_path) == ["rows.csv"]


HOSTS = """
transport = "zmq"
same_host = "zmq"
hosts = [{ address = "127.0.0.1", port = 20999 }, { address = "127.0.0.1", port = 21999 }]
"""


@SIGNALS
def test_ranks_that_have_not_begun_end_with_one_line_each(
    tmp_path: Path, here: Announcements, number: int
) -> None:
    # a blocking call would not hear of a signal that came just before it
    slow = 'import time\nwith open("here", "w") as here:\n    here.write("x")\nwhile True:\n    time.sleep(0.01)\n'
    (tmp_path / "slow.py").write_text(slow)
    write(tmp_path, SOURCE, DOUBLE.replace("tests.integration.parts", "slow"), SINK)
    (tmp_path / "hosts.toml").write_text(HOSTS)
    key = tmp_path / "keys/job.key"
    subprocess.run([sys.executable, "-m", "actorstream", "keys", "keys"], cwd=tmp_path, check=True)
    words = ["topology.toml", "--deploy", "hosts.toml", "--set", f"deploy.network.key={key}", "--rank"]
    with launched(tmp_path, *words, 0) as one, launched(tmp_path, *words, 1) as other:
        for run in (one, other):
            assert here.wait(run)
            assert os.read(here.descriptor, 1) == b"x"
        for run in (one, other):
            os.kill(run.pid, number)
        for run in (one, other):
            status, _, errors = run.wait()
            assert status == 130, errors
            assert len(errors.splitlines()) == 1, errors
            assert "interrupted" in errors or "stopped before its sources began" in errors
