"""Which silent workers are lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from actorstream.launch.silent_workers import FROZEN_S, Looked, SilentWorkers, look_at

PID = 7


class Kernel:
    """Says of every process what it was told last."""

    def __init__(self) -> None:
        self.looked: Looked | None = Looked("S", 100)

    def __call__(self, pid: int) -> Looked | None:
        assert pid == PID
        return self.looked


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


@pytest.fixture
def silent(kernel: Kernel) -> SilentWorkers:
    found = SilentWorkers(kernel)
    found.add(PID, 0.0)
    return found


def test_a_stopped_worker_is_lost_at_once_and_named_once(silent: SilentWorkers, kernel: Kernel) -> None:
    kernel.looked = Looked("T", 100)
    assert silent.lost(0.0) == {PID: "its process is stopped"}
    assert silent.lost(100.0) == {}


def test_a_worker_that_runs_now_and_then_is_not_lost_however_long_it_is_silent(
    silent: SilentWorkers, kernel: Kernel
) -> None:
    for second in range(0, 600, 10):
        kernel.looked = Looked("R", 100 + second)
        assert silent.lost(float(second)) == {}
    kernel.looked = Looked("T", 700)
    assert silent.lost(601.0) == {PID: "its process is stopped"}


def test_a_worker_that_has_not_run_for_long_is_lost(silent: SilentWorkers) -> None:
    assert silent.lost(0.0) == {}
    assert silent.lost(FROZEN_S) == {}
    assert silent.lost(FROZEN_S + 0.1) == {PID: "its process has not run for 20 s"}


def test_a_worker_that_has_ended_is_not_named(silent: SilentWorkers, kernel: Kernel) -> None:
    kernel.looked = None
    assert silent.lost(100.0) == {}


def test_a_process_that_only_wakes_up_now_and_then_is_seen_to_run() -> None:
    code = "import os\nwhile data := os.read(0, 1): os.write(1, data)"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:  # type: ignore[call-overload]

        def wake() -> None:
            os.write(process.stdin.fileno(), b"x")
            assert os.read(process.stdout.fileno(), 1) == b"x"
            while (looked := look_at(process.pid)) is not None and looked.state != "S":
                """It is about to wait for the next byte."""

        wake()
        first = look_at(process.pid)
        for _ in range(3):
            wake()
        second = look_at(process.pid)
        process.stdin.close()
    assert first is not None
    assert second is not None
    assert first.ran < second.ran


def test_the_kernel_says_that_a_process_is_stopped_that_it_runs_and_that_it_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        first = look_at(process.pid)
        assert first is not None
        while (looked := look_at(process.pid)) is not None and looked.ran == first.ran:
            """It has not got a core for a whole clock tick."""
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        stopped = look_at(process.pid)
        process.kill()
    assert stopped is not None
    assert stopped.state == "T"
    assert look_at(process.pid) is None
