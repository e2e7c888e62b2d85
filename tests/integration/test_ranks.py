"""Runs whose processes start on their own, as ranks of an MPI job: no launcher watches them. What ends one ends all, with one
clear error, and nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic

import pytest

from actorstream.errors import ConfigurationError
from actorstream.transports.mpi.starter import mpiexec
from tests.integration.processes import Announcements, Run, launched, ranked
from tests.integration.rank_parts import CHECKPOINT, ENDLESS, doubled, rank_pids, write

COMMAND = ["topology.toml", "--deploy", "deploy.toml", "--quiet"]
RANKS = 3
AT_2 = ["--set", "deploy.network.home=2"]
"""Control at a rank that neither reads nor writes."""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Announcements]:
    announcements = Announcements(tmp_path / "here")
    yield announcements
    announcements.close()


def started(run: Run, here: Announcements) -> dict[int, int]:
    """Waits until rank 0 announces that its source starts. Rank -> pid."""
    assert here.wait(run), run.wait()
    pids = rank_pids(run)
    assert sorted(pids) == list(range(RANKS))
    return pids


def test_launch_starts_the_ranks_itself_and_one_report_covers_them(
    tmp_path: Path, here: Announcements
) -> None:
    write(tmp_path)
    with launched(tmp_path, *COMMAND, "--workers", RANKS, "--report", "report.json", *AT_2) as run:
        status, _, errors = run.wait()
    assert (status, errors) == (0, "")
    assert doubled(tmp_path) == list(range(0, 6000, 2))
    import json

    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["transport"], report["workers"]) == ("mpi", RANKS)
    assert report["events_out"]["double"] == 3000
    assert sum(each["in"] for each in report["actors"]["double"]) == 3000
    assert report["peak_pss_mb"] > 60, "of three processes"


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_rank_that_dies_or_stops_ends_all_within_5_seconds(
    tmp_path: Path, here: Announcements, rank: int, number: signal.Signals
) -> None:
    write(tmp_path, count=ENDLESS)
    with launched(tmp_path, *COMMAND, "--workers", RANKS) as run:
        pids = started(run, here)
        os.kill(pids[rank], number)
        began = monotonic()
        status, _, errors = run.wait()
        seconds = monotonic() - began
        left = run.wait_until_nobody_is_left()
    assert status != 0
    how = "has ended without a word" if number == signal.SIGKILL else "no sign of life for 2.5 s"
    said = [line for line in errors.splitlines() if "actorstream:" in line]
    assert said and all(f"rank {rank} on host" in line and how in line for line in said), errors
    assert f"(pid {pids[rank]}" in said[0]
    assert len(said) == 1, errors
    assert left == []
    assert seconds < 5.0
    assert not (tmp_path / "out/rows.csv").exists()


def test_an_error_in_one_rank_is_told_once_with_its_cause(tmp_path: Path, here: Announcements) -> None:
    write(tmp_path, count=ENDLESS, kind="rank_parts:RaisesInRank2")
    with launched(tmp_path, *COMMAND, "--workers", RANKS) as run:
        status, _, errors = run.wait()
        assert run.wait_until_nobody_is_left() == []
    assert status == 1
    assert errors.count("actorstream:") == 1, errors
    assert "operator 'double'" in errors and "rank_parts.py" in errors


def test_a_hook_that_never_returns_leaves_no_rank(tmp_path: Path, here: Announcements) -> None:
    write(tmp_path, count=ENDLESS, kind="rank_parts:HangsInRank2")
    with launched(tmp_path, *COMMAND, "--workers", RANKS) as run:
        pids = started(run, here)
        began = monotonic()
        while not run.ends_within(0.5) and monotonic() - began < 8.0:  # two signals at once are one
            os.kill(pids[1], signal.SIGINT)
        status, _, errors = run.wait()
        assert run.wait_until_nobody_is_left() == []
    assert status != 0
    assert "aborted: nothing committed" in errors


def test_ctrl_c_ends_sources_in_all_ranks_and_commits(tmp_path: Path, here: Announcements) -> None:
    write(tmp_path, count=ENDLESS)
    with launched(tmp_path, *COMMAND, "--workers", RANKS) as run:
        started(run, here)
        os.kill(run.pid, signal.SIGINT)  # mpiexec, which passes it on to every rank
        status, _, errors = run.wait()
        assert run.wait_until_nobody_is_left() == []
    assert status == 130, errors
    rows = doubled(tmp_path)
    assert rows == list(range(0, 2 * len(rows), 2))


@pytest.mark.parametrize("rank", [1])
def test_sigterm_of_one_rank_makes_a_checkpoint_from_which_resume_goes_on(
    tmp_path: Path, here: Announcements, rank: int
) -> None:
    write(tmp_path, count=6000, rate=5000, deploy=CHECKPOINT)
    with launched(tmp_path, *COMMAND, "--workers", RANKS) as run:
        os.kill(started(run, here)[rank], signal.SIGTERM)
        status, _, errors = run.wait()
        assert run.wait_until_nobody_is_left() == []
    assert status == 75, errors
    assert not (tmp_path / "out/rows.csv").exists()
    with launched(tmp_path, *COMMAND, "--workers", 2, "--resume") as run:
        assert run.wait()[0] == 0
    assert doubled(tmp_path) == list(range(0, 12000, 2))
    with launched(tmp_path, *COMMAND, "--workers", 2, "--resume") as run:
        assert run.wait()[0] == 0, "the end is committed again, which changes nothing"
    assert doubled(tmp_path) == list(range(0, 12000, 2))


def test_a_rank_with_another_topology_is_named_by_all(tmp_path: Path) -> None:
    write(tmp_path)
    script = (
        "import sys; from actorstream.cli.main import main; from tests.integration.rank_parts import own_rank; "
        "more = ['--set', 'actors.double.replicas=2'] if own_rank() == '1' else []; "
        "sys.exit(main(['launch', *sys.argv[1:], *more]))"
    )
    with ranked(tmp_path, 2, sys.executable, "-c", script, *COMMAND) as run:
        status, _, errors = run.wait()
    assert status == 2, errors
    assert errors.count("actorstream:") == 1, errors
    assert "rank 1 on host" in errors and "has 3 replicas of 'double'; allowed: 2" in errors, errors


def test_ranks_with_other_files_say_which_and_with_what(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "other.toml").write_text((tmp_path / "deploy.toml").read_text().replace("64", "65"))
    script = (
        "import sys; from actorstream.cli.main import main; from tests.integration.rank_parts import own_rank; "
        "sys.argv[2] = 'other.toml' if own_rank() == '1' else sys.argv[2]; "
        "sys.exit(main(['launch', sys.argv[1], '--deploy', sys.argv[2]]))"
    )
    with ranked(tmp_path, 2, sys.executable, "-c", script, "topology.toml", "deploy.toml") as run:
        status, _, errors = run.wait()
    assert status == 2
    assert errors.count("actorstream:") == 1
    assert "rank 1 on host" in errors
    assert "deploy.batch_size is 65 on rank 1, 64 on rank 0" in errors


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--set", "actors.double.replicas=none"], "actors.double.replicas"),
        (["--workers", "5"], "--workers: is 5"),
        (["--set", "deploy.network.home=2"], "network.home: is 2"),
    ],
)
def test_what_is_wrong_for_all_ranks_is_said_once(tmp_path: Path, words: list[str], said: str) -> None:
    write(tmp_path)
    command = [sys.executable, "-m", "actorstream", "launch", *COMMAND, *words]
    with ranked(tmp_path, 2, *command) as run:
        status, _, errors = run.wait()
    assert status == 2, errors
    assert errors.count("actorstream:") == 1 and said in errors, errors


def test_processes_that_are_each_alone_in_a_world_say_so(tmp_path: Path) -> None:
    write(tmp_path)
    environment = {"SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "0"}
    with launched(tmp_path, *COMMAND, environment=environment) as run:
        status, _, errors = run.wait()
    assert status == 2
    assert "4 ranks were started, but each is alone in a world of its own" in errors


def test_ranks_that_all_die_of_signals_are_named_by_what_started_them() -> None:
    """As when an MPI crashes that sends to a rank which was killed: nobody else is left to say anything."""
    words = mpiexec(2, ["sh", "-c", 'kill -"$((9 + 2 * ${PMI_RANK:-$OMPI_COMM_WORLD_RANK}))" $$'])
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    said = [line for line in done.stderr.splitlines() if line.startswith("actorstream: rank")]
    assert done.returncode != 0
    assert said and all(
        f"was ended by signal {number}" in line for line in said for number in [9 + 2 * int(line.split()[2])]
    ), done.stderr


STARTING = """
import os, signal
from tests.integration.rank_parts import own_rank
from actorstream.transports.mpi.world import ended_by_signals, load
def say():
    os.write(1, b"here\\n")  # at once: mpiexec may pass on what another rank says between two writes
