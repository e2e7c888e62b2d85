"""Event-based windowing as a sequential program, what depends on what in it, and how its state is divided."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from actorstream import Batch
from actorstream.dgs import Program, Tag, Tags
from apps.value_barrier.events import Barrier, Sum, Value


class ValueBarrier(Program):
    """On a barrier: the sum of the values of all streams since the barrier before it."""

    class State(msgspec.Struct):
        sum: int = 0
        count: int = 0

    # parallelisation
    tags: ClassVar = {"barriers": "barrier", "values": "value"}
    additive: ClassVar = ["value"]

    def depends(self, one: Tag, other: Tag) -> bool:
        return "barrier" in (one.name, other.name)

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        return (self.State(), state) if Tag("barrier") in right else (state, self.State())

    def join(self, left: State, right: State) -> State:
        left.sum += right.sum
        left.count += right.count
        return left

    # sequential
    def update(self, state: State, event: Value | Barrier, tag: Tag) -> Sum | None:
        if tag.name == "value":
            state.sum += event.value
            state.count += 1
            return None
        found = Sum(event.ts, state.sum, state.count)
        state.sum = state.count = 0
        return found

    # the same, a batch at a time
    def update_batch(self, state: State, batch: Batch, tag: Tag) -> Any:
        if tag.name == "barrier":
            return NotImplemented
        state.sum += int(batch["value"].sum())
        state.count += batch.rows
        return None
