"""What the starter of workers makes of the ways in which they end."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from actorstream.topology.deploy import DeploySpec
from actorstream.topology.hosts import HostSpec, NetworkSpec
from actorstream.transports.zmq.starter import exit_status, not_started, starting_command

WAITING_S = 60.0
ENDING_S = 0.05
FOREVER = "exec sleep 100"


@contextmanager
def started(worker: str, shell: str, first: str = "") -> Iterator[subprocess.Popen[str]]:
    """The starter of two workers, of which the second is on another host. `worker`: what the first one runs. `shell`: what
    stands for the remote shell. `first`: the first one's host, if that is another one, too."""
    hosts = [
        HostSpec(address="127.0.0.1", ssh=first),
        HostSpec(address="127.0.0.1", port=6000, ssh="elsewhere"),
    ]
    network = NetworkSpec(remote_shell=["sh", "-c", shell], peer_timeout=timedelta())
    deploy = DeploySpec(transport="zmq", workers=2, hosts=hosts, network=network)
    command = starting_command(deploy, ["sh", "-c", worker])
    at = command.index("-c") + 1
    command[at] = command[at].replace(
        "sys.exit", f"sys.modules[main.__module__].ENDING_S = {ENDING_S}; sys.exit"
    )
    made = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield made
    finally:
        made.kill()
        made.wait()


def start(worker: str, shell: str, first: str = "") -> tuple[int, str, str]:
    """Exit status, output and errors of that starter."""
    with started(worker, shell, first) as made:
        said, errors = made.communicate(timeout=WAITING_S)
    return made.returncode, said, errors


@pytest.mark.parametrize("code", [255, 127, 126])
def test_a_worker_whose_remote_shell_fails_before_the_run_has_begun_could_not_start(code: int) -> None:
    assert not_started({1: code, 0: 2, 2: 2}) == 1
    assert not_started({1: code, 2: code, 0: 2}) == 1, "the first one"
    assert not_started({0: code, 1: code}) == 0


def test_a_worker_whose_remote_shell_fails_after_the_run_has_begun_is_lost() -> None:
    ended = {1: 255, 0: 1, 2: 1}
    assert not_started(ended) is None and exit_status(ended, 0) == 1


def test_a_run_that_goes_on_without_the_remote_shell_of_a_worker_ends_with_the_status_of_the_others() -> None:
    assert not_started({1: 255, 0: 0}) is None and exit_status({1: 255, 0: 0}, 0) == 0
    assert not_started({0: 255, 1: 75}) is None and exit_status({0: 255, 1: 75}, 0) == 75


def test_a_run_without_a_failed_remote_shell_ends_with_the_status_of_its_home_worker() -> None:
    for status in (0, 1, 2, 75, 130):
        ended = {1: status, 0: status}
        assert not_started(ended) is None and exit_status(ended, 0) == status
    assert exit_status({0: -9, 1: 1}, 0) == 1 and exit_status({0: 1, 1: 130}, 1) == 130


def test_workers_of_a_run_that_has_begun_are_not_interrupted_when_a_remote_shell_fails() -> None:
    rest = "dd iflag=nonblock bs=100 count=1 2>/dev/null"  # what was written with the word
    assert start(f"read key; read word; echo $word; {rest}; exit 1", "exit 255") == (1, "GIVE UP\n", "")


def test_the_host_on_which_a_worker_could_not_be_started_is_named() -> None:
    status, _, said = start("read key; read word; exit 2", "exit 255")
    assert (
        status == 2 and "worker 1 could not be started on host '127.0.0.1': sh ended with status 255" in said
    )


def test_a_run_that_has_lost_all_remote_shells_may_go_on_and_ends_with_status_1() -> None:
    status, _, said = start("", "read key; exit 255", "elsewhere")
    assert (status, said.count("actorstream:")) == (1, 1)
    assert "on host '127.0.0.1' could not be started, or the connection to it was lost: sh ended" in said
    assert "look there for a run that goes on" in said


def test_a_command_that_no_remote_shell_finds_has_not_started() -> None:
    status, _, said = start("", "read key; exit 127", "elsewhere")
    assert status == 2 and "could not be started on host '127.0.0.1': sh ended with status 127" in said


def test_a_remote_shell_that_does_not_end_is_ended_after_the_home_worker_has_failed() -> None:
    status, _, said = start("exit 1", FOREVER)
    assert status == 1 and "worker 1 on host '127.0.0.1' has not ended with the run" in said


def test_two_signals_end_the_starter_even_if_no_worker_hears_of_them() -> None:
    with started(f"echo ready; {FOREVER}", FOREVER) as made:
        assert made.stdout is not None and made.stdout.readline() == "ready\n"
        made.send_signal(signal.SIGTERM)
        made.send_signal(signal.SIGINT)
        _, said = made.communicate(timeout=WAITING_S)
    assert made.returncode == 1 and said.count("has not ended with the run") == 2


def test_ssh_notices_by_itself_that_a_host_is_gone() -> None:
    command = NetworkSpec().remote_shell
    assert {"-oServerAliveInterval=5", "-oServerAliveCountMax=3"} <= set(command)
