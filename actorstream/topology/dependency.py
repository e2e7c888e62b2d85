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


def tree_problems(plan: DependencyPlan) -> list[tuple[str, str]]:
    """Numbers of a synchronization plan that lead nowhere, as (message, allowed)."""
    found: list[tuple[str, str]] = []
    if not plan.workers:
        return [(f"the plan of {plan.actor!r} has no worker", "a root, and those below it")]
    for number, tag in enumerate(plan.tags):
        if not -1 <= tag.stream < len(plan.streams):
            found.append(
                (
                    f"tag {number} of {plan.actor!r} is on stream {tag.stream}",
                    f"-1 to {len(plan.streams) - 1}",
                )
            )
    above = {below: number for number, each in enumerate(plan.workers, 1) for below in each.children}
    for number, worker in enumerate(plan.workers, 1):
        who = f"worker {number} of {plan.actor!r}"
        if any(not 0 <= tag < len(plan.tags) for tag in worker.tags):
            found.append((f"{who} has the tags {worker.tags}", f"0 to {len(plan.tags) - 1}"))
        if len(worker.children) not in (0, 2) or any(
            not number < below <= len(plan.workers) for below in worker.children
        ):
            allowed = f"none, or two of {number + 1} to {len(plan.workers)}"
            found.append((f"{who} has the children {worker.children}", allowed))
        if worker.parent != above.get(number, 0) or (number > 1) != (number in above):
            found.append(
                (f"{who} has the parent {worker.parent}", "the worker whose child it is; 0 for the first")
            )
    return found
