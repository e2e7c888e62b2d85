"""Workers on several hosts that die, stop, are cut off, never come, or may not take part."""

from __future__ import annotations

import select
import signal
import subprocess
from functools import partial
from pathlib import Path

import pytest

from actorstream.transports.network.keys import make_key
from tests.integration.lost_ranks import (
    FAULTS,
    TRANSPORTS,
    Fault,
    cut_off,
    end,
    killed,
    lose,
    lose_often,
    over_mpi,
    over_zmq,
    running,
    stopped,
    wait_until_both_work,
)
from tests.integration.namespaces import deployment, hosts


@pytest.mark.parametrize(
    ("fault", "rank"), [(killed, 1), (stopped, 0), (cut_off, 1)], ids=["killed", "stopped-home", "cut-off"]
)
def test_a_lost_worker_ends_the_run_on_every_host(fault: Fault, rank: int, tmp_path: Path) -> None:
    lose(fault, rank, tmp_path, partial(over_zmq, network=['peer_timeout = "1s"']))


def test_a_host_that_is_cut_off_ends_a_run_over_mpi_on_every_host(tmp_path: Path) -> None:
    lose(cut_off, 1, tmp_path, over_mpi)


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("rank", [1, 0])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_lost_worker_ends_the_run_within_the_limit(fault: Fault, rank: int, transport: str) -> None:
    assert lose_often(transport, fault, rank, 50) == 0


def test_a_hook_that_keeps_the_interpreter_for_long_is_no_death(tmp_path: Path) -> None:
    file, pipe = running(tmp_path, seconds=1.5, count=20_000)
    with hosts(2) as made:
        network = 'peer_timeout = "500ms"'
        launched = made.launch(0, file, "--deploy", deployment(tmp_path, made, network), "-q")
        wait_until_both_work(pipe)
        status, said = end(launched)
    assert status == 0, said
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 20_001


def test_hosts_are_started_by_hand_in_any_order(tmp_path: Path) -> None:
    file, pipe = running(tmp_path, count=20_000)
    key = make_key(tmp_path / "keys")
    with hosts(2) as made:
        words = [file, "--deploy", deployment(tmp_path, made, f'key = "{key}"', "home = 1"), "-q"]
        second = made.launch(1, *words, "--rank", 1)
        first = made.launch(0, *words, "--rank", 0)
        wait_until_both_work(pipe)
        assert end(first) == (0, "") and end(second) == (0, "")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 20_001


def test_hosts_find_each_other_by_a_shared_folder_that_one_run_has_at_a_time(tmp_path: Path) -> None:
    file, pipe = running(tmp_path)
    key = make_key(tmp_path / "keys")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "worker-1.json").write_text(
        '{"address": "10.99.0.77", "port": 1}'
    )  # of an earlier run
    network = f'[network]\ndiscovery = "run"\nkey = "{key}"\n'
    (tmp_path / "deploy.toml").write_text(f'transport = "zmq"\nworkers = 2\n{network}')
    words = [file, "--deploy", tmp_path / "deploy.toml", "-q", "--rank"]
    with hosts(3) as made:
        launched = [made.launch(rank, *words, rank) for rank in (0, 1)]
        wait_until_both_work(pipe)
        status, said = end(made.launch(2, *words, 1))
        assert status == 2 and "worker 1 of another run lives" in said
        launched[1].send_signal(signal.SIGINT)
        for each in launched:
            status, said = end(each)
            assert status == 130, said
    assert list((tmp_path / "run").iterdir()) == []


def test_a_wrong_key_a_host_that_is_missing_and_a_wrong_host_are_said(tmp_path: Path) -> None:
    file, _ = running(tmp_path)
    keys = [make_key(tmp_path / name) for name in ("one", "other")]
    with hosts(2) as made:
        network = 'start_timeout = "1s"'
        words = [file, "--deploy", deployment(tmp_path, made, network), "-q"]

        def with_key(rank: int, host: int, key: Path) -> subprocess.Popen[str]:
            return made.launch(host, *words, "--rank", rank, "--set", f"deploy.network.key={key}")

        both = [with_key(rank, rank, key) for rank, key in enumerate(keys)]
        for rank, each in enumerate(both):
            status, said = end(each)
            assert status == 2
            assert f"worker {1 - rank} at {made.address(1 - rank)}:5710 does not answer" in said, said
            assert "both have the same key" in said
        status, said = end(with_key(0, 1, keys[0]))
        assert status == 2 and f"has no address {made.address(0)}" in said
        status, said = end(made.launch(0, *words, "--rank", 0))
        assert status == 2 and "actorstream keys DIR" in said
        status, said = end(made.launch(0, *words, "--rank", 2))
        assert status == 2 and "a number from 0 to 1" in said


def test_who_waits_for_a_host_that_starts_later_says_for_whom(tmp_path: Path) -> None:
    file, pipe = running(tmp_path)
    key = make_key(tmp_path / "keys")
    with hosts(2) as made:
        words = [file, "--deploy", deployment(tmp_path, made, f'key = "{key}"'), "-q"]
        first = made.launch(0, *words, "--rank", 0)
        assert first.stderr is not None
        told = first.stderr.readline()
        assert f"worker 0 waits for worker 1 at {made.address(1)}:5710, up to " in told
        second = made.launch(1, *words, "--rank", 1)
        wait_until_both_work(pipe)
        first.send_signal(signal.SIGINT)
        for each in (first, second):
            status, said = end(each)
            assert status == 130, said


def test_a_port_in_use_is_said(tmp_path: Path) -> None:
    file, pipe = running(tmp_path)
    key = make_key(tmp_path / "keys")
    with hosts(2) as made:
        words = [file, "--deploy", deployment(tmp_path, made, f'key = "{key}"'), "-q"]
        launched = made.launch(0, *words)
        wait_until_both_work(pipe)
        status, said = end(made.launch(1, *words, "--rank", 1))
        assert status == 2 and "cannot listen at port 5710" in said
        launched.send_signal(signal.SIGINT)
        status, said = end(launched)
        assert status == 130, said


def test_a_host_that_the_remote_shell_does_not_reach_is_said(tmp_path: Path) -> None:
    file, _ = running(tmp_path)
    with hosts(2) as made:
        path = deployment(tmp_path, made)
        path.write_text(path.read_text().replace(f'ssh = "{made.name(1)}"', 'ssh = "nowhere"'))
        status, said = end(made.launch(0, file, "--deploy", path, "-q"))
    assert status == 2, said
    assert f"worker 1 could not be started on host '{made.address(1)}'" in said
    assert said.count("actorstream:") == 1 and "Task was destroyed" not in said, said


def test_a_run_that_lost_a_host_goes_on_from_its_checkpoint_with_each_row_once(tmp_path: Path) -> None:
    file, pipe = running(tmp_path, count=60_000)
    settings = f'deploy.checkpoint={{ path = "{tmp_path}/state", every = "200ms" }}'
    with hosts(2) as made:
        words = [file, "--deploy", deployment(tmp_path, made), "-q", "--set", settings]
        launched = made.launch(0, *words)
        wait_until_both_work(pipe)
        while not list((tmp_path / "state").glob("checkpoint-*")):
            select.select([], [], [], 0.01)
        killed(made, 1)
        status, said = end(launched)
        assert status == 1, said
        resumed = made.launch(0, *words, "--resume")
        wait_until_both_work(pipe)
        status, said = end(resumed)
        assert status == 0, said
    rows = (tmp_path / "out.csv").read_text().splitlines()[1:]
    assert len(rows) == len(set(rows)) == 60_000
