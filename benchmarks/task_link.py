"""What carries a task's rows to an actor on the same host, alone: the socket that `spark-source` has, and shared memory.

    python -m benchmarks.task_link

Two processes, as a task and an actor are. Both ways encode each batch of 16,384 rows of 5 columns as Arrow's IPC format, with
its digest, and wait for credit after four batches. By the socket, the bytes are copied into the kernel and out of it. In
shared memory, they are encoded in place and used in place, as cheap as that can be. Prints the rows a second, and the
processor time of both processes for a million rows, of each of three rounds after one that does not count."""

from __future__ import annotations

import multiprocessing
import resource
import socket
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing.shared_memory import SharedMemory
from typing import Any

import numpy as np
import pyarrow as pa

from actorstream.spark.frames import (
    BATCH,
    CREDIT,
    HEADER,
    NOTHING,
    decode_batch,
    digest_of,
    encode_batch,
)
from actorstream.spark.receiver import WINDOW
from benchmarks.suites.spark import BATCH as ROWS

BATCHES = 3_000
WARM = 500
"""Batches whose time does not count."""


def batch() -> Any:
    """One batch, as the suite `spark` has them."""
    random = np.random.default_rng(7)
    ts = np.arange(ROWS)
    numbers = {"ts": ts, "number": ts * 7, "key": random.integers(0, 1000, ROWS)}
    return pa.RecordBatch.from_pydict({**numbers, "value": random.random(ROWS), "share": random.random(ROWS)})


def sockets(link: socket.socket, _: SharedMemory) -> None:
    """Sends all batches as a task does."""
    rows, digest = batch(), NOTHING
    for number in _with_credit(link):
        payload = encode_batch(rows)
        digest = digest_of(digest, payload)
        link.sendall(HEADER.pack(BATCH, number, digest, len(payload)))
        link.sendall(payload)


def shared(link: socket.socket, memory: SharedMemory) -> None:
    """Encodes all batches in the slots of the memory; the socket says only that they are there."""
    rows, digest = batch(), NOTHING
    size = memory.size // WINDOW
    for number in _with_credit(link):
        slot = memory.buf[number % WINDOW * size :][:size]
        sink = pa.FixedSizeBufferWriter(pa.py_buffer(slot))
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_batch(rows)
        used = slot[: sink.tell()]
        digest = digest_of(digest, used)
        link.sendall(HEADER.pack(BATCH, number, digest, len(used)))


def _with_credit(link: socket.socket) -> Iterator[int]:
    credit = WINDOW
    for number in range(BATCHES):
        if not credit:
            credit = link.recv(64).count(CREDIT)
        credit -= 1
        yield number


def _task(send: Callable[[socket.socket, SharedMemory], None], link: socket.socket, name: str) -> None:
    memory = SharedMemory(name)
    send(link, memory)
    link.recv(1024)
    used = resource.getrusage(resource.RUSAGE_SELF)
    link.sendall(HEADER.pack(0, int((used.ru_utime + used.ru_stime) * 1e6), NOTHING, 0))


def measured(send: Callable[[socket.socket, SharedMemory], None]) -> tuple[float, float]:
    """Rows a second, and seconds of processors for a million rows."""
    here, there = socket.socketpair()
    memory = SharedMemory(create=True, size=WINDOW << 20)
    size = memory.size // WINDOW
    started = resource.getrusage(resource.RUSAGE_SELF)
    process = multiprocessing.get_context("fork").Process(target=_task, args=(send, there, memory.name))
    process.start()
    there.close()
    total, began = 0.0, 0.0
    for number in range(BATCHES):
        _, _, _, length = HEADER.unpack(_whole(here, HEADER.size))
        slot = memory.buf[number % WINDOW * size :][:length] if send is shared else _whole(here, length)
        rows = decode_batch(slot)
        total += float(np.sum(rows.column(0).to_numpy()))  # an actor looks at every row
        del rows, slot
        here.sendall(CREDIT)
        if number == WARM:
            began = time.monotonic()
    seconds = time.monotonic() - began
    here.sendall(CREDIT)
    _, theirs, _, _ = HEADER.unpack(_whole(here, HEADER.size))
    process.join()
    ended = resource.getrusage(resource.RUSAGE_SELF)
    own = ended.ru_utime + ended.ru_stime - started.ru_utime - started.ru_stime
    memory.close()
    memory.unlink()
    assert total == BATCHES * ROWS * (ROWS - 1) / 2
    return (BATCHES - WARM) * ROWS / seconds, (own + theirs / 1e6) / (BATCHES * ROWS / 1e6)


def _whole(link: socket.socket, size: int) -> memoryview:
    found = np.empty(size, np.uint8).data
    at = 0
    while at < size:
        at += link.recv_into(found[at:], 0, socket.MSG_WAITALL)
    return found


def main() -> None:
    for number in range(4):
        for send in (sockets, shared):
            rate, used = measured(send)
            if not number:  # modules are imported
                continue
            about = f"{rate / 1e6:.1f} million rows/s, {used * 1000:.1f} ms of processors for a million rows"
            print(f"round {number}, {send.__name__}: {about}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