if own_rank() == "0":
    say()
    signal.pause()
signal.signal(signal.SIGTERM, lambda *_: None)
with ended_by_signals():
    say()
    load()
"""


def test_a_rank_that_waits_in_the_start_of_mpi_for_one_that_never_comes_is_ended_by_a_signal() -> None:
    with subprocess.Popen(
        mpiexec(2, [sys.executable, "-c", STARTING]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        try:
            said = [run.stdout.readline(), run.stdout.readline()]
        finally:
            run.send_signal(signal.SIGTERM)  # else a rank would take a core for ever
        _, errors = run.communicate(timeout=60)
    assert said == ["here\n"] * 2, errors
    # a rank may end just when hydra answers it: then mpiexec fails by an error of hydra's own, and ends nevertheless
    assert run.returncode == 130 or "HYDU_sock_write" in errors, errors
    assert "was ended by signal" not in errors


def test_without_mpiexec_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match=r"pip install 'actorstream\[mpi\]'"):
        mpiexec(2, ["true"])


MESSAGES = """
name = "messages"
[actors.source]
type = "tests.integration.parts:Numbers"
count = 100
[actors.passed]
type = "tests.integration.parts:Pass"
inputs = [{ from = "source", route = "shuffle" }]
[actors.table]
type = "tests.integration.test_messages:Table"
inputs = ["passed"]
replicas = 2
[actors.asks]
type = "tests.integration.test_messages:Asks"
inputs = [{ from = "source", route = "shuffle" }]
replicas = 2
[actors.out]
type = "csv-sink"
inputs = ["asks"]
path = "out/rows.csv"
[actors.rest]
type = "null-sink"
inputs = ["table"]
"""


def test_operators_ask_each_other_across_ranks(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").write_text(MESSAGES)
    with launched(tmp_path, "topology.toml", "--transport", "mpi", "--workers", 3, "--quiet") as run:
        assert run.wait()[::2] == (0, "")
    assert doubled(tmp_path) == [value * value for value in range(100)]
