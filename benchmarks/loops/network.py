"""Jumbo tuples and control messages between two processes: over a transport, or over the bare library under it.

`python -m benchmarks.loops.network WAY SIZE SECONDS` prints one number: jumbo tuples a second, or with SIZE 0 the
median microseconds of half a round trip. WAY: shm, zmq, zmq-tcp, zmq-curve (tcp, encrypted), mpi, bare-zmq, bare-mpi;
both-zmq and both-mpi: the bare library in both directions at once, messages a second in all; those of MPI under
mpiexec -n 2.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from statistics import median
from time import monotonic_ns, perf_counter
from typing import Any

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.jumbo import encode
from actorstream.events.schema import Schema
from actorstream.native.memory import keep_freed_memory
from actorstream.scheduling.spin import Spin
from actorstream.testing.transport.check import pipes
from actorstream.transports.base import Frame, FrameKind
from actorstream.transports.registry import load_transport
from benchmarks.loops.program import figure_of, leave_together, tell

BUDGET = 16 << 20
Loop = Callable[[int, int, float, Callable[[], Any], Callable[[], Any], Callable[[], bool]], "float | None"]
SLOTS = 1024
WARM_UP = 20
PLAN = 1
OPTIONS: dict[str, dict[str, Any]] = {
    "zmq-tcp": {"scheme": "tcp", "curve": False},
    "zmq-curve": {"scheme": "tcp"},
}
SCHEMA = Schema.from_dict({"value": "int"}, name="Value")
CHANNELS = pipes((0, 1), (1, 0), slots=SLOTS, budget=BUDGET)


def measured(way: str, size: int, seconds: float) -> float:
    """What this program prints when it runs in processes of its own. RuntimeError: it failed."""
    return figure_of("benchmarks.loops.network", way, size, seconds, mpi=way.endswith("mpi"), seconds=seconds)


class Ends:
    """One worker's ends of the two channels. It waits as a worker does: looks for a while, then sleeps in its loop."""

    def __init__(self, transport: Any, fabric: Any, worker: int) -> None:
        self.transport, self.worker = transport(fabric, worker), worker
        out, back = CHANNELS[worker], CHANNELS[1 - worker]
        self.sender, self.receiver = self.transport.sender(out), self.transport.receiver(back)
        self.bell = self.transport.doorbell
        self.spin = Spin(len(os.sched_getaffinity(0)) > 1)
        self.woken: asyncio.Future[None] | None = None
        self.loop = asyncio.get_running_loop()
        self.loop.add_reader(self.bell.eventfd, self.wake)

    def wake(self) -> None:
        if self.woken is not None and not self.woken.done():
            self.woken.set_result(None)

    async def close(self) -> None:
        self.loop.remove_reader(self.bell.eventfd)
        await self.transport.close()

    async def ring(self) -> None:
        if self.bell.wait(self.spin.ns):
            self.spin.found()
        else:
            await self.sleep()

    async def sleep(self) -> None:
        bell = self.bell
        if not bell.park():
            return
        parked, self.woken = monotonic_ns(), self.loop.create_future()
        await self.woken
        bell.unpark()
        self.spin.slept(monotonic_ns() - parked)

    async def send(self, frame: Frame) -> None:
        while not self.sender.send_nowait(frame):
            await self.ring()
            self.sender.poll()

    async def receive(self) -> int:
        """The kind of the next frame, which is consumed."""
        while (kind := self.look()) is None:
            await self.sleep()
        return kind

    def look(self) -> int | None:
        """Like `receive`, without a coroutine; None: no frame has come while a worker would look."""
        while (frame := self.receiver.peek()) is None:
            if not self.bell.wait(self.spin.ns):
                return None
            self.spin.found()
        self.receiver.consume()
        return int(frame.kind)


# -- over a transport -------------------------------------------------------------------------------------------------


async def transported(side: Ends, size: int, seconds: float) -> float | None:
    """One worker's part; the result comes from worker 1 for jumbo tuples, from worker 0 for round trips."""
    keep_freed_memory()  # as a worker does
    try:
        await side.transport.start()
        if size == 0:
            return await (pinging(side, seconds) if side.worker == 0 else ponging(side))
        return await (sending(side, size, seconds) if side.worker == 0 else receiving(side))
    finally:
        await side.close()


