"""A map from keys to counters as a sequential program, what depends on what in it, and how its state is divided."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pyarrow.compute as pc

from actorstream import Batch
from actorstream.dgs import Program, Tag, Tags, by
from apps.keyed_counters.events import Operation, Read


class KeyedCounters(Program):
    """An increment adds one to the counter of its key; a read-reset puts the counter out, and sets it to zero.

    Args:
        keys: all keys there are; unless given, the input is read for them before the run.
        classes: keys are not told apart, but hashed to so many classes.
    """

    class State(msgspec.Struct):
        counts: dict[str, int] = {}

    def __init__(self, keys: list[str] | None = None, classes: int = 0) -> None:
        self.tags = {"events": by("op", ["r", "i"], key="key", keys=keys, classes=classes)}
        self.classes = classes

    # parallelisation
    additive: ClassVar = ["i"]

    def depends(self, one: Tag, other: Tag) -> bool:
        return one.key == other.key and "r" in (one.name, other.name)

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        to_right = {key: count for key, count in state.counts.items() if self.tag("r", key) in right}
        to_left = {key: count for key, count in state.counts.items() if key not in to_right}
        return self.State(to_left), self.State(to_right)

    def join(self, left: State, right: State) -> State:
        for key, count in right.counts.items():
            left.counts[key] = left.counts.get(key, 0) + count
        return left

    # sequential
    def update(self, state: State, event: Operation, tag: Tag) -> Read | None:
        if tag.name == "r":
            return Read(event.key, event.ts, event.seq, state.counts.pop(event.key, 0))
        state.counts[event.key] = state.counts.get(event.key, 0) + 1
        return None

    # the same, a batch at a time
    def update_batch(self, state: State, batch: Batch, tag: Tag) -> Any:
        if tag.name == "r":
            return NotImplemented
        if self.classes:
            found = pc.value_counts(batch["key"])
            counted = zip(found.field("values").to_pylist(), found.field("counts").to_pylist())
        else:
            counted = zip([str(tag.key)], [batch.rows])
        for key, count in counted:
            state.counts[key] = state.counts.get(key, 0) + count
        return None
