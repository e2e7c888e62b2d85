"""The work of the suite `exchange` by hand: two processes route the rows of columns in memory by key, send each other half of
them over the bare library, and sum one column of all that stays or comes.

`python -m benchmarks.loops.routed LIBRARY SECONDS` prints the bytes a second that both send in all. LIBRARY: zmq, or mpi
under mpiexec -n 2. The rows are routed by the kernel that actorstream uses, and NumPy gathers them into one buffer for each
process.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable
from socket import socket, socketpair
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from actorstream.native.kernels import Partitioner
from benchmarks.loops.program import figure_of, leave_together, tell

COLUMNS, BATCHES, ROWS = 5, 64, 4096
WINDOW = 32
"""Messages that may be under way to the other process."""


def measured(library: str, seconds: float) -> float:
    """What this program prints in processes of its own. RuntimeError: it failed."""
    return figure_of("benchmarks.loops.routed", library, seconds, mpi=library == "mpi", seconds=seconds)


class Wire(Protocol):
    """The bare library between the two processes."""

    def send(self, data: np.ndarray) -> None:
        """Starts to send bytes that stay as they are; waits for what was sent before if that is too much."""

    def receive(self) -> np.ndarray | None:
        """A message that has come; None: none has."""

    def finish(self) -> None:
        """Waits until the library has taken what was sent."""


class MpiWire:
    def __init__(self, mpi: Any) -> None:
        self._mpi, self._world = mpi, mpi.COMM_WORLD
        self._other, self._status = 1 - self._world.rank, mpi.Status()
        self._sends: deque[tuple[Any, np.ndarray]] = deque()
        self._come: deque[np.ndarray] = deque()

    def send(self, data: np.ndarray) -> None:
        sends = self._sends
        sends.append((self._world.Isend([data, self._mpi.BYTE], self._other), data))
        while len(sends) > WINDOW and not sends[0][0].Test():
            found = self._take()  # else both could wait for each other
            if found is not None:
                self._come.append(found)
        while sends and sends[0][0].Test():
            sends.popleft()

    def receive(self) -> np.ndarray | None:
        return self._come.popleft() if self._come else self._take()

    def _take(self) -> np.ndarray | None:
        message = self._world.Improbe(self._other, 0, self._status)
        if message is None:
            return None
        room = np.empty(self._status.Get_count(self._mpi.BYTE), np.uint8)
        message.Recv([room, self._mpi.BYTE])
        return room

    def finish(self) -> None:
        self._mpi.Request.Waitall([request for request, _ in self._sends])


class ZmqWire:
    def __init__(self, names: list[str], worker: int, ends: tuple[socket, socket]) -> None:
        """`ends`: of a connection between the two processes, over which they say that they have got everything."""
        import zmq

        self._end = ends[worker]

        self._zmq, self._context = zmq, zmq.Context()
        self._pull, self._push = self._context.socket(zmq.PULL), self._context.socket(zmq.PUSH)
        self._pull.rcvhwm = self._push.sndhwm = WINDOW // 2
        self._pull.bind(names[worker])
        self._push.connect(names[1 - worker])
        self._come: deque[np.ndarray] = deque()

    def send(self, data: np.ndarray) -> None:
        while True:
            try:
                self._push.send(data, self._zmq.DONTWAIT, copy=False)
                return
            except self._zmq.Again:
                found = self._take(100)
                if found is not None:
                    self._come.append(found)

    def receive(self) -> np.ndarray | None:
        return self._come.popleft() if self._come else self._take(0)

    def _take(self, wait_ms: int) -> np.ndarray | None:
        if not self._pull.poll(wait_ms):
            return None
        return np.frombuffer(self._pull.recv(copy=False).buffer, np.uint8)

    def finish(self) -> None:
        self._end.send(b".")
        self._end.recv(1)  # ZeroMQ loses the rest if a sender closes whose receiver has not taken it yet
        self._context.destroy(linger=0)


def batches(worker: int) -> list[np.ndarray]:
    """Columns of rows, of which the first is the key, as the suite makes them."""
    random, numbers = np.random.default_rng(worker), np.arange(ROWS)
    return [
        np.stack([random.integers(0, 2**62, ROWS), numbers, numbers + 1, numbers, numbers])
        for _ in range(BATCHES)
    ]


def exchanged(wire: Wire, worker: int, seconds: float) -> float:
    """Bytes a second that this process sends."""
    parts, partition = batches(worker), Partitioner((0, 1), 2)
    sent = total = number = 0
    ended = False

    def read(data: np.ndarray | None) -> bool:
        nonlocal total, ended
        if data is None:
            return False
        ended |= not len(data)
        total += int(data.view(np.int64).reshape(COLUMNS, -1)[1].sum()) if len(data) else 0
        return True

    begin = perf_counter()
    while perf_counter() < begin + seconds:
        columns = parts[number % BATCHES]
        number += 1
        rows, counts = partition.by_hash(columns[0])
        first = 0
        for to, count in enumerate(counts):
            made = np.empty((COLUMNS, count), np.int64)
            for column, out in zip(columns, made):
                np.take(column, rows[first : first + count], out=out, mode="clip")
            first += count
            if to == worker:
                total += int(made[1].sum())
            else:
                wire.send(made.reshape(-1).view(np.uint8))
                sent += made.nbytes
        while read(wire.receive()):
            pass
    took = perf_counter() - begin
    wire.send(np.empty(0, np.uint8))
    while not ended:
        read(wire.receive())
    wire.finish()
    return sent / took


def _in_mpi(seconds: float) -> float | None:
    from mpi4py import MPI

    found = MPI.COMM_WORLD.gather(exchanged(MpiWire(MPI), MPI.COMM_WORLD.rank, seconds))
    return None if found is None else sum(found)


def _in_zmq(seconds: float) -> float | None:
    names = [f"ipc://@actorstream-routed-{os.getpid()}-{each}" for each in (0, 1)]
    reader, writer = os.pipe()
    ends = socketpair()
    child = os.fork()
    worker = int(child == 0)
    found = exchanged(ZmqWire(names, worker, ends), worker, seconds)
    if child == 0:
        os.write(writer, str(found).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return found + float(os.read(reader, 100))


LIBRARIES: dict[str, Callable[[float], float | None]] = {"mpi": _in_mpi, "zmq": _in_zmq}

if __name__ == "__main__":
    found = LIBRARIES[sys.argv[1]](float(sys.argv[2]))
    if found is not None:
        tell(found)
    if sys.argv[1] == "mpi":
        leave_together()
