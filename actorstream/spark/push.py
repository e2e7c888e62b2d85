"""Push: what a Spark task does with its rows: it sends them to a source actor, batch by batch, as fast as the actor takes
them. A task that is tried again goes on behind the last batch that arrived."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

from actorstream.spark.frames import (
    BATCH,
    CREDIT,
    DIFFERS,
    DONE,
    END,
    HEADER,
    LONGEST_LINE,
    NOTHING,
    TAKEN,
    digest_of,
    encode_batch,
)

RESULT = "rows long"
"""What a task returns to the driver: nothing of the data, only how many rows it sent."""


class PushError(ConnectionError):
    """The source actor has gone, or says something else than agreed."""


def pusher(address: str, token: str, number: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function for `mapInArrow` that pushes the rows of a range; the task's partition is the lane."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        lane = context.partitionId() if context is not None else 0
        rows = push(address, {"token": token, "lane": lane, "range": number}, batches)
        yield pa.RecordBatch.from_pydict({"rows": pa.array([rows], pa.int64())})

    return run


def push(address: str, hello: dict[str, Any], batches: Iterator[Any]) -> int:
    """Sends the batches that the source does not have yet; returns how many rows there were in all of them."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(address)
        link.sendall(json.dumps(hello).encode() + b"\n")
        where = json.loads(_line(link))
        if where["state"] == DONE:
            return 0
        first, credit = int(where["batch"]), int(where["window"])
        digest, rows, number = NOTHING, 0, 0
        for batch in batches:
            if not batch.num_rows:
                continue
            if number == first and digest.hex() != where["digest"]:
                break
            payload = encode_batch(batch)
            digest = digest_of(digest, payload)
            rows += batch.num_rows
            if number >= first:
                if not credit:
                    credit = _credit(link)
                credit -= 1
                link.sendall(HEADER.pack(BATCH, number, digest, len(payload)))
                link.sendall(payload)
            number += 1
        if number < first or (number == first and digest.hex() != where["digest"]):
            link.sendall(HEADER.pack(DIFFERS, number, digest, 0))
            return rows
        link.sendall(HEADER.pack(END, number, digest, 0))
        while (answer := _received(link, 1)) != TAKEN:
            if answer != CREDIT:
                raise PushError(f"the source says {answer!r} after the end; allowed: {TAKEN!r}")
        return rows


def _credit(link: socket.socket) -> int:
    """Waits until the source has taken a batch; how many it has taken since."""
    found = link.recv(64)
    if not found:
        raise PushError("the source has closed the connection")
    return len(found)


def _line(link: socket.socket) -> bytes:
    found = b""
    while not found.endswith(b"\n"):
        found += _received(link, 1)
        if len(found) > LONGEST_LINE:
            raise PushError(f"the source sends a line of more than {LONGEST_LINE} bytes")
    return found


def _received(link: socket.socket, size: int) -> bytes:
    found = link.recv(size)
    if not found:
        raise PushError("the source has closed the connection")
    return found
