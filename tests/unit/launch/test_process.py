"""Worker processes: forked, watched by pidfd, waited for once, and dead with their launcher."""

from __future__ import annotations

import os
import select
import signal
import socket
from collections.abc import Callable

import pytest

from actorstream.control.pipe import ControlPipe
from actorstream.launch.process import WorkerProcess, die_with_parent, new_event_loop


def child(body: Callable[[], None]) -> WorkerProcess:
    """A process that runs `body` and exits with 0."""
    near, far = ControlPipe.pair()
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            near.close()
            body()
            status = 0
        finally:
            os._exit(status)
    far.close()
    return WorkerProcess(3, pid, near, socket.socket(socket.AF_UNIX))


def ended(worker: WorkerProcess) -> None:
    poll = select.poll()
    poll.register(worker.pidfd, select.POLLIN)
    assert poll.poll(60_000)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda: None, "exited with status 0"),
        (lambda: os._exit(9), "exited with status 9"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "was killed by signal 9 (SIGKILL)"),
        (lambda: os.kill(os.getpid(), signal.SIGUSR1), "was killed by signal 10 (SIGUSR1)"),
        (lambda: os.kill(os.getpid(), 40), "was killed by signal 40"),
    ],
)
def test_an_end_is_described_in_words(body: Callable[[], None], words: str) -> None:
    worker = child(body)
    ended(worker)
    assert worker.reap()
    assert worker.describe_end() == words
    assert worker.cpu_s >= 0
    worker.close()


def test_a_process_that_runs_is_not_reaped_and_can_be_killed_once_or_often() -> None:
    worker = child(signal.pause)
    assert not worker.reap()
    worker.kill()
    worker.kill()
    ended(worker)
    assert worker.reap()
    assert worker.reap(), "it was waited for once, and that is remembered"
    worker.kill()
    worker.close()


def test_a_worker_dies_with_its_launcher() -> None:
    """The grandchild hears of it from the kernel; nobody needs to tell it."""
    read, write = os.pipe()

    def launcher() -> None:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            die_with_parent(parent, "actorstream-w0")
            os.write(write, f"{os.getpid()}\n".encode())
            signal.pause()
            os._exit(0)
        signal.pause()

    worker = child(launcher)
    grandchild = int(os.read(read, 64))
    pidfd = os.pidfd_open(grandchild)
    worker.kill()
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    assert poll.poll(60_000), "the grandchild outlived its launcher"
    ended(worker)
    worker.reap()
    worker.close()
    for descriptor in (pidfd, read, write):
        os.close(descriptor)


def test_a_worker_whose_launcher_is_gone_already_does_not_start() -> None:
    worker = child(lambda: die_with_parent(1, "actorstream-w0"))
    ended(worker)
    worker.reap()
    assert worker.describe_end() == "exited with status 1"
    worker.close()


def test_the_event_loop_is_uvloops_where_it_is_installed() -> None:
    import uvloop

    loop = new_event_loop()
    assert isinstance(loop, uvloop.Loop)
    loop.close()
