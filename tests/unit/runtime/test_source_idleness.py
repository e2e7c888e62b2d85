"""A source is idle once it has had no row for its timeout: the clock is an argument."""

from __future__ import annotations

from actorstream.runtime.source_idleness import SourceIdleness


def test_a_source_is_silent_once_the_timeout_has_passed_without_a_row() -> None:
    silence = SourceIdleness(100, now=1000)
    assert silence.left(1000) == 100
    assert silence.left(1099) == 1
    assert silence.left(1100) == 0


def test_each_row_counts_the_time_anew() -> None:
    silence = SourceIdleness(100, now=1000)
    assert not silence.heard(1090), "it was not idle"
    assert silence.left(1100) == 90


def test_transitions_are_counted_and_odd_while_idle() -> None:
    silence = SourceIdleness(100, now=0)
    assert silence.begin() == 1
    assert silence.heard(500)
    assert (silence.idle, silence.count) == (False, 2)
    assert silence.begin() == 3


def test_who_was_held_up_himself_gives_the_source_its_time_once_more() -> None:
    silence = SourceIdleness(100, now=0)
    assert silence.left(5000) == 100
    assert silence.left(5099) == 1
    assert silence.left(9000) == 0, "but only once until a row comes"
    silence.heard(9000)
    assert silence.left(20_000) == 100


def test_without_any_patience_a_source_is_silent_at_once() -> None:
    assert SourceIdleness(0, now=7).left(7) == 0
