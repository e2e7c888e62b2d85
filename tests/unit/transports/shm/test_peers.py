"""Learning that another worker's process is gone, also where this one has no descriptor left for a while."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import time
from collections.abc import Iterator

import pytest

from actorstream.errors import ResourceError
from actorstream.transports.base import Channel
from actorstream.transports.shm.fabric import ShmFabric
from actorstream.transports.shm.layout import RUNS
from actorstream.transports.shm.peers import Peers


@pytest.fixture
def fabric() -> Iterator[ShmFabric]:
    made = ShmFabric(3, [Channel(0, 0, 1, 0, 0), Channel(1, 0, 2, 1, 1)], 1, arena_bytes=1 << 22)
    yield made
    made.close()


def sleeper(fabric: ShmFabric, worker: int) -> int:
    """A process that says that it is `worker`, and does nothing."""
    pid = os.fork()
    if pid == 0:
        while True:
            time.sleep(3600)
    line = fabric.line(fabric.layout.worker_line(worker))
    line[0], line[1] = pid, RUNS
    return pid


async def test_peers_that_could_not_be_watched_at_once_are_missed_when_they_are_killed(
    fabric: ShmFabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: asyncio.Queue[int] = asyncio.Queue()
    peers = Peers(fabric, 0, {1, 2}, lost.put_nowait)
    sleepers = [sleeper(fabric, worker) for worker in (1, 2)]
    make, short = os.pidfd_open, [errno.EMFILE, errno.ENFILE, errno.EMFILE, errno.ENOMEM]

    def pidfd_open(process: int) -> int:
        if process != os.getpid() and short:
            raise OSError(short.pop(), "no descriptor is left")
        return make(process)

    monkeypatch.setattr(os, "pidfd_open", pidfd_open)
    peers.start()
    for pid in sleepers:
        os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(30):
        assert {await lost.get(), await lost.get()} == {1, 2}
    peers.close()
    for pid in sleepers:
        os.waitpid(pid, 0)


async def test_a_system_that_cannot_tell_when_a_process_ends_is_named(
    fabric: ShmFabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(process: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", missing)
    peers = Peers(fabric, 0, {1}, lambda peer: None)
    with pytest.raises(ResourceError, match=r"Linux 5\.3 or later"):
        peers.start()
