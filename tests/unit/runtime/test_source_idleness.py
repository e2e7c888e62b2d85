"""A source is idle once it has had no row for its timeout: the clock is an argument."""

from __future__ import annotations

from actorstream.runtime.idleness import SourceIdleness


def test_a_source_is_silent_once_the_timeout_has_passed_without_a_row() -> None:
    idleness = SourceIdleness(100, now=1000)
    assert idleness.time_left(1000) == 100
    assert idleness.time_left(1099) == 1
    assert idleness.time_left(1100) == 0


def test_each_row_counts_the_time_anew() -> None:
    idleness = SourceIdleness(100, now=1000)
    assert not idleness.row_came(1090), "it was not idle"
    assert idleness.time_left(1100) == 90


def test_transitions_are_counted_and_odd_while_idle() -> None:
    idleness = SourceIdleness(100, now=0)
    assert idleness.begin() == 1
    assert idleness.row_came(500)
    assert (idleness.idle, idleness.count) == (False, 2)
    assert idleness.begin() == 3


def test_who_was_held_up_himself_gives_the_source_its_time_once_more() -> None:
    idleness = SourceIdleness(100, now=0)
    assert idleness.time_left(5000) == 100
    assert idleness.time_left(5099) == 1
    assert idleness.time_left(9000) == 0, "but only once until a row comes"
    idleness.row_came(9000)
    assert idleness.time_left(20_000) == 100


def test_without_any_patience_a_source_is_silent_at_once() -> None:
    assert SourceIdleness(0, now=7).time_left(7) == 0
