"""Barriers are passed on when all lanes have delivered them or ended, and hold lanes back until then."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.checkpoint.alignment import Alignment
from actorstream.errors import BrokenError


@dataclass
class Lane:
    index: int
    ended: bool = False
    held: bool = False


def alignment_of(lanes: int) -> tuple[Alignment, list[Lane]]:
    made = [Lane(index) for index in range(lanes)]
    return Alignment(made), made


def test_one_lane_passes_a_barrier_at_once() -> None:
    alignment, (lane,) = alignment_of(1)
    assert alignment.deliver(lane, 5) == 5
    assert not lane.held


def test_a_barrier_holds_the_lanes_that_delivered_it_until_the_last_has() -> None:
    alignment, lanes = alignment_of(3)
    assert alignment.deliver(lanes[1], 1) is None
    assert alignment.deliver(lanes[0], 1) is None
    assert [lane.held for lane in lanes] == [True, True, False]
    assert alignment.deliver(lanes[2], 1) == 1
    assert [lane.held for lane in lanes] == [False, False, False]
    assert alignment.barrier is None


def test_a_lane_that_ends_completes_the_barrier_it_kept_waiting() -> None:
    alignment, lanes = alignment_of(2)
    assert alignment.deliver(lanes[0], 1) is None
    lanes[1].ended = True
    assert alignment.ended(lanes[1]) == 1
    assert not lanes[0].held


def test_an_end_without_a_barrier_completes_nothing() -> None:
    alignment, lanes = alignment_of(2)
    lanes[0].ended = True
    assert alignment.ended(lanes[0]) is None
    assert alignment.deliver(lanes[1], 7) == 7


def test_a_lane_that_ends_after_it_delivered_counts_once() -> None:
    alignment, lanes = alignment_of(3)
    assert alignment.deliver(lanes[0], 1) is None
    lanes[1].ended = True
    assert alignment.ended(lanes[1]) is None
    assert alignment.deliver(lanes[2], 1) == 1


def test_a_barrier_that_overtakes_another_is_a_broken_channel() -> None:
    alignment, lanes = alignment_of(2)
    alignment.deliver(lanes[0], 1)
    with pytest.raises(BrokenError, match="lane 1 delivered barrier 2 while barrier 1 is being aligned"):
        alignment.deliver(lanes[1], 2)


@given(st.data(), st.integers(1, 5), st.integers(1, 4))
def test_barriers_complete_once_each_in_order_whatever_the_lanes_do(
    data: st.DataObject, count: int, barriers: int
) -> None:
    """Each lane delivers 1, 2, ... and may end at any point; a held lane delivers nothing."""
    alignment, lanes = alignment_of(count)
    stops = [data.draw(st.integers(0, barriers), label=f"lane {lane.index} ends after") for lane in lanes]
    stops[data.draw(st.integers(0, count - 1), label="the longest lane")] = barriers
    at = [0] * count
    passed: list[int] = []
    while True:
        able = [lane for lane in lanes if not lane.ended and not lane.held]
        if not able:
            break
        lane = data.draw(st.sampled_from(able))
        if at[lane.index] == stops[lane.index]:
            lane.ended = True
            done = alignment.ended(lane)
        else:
            at[lane.index] += 1
            done = alignment.deliver(lane, at[lane.index])
        if done is not None:
            passed.append(done)
            assert all(at[each.index] >= done or each.ended for each in lanes)
        assert all(at[each.index] == alignment.barrier for each in lanes if each.held)
    assert all(lane.ended for lane in lanes)
    assert passed == list(range(1, barriers + 1))
