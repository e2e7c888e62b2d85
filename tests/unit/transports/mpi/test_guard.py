"""What mpiexec leaves behind is ended, and it is ended as if it had been started directly."""

from __future__ import annotations

import os
import select
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from actorstream.transports.mpi import guard

GUARD = [sys.executable, "-S", "-E", guard.__file__]


def guarded(script: str, left_s: float = 0.0) -> subprocess.Popen[str]:
    command = [*GUARD, str(left_s), "/bin/sh", "-c", script]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def wait_for_end(pid: int) -> None:
    """Until the process has ended. TimeoutError: it goes on."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        if not select.select([descriptor], [], [], 30)[0]:
            raise TimeoutError(pid)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize("status", [0, 3, 75, 130])
def test_the_status_of_the_command_is_that_of_the_guard(status: int) -> None:
    with guarded(f"exit {status}") as process:
        assert process.wait(30) == status


def test_a_command_that_is_killed_by_a_signal_looks_so() -> None:
    with guarded("kill -USR2 $$") as process:
        assert process.wait(30) == -signal.SIGUSR2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_signals_are_passed_on_once(number: signal.Signals) -> None:
    script = f"trap 'echo heard' {number.name[3:]}; echo ready; while :; do read x || sleep 0.01; done"
    with guarded(script) as process:
        assert line(process) == "ready"
        process.send_signal(number)
        assert line(process) == "heard"
        process.kill()


def test_what_the_command_leaves_is_killed_even_if_it_has_a_session_of_its_own_and_children(
    tmp_path: Path,
) -> None:
    ready = tmp_path / "ready"
    left = f"trap '' TERM; sleep 1000 & echo $$ $!; echo > {ready}; while :; do sleep 1000; done"
    wait = f"while [ ! -e {ready} ]; do sleep 0.01; done"
    with guarded(f"setsid sh -c {shlex.quote(left)} & {wait}; exit 4") as process:
        pids = [int(each) for each in line(process).split()]
        assert process.wait(30) == 4
    for pid in pids:
        wait_for_end(pid)


def test_what_the_command_leaves_may_end_by_itself(tmp_path: Path) -> None:
    done = tmp_path / "done"
    with guarded(f"(sleep 0.2; echo > {done}) & exit 0", left_s=30.0) as process:
        assert process.wait(30) == 0
    assert done.exists()


def test_the_command_is_killed_with_its_guard() -> None:
    with guarded("echo $$; exec sleep 1000") as process:
        pid = int(line(process))
        process.kill()
        wait_for_end(pid)


def test_a_command_that_is_not_there_is_an_error() -> None:
    with subprocess.Popen([*GUARD, "0", "/no/such/command"], stderr=subprocess.DEVNULL) as process:
        assert process.wait(30) == 127
