"""Which parts of a topology are measured on a core of their own."""

from __future__ import annotations

import pytest

from actorstream.profiling.together import ActorWork, WholeRun
from actorstream.profiling.whole_runs import parts_apart, share_of_time

RUN = WholeRun(
    10_000,
    {
        "lines": ActorWork(0, 100, 0),
        "split": ActorWork(100, 400, 0),
        "count": ActorWork(400, 0, 0),
        "rest": ActorWork(10, 0, 0),
    },
)
COSTS = {"lines+split": 40.0, "lines": 10.0, "split": 30.0, "count": 14.0, "rest": 40.0}


def test_what_takes_enough_of_the_time_is_measured_and_so_are_such_members_of_a_chain() -> None:
    assert share_of_time(["lines", "split"], COSTS, RUN) == pytest.approx(0.4)
    assert parts_apart([["lines", "split"], ["count"], ["rest"]], COSTS, RUN) == [
        ["lines", "split"],
        ["count"],
        ["split"],
    ]


def test_the_whole_topology_is_no_part_of_it() -> None:
    one = WholeRun(10_000, {name: RUN.actors[name] for name in ("lines", "split")})
    assert parts_apart([["lines", "split"]], COSTS, one) == [["split"]]
