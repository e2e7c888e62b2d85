"""What the execution plan says of an actor with `order = "dependency"`: its streams, its tags, and the tree of workers
that process them (dgs-flumina Definition 3.1). Data, the same in every process; what it means is dgs/deployment.py.
"""

from __future__ import annotations

import msgspec

Key = int | str | None


class PlannedStream(msgspec.Struct, kw_only=True, frozen=True):
    """One input stream: an origin of the total order. Its events are ordered by (time, position)."""

    name: str
    """Unique in the actor: "INPUT", or "INPUT/VALUE" where the input has several."""
    input: str
    """Name of the actor's input."""
    partition: int = -1
    """Number of the source's partition that the stream is; -1: a field of the rows tells the stream."""
    field: str = ""
    """That field: the source's key `stream`. The same for all streams of an input."""
    value: str = ""
    """What it holds in the stream's rows, as text."""
    process: int = 0
    """Process of the source's replica that reads it."""


class PlannedTag(msgspec.Struct, kw_only=True, frozen=True):
    """One implementation tag: a tag on a stream."""

    name: str
    key: Key = None
    stream: int
    """Number of its stream; -1: a tick."""
    rate: float = 1.0
    """Events/s that the optimizer reckoned with, or any other measure of how many come."""


class PlannedTreeWorker(msgspec.Struct, kw_only=True, frozen=True):
    """One worker of the tree. Worker number n (from 1, as `SynchronizationPlan` numbers them) is replica n - 1."""

    tags: list[int]
    """Numbers of the implementation tags that it is responsible for."""
    state: str
    """Name of its state type."""
    parent: int = 0
    """0: it is the root."""
    children: list[int] = []
    """None, or the left and the right one."""
    process: int = 0


class DependencyPlan(msgspec.Struct, kw_only=True, frozen=True):
    """The synchronization plan of one actor, with the processes that its workers are in.

    The total order of events is (time, number of the stream, position in the stream), ticks of a time before all else.
    """

    actor: str
    optimizer: str
    """How it was found: communication, balanced, sequential, reference, or the file it was read from."""
    streams: list[PlannedStream]
    """By rank of their input, then by origin."""
    tags: list[PlannedTag]
    """By rank of their stream, ticks first."""
    workers: list[PlannedTreeWorker]
    """Number 1, the root, first; each before those below it, left before right."""


class Planning(msgspec.Struct, frozen=True):
    """What a program's table says of its plan."""

    plan: str = "communication"
    """An optimizer, or the path of a file with a tree."""
    workers: int | None = None
    """How many may work at a time: leaves of the tree. None: as many as there are processes."""
