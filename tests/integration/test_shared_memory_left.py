"""No exit of any process leaves shared memory behind: orderly, by an exception, or by SIGKILL of everybody."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from actorstream.events.batch import Batch
from actorstream.events.jumbo import decode, encode
from actorstream.events.schema import Schema
from actorstream.transports.base import Channel, Frame, FrameKind
from actorstream.transports.shm import ShmTransport
from actorstream.transports.shm.fabric import ShmFabric

SCHEMA = Schema.from_dict({"number": "int"}, name="Number")
FORTH, BACK = Channel(0, 0, 1, 0, 0, budget=1 << 20), Channel(1, 1, 0, 1, 1, budget=1 << 20)
ROWS = 4096
FLOWS = 200
"""Frames that each worker has taken when it says that they flow."""
FOR_EVER = 10**9


async def work(fabric: ShmFabric, worker: int, frames: int, tell: int) -> None:
    """Both send to and take from each other, keep some views, and say on `tell` that it flows."""
    transport = ShmTransport(fabric, worker)
    await transport.start()
    out, into = (FORTH, BACK) if worker == 0 else (BACK, FORTH)
    sender, receiver = transport.sender(out), transport.receiver(into)
    kept = []
    sent = taken = 0
    while taken < frames or sent < frames:
        if sent < frames:
            jumbo = encode([Batch.of_columns(SCHEMA, {"number": np.arange(ROWS)})], transport.arena, SCHEMA)
            sender.poll()
            sent += sender.send_nowait(Frame(FrameKind.DATA, jumbo, rows=ROWS, nbytes=jumbo.nbytes))
        if (frame := receiver.peek()) is not None:
            kept.append(decode(SCHEMA, frame.payload)["number"])
            del kept[:-8]
            receiver.consume()
            taken += 1
            if taken == FLOWS:
                os.write(tell, b"f")
        await asyncio.sleep(0)
    await transport.close()


class Run:
    """Two forked workers on a fabric of their own, as a launcher has them."""

    def __init__(self, frames: int) -> None:
        self.fabric = ShmTransport.fabric(2, [FORTH, BACK], 1)
        self.names = [self.fabric.arena_name(worker) for worker in range(2)]
        self.ours, theirs = os.pipe()
        self.children = [self._fork(worker, frames, theirs) for worker in range(2)]
        os.close(theirs)

    def _fork(self, worker: int, frames: int, tell: int) -> int:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                asyncio.run(work(self.fabric, worker, frames, tell))
                code = 0
            finally:
                os._exit(code)
        return child

    def wait_until_it_flows(self) -> None:
        seen = b""
        while len(seen) < 2 and (piece := os.read(self.ours, 2)):
            seen += piece

    def reap(self) -> list[int]:
        return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in self.children]

    def close(self) -> None:
        self.fabric.close()
        os.close(self.ours)

    def holders(self) -> list[str]:
        """Processes that map an arena of this run, or have a descriptor of one."""
        return [process.name for process in Path("/proc").glob("[0-9]*") if self._holds(process)]

    def _holds(self, process: Path) -> bool:
        held = []
        with contextlib.suppress(OSError):  # it ended meanwhile
            held.append((process / "maps").read_text())
            for descriptor in (process / "fd").iterdir():
                with contextlib.suppress(
                    OSError
                ):  # closed meanwhile; of this process, that of the listing itself
                    held.append(str(descriptor.readlink()))
        return any(name in text for name in self.names for text in held)


def ours_in_dev_shm() -> list[str]:
    return [entry.name for entry in Path("/dev/shm").iterdir() if "actorstream" in entry.name]


def end_in_order(run: Run) -> None:
    assert run.reap() == [0, 0]


def kill_one(run: Run) -> None:
    run.wait_until_it_flows()
    os.kill(run.children[0], signal.SIGKILL)
    os.kill(run.children[1], signal.SIGTERM)
    assert run.reap() == [-signal.SIGKILL, -signal.SIGTERM]


def kill_all(run: Run) -> None:
    run.wait_until_it_flows()
    for child in run.children:
        os.kill(child, signal.SIGKILL)
    assert run.reap() == [-signal.SIGKILL] * 2


@pytest.mark.parametrize(("frames", "end"), [(400, end_in_order), (FOR_EVER, kill_one), (FOR_EVER, kill_all)])
def test_nothing_is_left_after(frames: int, end: Callable[[Run], None]) -> None:
    run = Run(frames)
    assert run.holders()
    end(run)
    run.close()
    assert run.holders() == []
    assert ours_in_dev_shm() == []
