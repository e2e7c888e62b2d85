"""Ticks: each between the first row of all streams and the last of all, once, as soon as that is certain."""

from __future__ import annotations

import random
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.dgs.mailbox import ENDED, NOTHING
from actorstream.dgs.tagging import Every
from actorstream.dgs.ticks import Ticks

TEN = Every(timedelta(milliseconds=10))
MS = 1_000_000


def test_a_tick_is_certain_once_a_stream_has_passed_it() -> None:
    ticks = Ticks(TEN, MS, ["a", "b"])
    assert ticks.due() == [] and ticks.bound == NOTHING
    ticks.moved("a", 3, 25, 25)
    assert ticks.due() == []  # b may have begun long before
    ticks.moved("b", 12, 12, 12)
    assert ticks.due() == [10, 20] and ticks.bound == 30
    ticks.moved("a", 3, 25, ENDED)
    assert ticks.due() == [] and ticks.bound == 30
    ticks.moved("b", 12, 12, ENDED)
    assert ticks.due() == [] and ticks.bound == ENDED


def test_a_gap_between_streams_has_ticks_too() -> None:
    ticks = Ticks(TEN, MS, ["a", "b"])
    ticks.moved("a", 3, 7, ENDED)
    ticks.moved("b", 25, 41, 41)
    assert ticks.due() == [10, 20, 30, 40]


def test_a_stream_without_rows_makes_none_and_holds_nobody_up_at_its_end() -> None:
    ticks = Ticks(TEN, MS, ["a", "b"])
    ticks.moved("a", 5, 15, 15)
    assert ticks.due() == []
    ticks.moved("b", NOTHING, NOTHING, ENDED)
    assert ticks.due() == [10] and ticks.bound == 20


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0, -(2**62), 2**62 - 50, 2**62, 2**63 - 101]))
def test_any_course_of_the_streams_brings_the_ticks_of_the_whole(seed: int, start: int) -> None:
    chance = random.Random(seed)
    rows = [sorted(chance.sample(range(start, start + 100), chance.randint(0, 5))) for _ in range(3)]
    times = sorted(time for part in rows for time in part)
    expected = list(TEN.between(times[0], times[-1], MS)) if times else []
    ticks = Ticks(TEN, MS, range(3))
    sent, found = [0, 0, 0], []
    while sent != [len(part) + 1 for part in rows]:
        which = chance.choice([n for n in range(3) if sent[n] <= len(rows[n])])
        sent[which] += 1
        part = rows[which][: sent[which]]
        bound = ENDED if sent[which] > len(rows[which]) else part[-1]
        before = ticks.bound
        ticks.moved(which, part[0] if part else NOTHING, part[-1] if part else NOTHING, bound)
        due = ticks.due()
        assert all(tick >= before for tick in due) and ticks.bound >= before
        found += due
    assert found == expected and ticks.bound == ENDED
