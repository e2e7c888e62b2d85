"""Push: what a Spark task does with its rows: it sends them to a source actor, batch by batch, as fast as the actor takes
them. A task that is tried again goes on behind the last batch that arrived."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from actorstream.spark.ahead import Ahead
from actorstream.spark.frames import (
    ASK,
    BATCH,
    CREDIT,
    DIFFERS,
    DONE,
    END,
    HEADER,
    LEAVE,
    NOTHING,
    STAY,
    TAKEN,
    digest_of,
    encode_batch,
)
from actorstream.spark.group_reader import group_batches
from actorstream.spark.row_groups import RowGroup
from actorstream.spark.shipped import shipped
from actorstream.spark.task_listener import connected, read_line

RESULT = "lane long, rows long, left boolean"
"""A task returns to the driver only its lane, how many rows it sent, and whether it left before its last one."""
WAIT_S = 5.0
"""A task that has waited for credit for so long leaves, if a lane has no task: there may be too few slots for all of them."""


AHEAD_BYTES = 64 << 20
"""A task that reads row groups reads so far ahead, also while it waits for the turn of its rows."""

Encoded = tuple[memoryview, bytes, int]
"""A batch: its payload, the digest up to it, and its rows."""


class Pushed(NamedTuple):
    """How a task has ended. `rows`: of the batches that it went through. `left`: others follow."""

    lane: int
    rows: int
    left: bool = False


class Target(NamedTuple):
    """Where the rows of a lane go: the address and the token of the receiver of an actor, and the host that it is on, if
    that is known."""

    address: str
    token: str
    host: str = ""


Targets = Mapping[int, Target]
"""Lane -> its target. A lane all of whose rows were given has none."""
PlainTargets = dict[int, tuple[str, ...]]
"""`Targets` as they travel."""


class PushError(ConnectionError):
    """The source actor has gone, or says something else than agreed."""


def pusher(targets: Targets, tasks: int, first: int = 0) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function for `mapInArrow` that pushes the rows of a lane. `tasks`: how many lanes a range has, which follow one
    another as partitions. `first`: the range of the first partition."""
    return shipped(push_rows, _plain(targets), tasks, first)


def push_rows(batches: Iterator[Any], targets: PlainTargets, tasks: int, first: int) -> Iterator[Any]:
    """Pushes the rows of the task's lane: the function that `pusher` ships."""
    import pyarrow as pa

    number, lane = divmod(_partition(), tasks)
    if lane in targets:
        pushed = push(Target(*targets[lane]), lane, first + number, encoded(batches))
        yield pa.RecordBatch.from_pylist([pushed._asdict()])


def group_pusher(
    targets: Targets, number: int, dealt: list[list[RowGroup]], reading: dict[str, Any]
) -> Callable[[Iterator[Any]], Iterator[Pushed]]:
    """The function for `mapPartitions` that pushes rows that the tasks read themselves: the row groups that each was `dealt`.
    `reading`: what `group_batches` needs to know; its `fields` as bytes."""
    groups = [[tuple(group) for group in of_lane] for of_lane in dealt]
    return shipped(push_groups, _plain(targets), number, groups, reading)


def push_groups(
    _: Iterator[Any],
    targets: PlainTargets,
    number: int,
    dealt: list[list[tuple[Any, ...]]],
    reading: dict[str, Any],
) -> Iterator[Pushed]:
    """Reads and pushes the row groups of the task's lane: the function that `group_pusher` ships."""
    import pyarrow as pa

    lane = _partition()
    keys = {**reading, "fields": pa.ipc.read_schema(pa.py_buffer(reading["fields"]))}
    groups = [RowGroup(*group) for group in dealt[lane]]
    with Ahead(encoded(group_batches(groups, **keys)), AHEAD_BYTES) as batches:
        yield push(Target(*targets[lane]), lane, number, batches)


def _plain(targets: Targets) -> PlainTargets:
    return {lane: tuple(target) for lane, target in targets.items()}


def encoded(batches: Iterator[Any]) -> Iterator[Encoded]:
    """The batches of a lane that are not empty, as they travel."""
    digest = NOTHING
    for batch in batches:
        if batch.num_rows:
            payload = encode_batch(batch)
            digest = digest_of(digest, payload)
            yield payload, digest, batch.num_rows


def _partition() -> int:
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


def push(
    target: Target, lane: int, range_number: int, batches: Iterator[Encoded], wait_s: float = WAIT_S
) -> Pushed:
    """Sends the batches of a lane that the source does not have yet, or those until the source lets it leave. `wait_s`: for
    credit before it asks whether it may leave."""
    with connected(target.address) as link:
        hello = {"token": target.token, "lane": lane, "range": range_number}
        link.sendall(json.dumps(hello).encode() + b"\n")
        where = _where(link)
        if where["state"] == DONE:
            return Pushed(lane, 0)
        first, credit = int(where["batch"]), int(where["window"])
        digest, rows, number = NOTHING, 0, 0
        for payload, following, count in batches:
            if number == first and digest.hex() != where["digest"]:
                break
            digest = following
            rows += count
            if number >= first:
                if not credit:
                    credit = _credit(link, number, wait_s)
                if not credit:
                    return Pushed(lane, rows, left=True)
                credit -= 1
                link.sendall(HEADER.pack(BATCH, number, digest, len(payload)))
                link.sendall(payload)
            number += 1
        if number < first or (number == first and digest.hex() != where["digest"]):
            link.sendall(HEADER.pack(DIFFERS, number, digest, 0))
            return Pushed(lane, rows)
        link.sendall(HEADER.pack(END, number, digest, 0))
        while (answer := _received(link, 1)) != TAKEN:
            if answer not in (CREDIT, STAY):
                raise PushError(f"the source says {answer!r} after the end; allowed: {TAKEN!r}")
        return Pushed(lane, rows)


def _where(link: socket.socket) -> dict[str, Any]:
    """How far the source is."""
    try:
        found: dict[str, Any] = json.loads(read_line(link))
    except ValueError as error:
        raise PushError(f"the source has closed the connection ({error})") from None
    return found


def _credit(link: socket.socket, number: int, wait_s: float) -> int:
    """Waits until the source has taken batches; how many. 0: the source lets the task leave before batch `number`."""
    link.settimeout(wait_s)
    try:
        while True:
            try:
                found = link.recv(64)
            except TimeoutError:
                link.sendall(HEADER.pack(ASK, number, NOTHING, 0))
                continue
            if not found:
                raise PushError("the source has closed the connection")
            if LEAVE in found:
                return 0
            if credit := found.count(CREDIT):
                return credit
    finally:
        link.settimeout(None)


def _received(link: socket.socket, size: int) -> bytes:
    found = link.recv(size)
    if not found:
        raise PushError("the source has closed the connection")
    return found
