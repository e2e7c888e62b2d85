"""New segments of Linear Road for the suite `order-price`, as an operator for any order and as a synchronized program: the
same work, a batch at a time. No measuring here."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import numpy as np

from actorstream import Actor, Batch
from actorstream.dgs import Program, Tag, Tags, keyed
from apps.linear_road.events import NewSegment, Position

CLASSES = 2
"""Of cars that depend on each other, as far as the program says: as many as the operator has replicas."""


def changed(last: dict[int, int], batch: Batch) -> np.ndarray:
    """Rows whose car was in another segment at its report before, or in none; `last`: car -> segment, brought up to date."""
    rows = []
    segments = (batch["xway"].astype(np.int64) << 8) + (batch["dir"] << 7) + batch["seg"]
    for row, (car, segment) in enumerate(zip(batch["vid"].tolist(), segments.tolist())):
        if last.get(car) != segment:
            last[car] = segment
            rows.append(row)
    return np.array(rows, np.int64)


class NewSegments(Actor):
    """Position reports from another segment than the car's report before."""

    outputs: ClassVar = {"default": NewSegment}

    def __init__(self) -> None:
        self.state: dict[int, int] = {}

    def on_batch(self, batch: Batch) -> Batch:
        return batch.take(changed(self.state, batch)).with_columns(event=NewSegment)


class NewSegmentsProgram(Program):
    """The same, where reports depend on each other if their cars are of one class.

    Args:
        source: the name of the actor that the reports come from.
    """

    class State(msgspec.Struct):
        last: dict[int, int] = {}

    def __init__(self, source: str = "inject") -> None:
        self.tags = {source: keyed("report", key="vid", classes=CLASSES, modulo=True)}

    def depends(self, one: Tag, other: Tag) -> bool:
        return one.key == other.key

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        to_right = {
            car: segment for car, segment in state.last.items() if self.tag("report", car % CLASSES) in right
        }
        to_left = {car: segment for car, segment in state.last.items() if car not in to_right}
        return self.State(to_left), self.State(to_right)

    def join(self, left: State, right: State) -> State:
        return self.State({**left.last, **right.last})

    def update(self, state: State, event: Position, tag: Tag) -> NewSegment | None:
        segment = (event.xway << 8) + (event.dir << 7) + event.seg
        if state.last.get(event.vid) == segment:
            return None
        state.last[event.vid] = segment
        return NewSegment(event.time, event.vid, event.xway, event.dir, event.seg)

    def update_batch(self, state: State, batch: Batch, tag: Tag) -> Any:
        return batch.take(changed(state.last, batch)).with_columns(event=NewSegment)
