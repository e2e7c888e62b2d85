"""Order `none`: lanes take turns and none starves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from actorstream.ordering.none import NoOrder


@dataclass
class Lane:
    index: int
    waiting: int = 0
    ended: bool = False
    held: bool = False

    def head(self) -> int | None:
        return self.waiting or None


def test_lanes_take_turns() -> None:
    lanes = [Lane(0, 10), Lane(1, 10), Lane(2, 10)]
    gate = NoOrder(lanes)
    assert [gate.next().index for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]  # type: ignore[union-attr]


def test_a_lane_that_always_has_something_keeps_no_other_waiting() -> None:
    busy, rare = Lane(0, 1000), Lane(1, 0)
    gate = NoOrder([busy, rare])
    assert [gate.next().index for _ in range(5)] == [0] * 5  # type: ignore[union-attr]
    rare.waiting = 1
    assert 1 in [gate.next().index for _ in range(2)]  # type: ignore[union-attr]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=6), st.integers(1, 60))
def test_between_two_turns_of_a_lane_every_other_that_waits_has_one(kinds: list[int], turns: int) -> None:
    """Kinds: 0 empty, 1 held, 2 ended, 3 waiting all the time."""
    lanes = [Lane(i, waiting=kind != 0, held=kind == 1, ended=kind == 2) for i, kind in enumerate(kinds)]
    able = [lane.index for lane in lanes if kinds[lane.index] == 3]
    gate = NoOrder(lanes)
    order = [gate.next() for _ in range(turns)]
    if not able:
        assert order == [None] * turns
        return
    counts = Counter(lane.index for lane in order if lane is not None)
    assert sum(counts.values()) == turns
    assert max(counts.values()) - min(counts.get(index, 0) for index in able) <= 1
    assert set(counts) <= set(able)
