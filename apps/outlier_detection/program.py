"""Outlier detection as a sequential program, what depends on what in it, and how its state is divided."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter
from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta

from actorstream.dgs import Program, Tag, Tags, everything, keyed
from apps.outlier_detection.events import CATEGORICAL, Check, Connection, Outlier
from apps.outlier_detection.model import Itemset, Model, Parameters, Sums

Count = Annotated[int, Meta(ge=1, description="a whole number from 1")]
CONTINUOUS = tuple(
    name for name in Connection.__struct_fields__ if name not in {"row", "ts_ms", "label", *CATEGORICAL}
)
items_of, numbers_of = attrgetter(*CATEGORICAL), attrgetter(*CONTINUOUS)


class OutlierDetection(Program):
    """Each stream has a model of its own that says which connections may be outliers; a check asks all of them which
    are.

    Args:
        streams: row i belongs to stream i modulo so many.
        support: an itemset that came less often is infrequent.
        level: how many features itemsets have at the most.
        tau: a covariance is violated if it deviates by more than so many standard deviations.
        delta: an itemset counts if more than this share of its covariances is.
        factor: an outlier's score exceeds so many times the mean of the window.
        window: scores that it holds.
        at_end: the end of the input is a check.
    """

    class State(msgspec.Struct):
        streams: dict[int, Model] = {}

    Part = State
    """The state of those that process connections only."""

    states: ClassVar = {"State": everything, "Part": ["connection"]}
    forks: ClassVar = {(whole, "Part", "Part"): ("fork", "join") for whole in ("State", "Part")}

    def __init__(
        self,
        streams: int = 4,
        support: int = 10,
        level: Count = 2,
        tau: float = 1.96,
        delta: float = 0.3,
        factor: float = 10.0,
        window: Count = 40,
        at_end: bool = True,
    ) -> None:
        self.tags = {
            "connections": keyed("connection", "row", classes=streams, modulo=True),
            "checks": "check",
        }
        self.parameters = Parameters(support, level, tau, delta, factor, window)
        self.at_end = at_end

    # parallelisation
    def depends(self, one: Tag, other: Tag) -> bool:
        return one == other or "check" in (one.name, other.name)

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        to_right = {key: model for key, model in state.streams.items() if Tag("connection", key) in right}
        to_left = {key: model for key, model in state.streams.items() if key not in to_right}
        return self.State(to_left), self.State(to_right)

    def join(self, left: State, right: State) -> State:
        left.streams.update(right.streams)
        return left

    # sequential
    def update(self, state: State, event: Connection | Check, tag: Tag) -> Iterator[Outlier] | None:
        if tag.name == "check":
            return self._outliers(state)
        model = state.streams.get(tag.key)
        if model is None:
            model = state.streams[tag.key] = Model(Sums.empty())
        model.add(event.ts_ms, items_of(event), numbers_of(event), self.parameters)
        return None

    def end(self, state: State) -> Iterator[Outlier]:
        if self.at_end:
            yield from self._outliers(state)

    def _outliers(self, state: State) -> Iterator[Outlier]:
        """The local outliers since the last check that all streams together find unusual as well, by time."""
        models = [state.streams[key] for key in sorted(state.streams)]

        def infrequent(itemset: Itemset, ts: int) -> bool:
            return sum(model.occurrences(itemset, ts) for model in models) < self.parameters.support

        candidates = sorted((each for model in models for each in model.candidates), key=lambda each: each.ts)
        for model in models:
            model.candidates = []
        for each in candidates:
            score = 0.0
            for itemset, violated in zip(each.itemsets, each.violated):
                if violated or infrequent(itemset, each.ts):
                    score += 1 / len(itemset)
            if score > each.threshold:
                yield Outlier(each.ts, score)