async def sending(side: Ends, size: int, seconds: float) -> None:
    jumbo = encode(
        [Batch.of_columns(SCHEMA, {"value": np.arange(size // 8 - 16)})], side.transport.arena, SCHEMA
    )
    frame = Frame(FrameKind.DATA, jumbo, rows=jumbo.rows, nbytes=jumbo.nbytes, schema=SCHEMA.fingerprint)
    end, send = perf_counter() + seconds, side.sender.send_nowait
    while perf_counter() < end:
        if not send(frame):  # as a worker does, which makes no coroutine for each frame
            await side.send(frame)
    await side.send(Frame(FrameKind.END))


async def receiving(side: Ends) -> float:
    count, start, end = 0, 0.0, int(FrameKind.END)
    peek, consume = side.receiver.peek, side.receiver.consume
    while True:
        while (frame := peek()) is None:
            await side.ring()
        consume()
        if frame.kind == end:
            break
        count += 1
        if count == WARM_UP:
            start = perf_counter()
    return (count - WARM_UP) / (perf_counter() - start)


async def pinging(side: Ends, seconds: float) -> float:
    times, mark = [], Frame(FrameKind.BARRIER, barrier=1)
    end = perf_counter() + seconds
    while (begin := perf_counter()) < end:
        if not side.sender.send_nowait(mark):  # as a worker does, which makes no coroutine for each frame
            await side.send(mark)
        if side.look() is None:
            await side.receive()
        times.append(perf_counter() - begin)
    await side.send(Frame(FrameKind.END))
    return median(times) / 2 * 1e6


async def ponging(side: Ends) -> None:
    mark = Frame(FrameKind.BARRIER, barrier=1)
    while (side.look() or await side.receive()) != FrameKind.END:
        if not side.sender.send_nowait(mark):
            await side.send(mark)


# -- over the bare library --------------------------------------------------------------------------------------------


def numbers(size: int) -> np.ndarray:
    """`size` bytes that were written: pages that never were would all be the one page of zeros, which stays in the cache."""
    return np.arange(size // 8).view(np.uint8)


def bare_zmq(worker: int, size: int, seconds: float, names: list[str], loop: Loop) -> float | None:
    """PUSH to PULL over Unix sockets, by reference from 64 KiB on, as pyzmq does best."""
    import zmq

    with zmq.Context() as context, context.socket(zmq.PULL) as pull, context.socket(zmq.PUSH) as push:
        pull.rcvhwm = push.sndhwm = max(2, BUDGET // max(size, 16 << 10) // 2)
        pull.bind(names[worker])
        push.connect(names[1 - worker])
        copies = size < 64 << 10
        payload = numbers(size).tobytes()
        return loop(
            worker,
            size,
            seconds,
            lambda: push.send(payload, copy=copies),
            lambda: push.send(b"end"),
            lambda: len(pull.recv(copy=False)) == 3,
        )


def bare_mpi(worker: int, size: int, seconds: float, loop: Loop) -> float | None:
    """Nonblocking sends, a window of them, into blocking receives."""
    from mpi4py import MPI

    world, other = MPI.COMM_WORLD, 1 - worker
    payload, room, status = numbers(size), np.empty(max(size, 8), np.uint8), MPI.Status()
    window: list[Any] = []

    def send(data: np.ndarray) -> None:
        window.append(world.Isend([data, MPI.BYTE], other))
        if len(window) > max(2, min(64, BUDGET // max(size, 1))) or size == 0:
            window.pop(0).Wait()

    def receive() -> bool:
        world.Recv([room, MPI.BYTE], other, status=status)
        return bool(status.Get_count(MPI.BYTE) == 3)

    found = loop(worker, size, seconds, lambda: send(payload), lambda: send(np.zeros(3, np.uint8)), receive)
    MPI.Request.Waitall(window)
    return found


def one_way(
    worker: int,
    size: int,
    seconds: float,
    send: Callable[[], Any],
    finish: Callable[[], Any],
    receive: Callable[[], bool],
) -> float | None:
    end = perf_counter() + seconds
    if worker == 0 and size == 0:
        times = []
        while (begin := perf_counter()) < end:
            send()
            receive()
            times.append(perf_counter() - begin)
        finish()
        return median(times) / 2 * 1e6
    if worker == 0:
        while perf_counter() < end:
            send()
        finish()
        return None
    count, start = 0, 0.0
    while not receive():
        count += 1
        if count == WARM_UP:
            start = perf_counter()
        if size == 0:
            send()
    return None if size == 0 else (count - WARM_UP) / (perf_counter() - start)


def both_ways(
    worker: int,
    size: int,
    seconds: float,
    send: Callable[[], Any],
    finish: Callable[[], Any],
    receive: Callable[[], bool],
) -> float | None:
    """Each worker sends one and takes one, again and again."""
    count, begin = 0, perf_counter()
    ended = False
    while not ended and perf_counter() < begin + seconds:
        send()
        ended = receive()
        count += 1
    took = perf_counter() - begin
    finish()
    while not ended:
        ended = receive()
    return 2 * count / took if worker == 0 else None


# -- the two processes ------------------------------------------------------------------------------------------------


def main(way: str, size: int, seconds: float) -> None:
    if way.endswith("mpi"):
        from mpi4py import MPI

        worker = MPI.COMM_WORLD.rank
    names = [f"ipc://@actorstream-bare-{os.getpid()}-{each}" for each in (0, 1)]
    fabric = None
    if not way.startswith(("bare-", "both-")):
        transport = load_transport(way.partition("-")[0])
        fabric = transport.fabric(2, list(CHANNELS), PLAN, **OPTIONS.get(way, {}))
    child = 0
    if not way.endswith("mpi"):
        child = os.fork()
        worker = 0 if child == 0 else 1
        if size == 0 or way.startswith("both-"):
            worker = 1 - worker  # the parent prints
    if fabric is not None:
        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            found = runner.run(_worker(transport, fabric, worker, size, seconds))
        fabric.close()
    else:
        loop = both_ways if way.startswith("both-") else one_way
        if way.endswith("zmq"):
            found = bare_zmq(worker, size, seconds, names, loop)
        else:
            found = bare_mpi(worker, size, seconds, loop)
    if found is not None:
        tell(found)
    if child:
        os.waitpid(child, 0)
    if way.endswith("mpi"):
        leave_together()


async def _worker(transport: Any, fabric: Any, worker: int, size: int, seconds: float) -> float | None:
    return await transported(Ends(transport, fabric, worker), size, seconds)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
