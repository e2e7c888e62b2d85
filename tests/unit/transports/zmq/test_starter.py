"""What the starter of workers makes of the ways in which they end."""

from __future__ import annotations

import subprocess

import pytest

from actorstream.topology.deploy import DeploySpec
from actorstream.topology.hosts import HostSpec, NetworkSpec
from actorstream.transports.zmq.starter import exit_status, not_started, starting_command

WAITING_S = 60.0


def start(worker: str, shell: str) -> tuple[int, str, str]:
    """Runs the starter of two workers, of which the second is on another host. `worker`: what the first one runs. `shell`: what
    stands for the remote shell. Exit status, output and errors."""
    hosts = [HostSpec(address="127.0.0.1"), HostSpec(address="127.0.0.1", port=6000, ssh="elsewhere")]
    network = NetworkSpec(remote_shell=["sh", "-c", shell])
    command = starting_command(
        DeploySpec(transport="zmq", workers=2, hosts=hosts, network=network), ["sh", "-c", worker]
    )
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAITING_S, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("code", [255, 127, 126])
def test_a_worker_whose_remote_shell_fails_before_the_run_has_begun_could_not_start(code: int) -> None:
    assert not_started({1: code, 0: 2, 2: 2}) == 1
    assert not_started({1: code, 2: code, 0: 2}) == 1, "the first one"
    assert not_started({0: code, 1: code}) == 0


def test_a_worker_whose_remote_shell_fails_after_the_run_has_begun_is_lost() -> None:
    ended = {1: 255, 0: 1, 2: 1}
    assert not_started(ended) is None and exit_status(ended) == 1


def test_a_run_that_goes_on_without_the_remote_shell_of_a_worker_ends_with_the_status_of_the_others() -> None:
    assert not_started({1: 255, 0: 0}) is None and exit_status({1: 255, 0: 0}) == 0
    assert not_started({0: 255, 1: 75}) is None and exit_status({0: 255, 1: 75}) == 75


def test_a_run_without_a_failed_remote_shell_ends_with_the_status_of_its_first_worker() -> None:
    for status in (0, 1, 2, 75, 130):
        ended = {1: status, 0: status}
        assert not_started(ended) is None and exit_status(ended) == status
    assert exit_status({0: -9, 1: 1}) == 1


def test_workers_of_a_run_that_has_begun_are_not_interrupted_when_a_remote_shell_fails() -> None:
    rest = "dd iflag=nonblock bs=100 count=1 2>/dev/null"  # what was written with the word
    assert start(f"read key; read word; echo $word; {rest}; exit 1", "exit 255") == (1, "GIVE UP\n", "")


def test_the_host_on_which_a_worker_could_not_be_started_is_named() -> None:
    status, _, said = start("read key; read word; exit 2", "exit 255")
    assert (
        status == 2 and "worker 1 could not be started on host '127.0.0.1': sh ended with status 255" in said
    )
