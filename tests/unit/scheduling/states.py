"""Random states of a pipeline, for the tests of heuristics."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from actorstream.scheduling.base import UNBOUNDED, Heuristic, Operator, Pipeline

SLICE_NS = 2_000_000
WINDOW_NS = 100_000_000
CAPACITY = 10_000


def operator(
    index: int, worklist: int, cost: float, selectivity: float, workers: int, limit: float
) -> Operator:
    made = Operator(f"o{index}", index, limit=limit, upstream=[(index - 1, 1.0)] if index else [])
    made.worklist, made.workers = worklist, workers
    made.statistics.cost, made.statistics.selectivity, made.statistics.turns = cost, selectivity, 1
    return made


@st.composite
def pipelines(draw: Any) -> list[Operator]:
    """Operators of a chain in any state, at least one of them schedulable."""
    made = []
    for index in range(draw(st.integers(1, 6))):
        limit = draw(st.sampled_from([1, 3, UNBOUNDED]))
        made.append(
            operator(
                index,
                draw(st.integers(0, 20_000)),
                draw(st.floats(0.1, 1e5)),
                draw(st.floats(0.0, 50.0)),
                draw(st.integers(0, 3 if limit is UNBOUNDED else int(limit))),
                limit,
            )
        )
    if not any(each.is_schedulable for each in made):
        made[-1].worklist, made[-1].workers = 1, 0
    return made


def schedulable(operators: list[Operator]) -> list[Operator]:
    return [each for each in operators if each.is_schedulable]


def heuristic(kind: type[Heuristic], operators: list[Operator]) -> Any:
    return kind(Pipeline(operators), slice_ns=SLICE_NS, window_ns=WINDOW_NS, capacity=CAPACITY)
