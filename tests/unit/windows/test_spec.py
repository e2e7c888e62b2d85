"""Window tables: what they mean in units of event time, and everything that is wrong with them at once."""

from __future__ import annotations

from datetime import timedelta

import pytest

from actorstream.windows.spec import WindowSpec, parse_window, units_of


def spec_of(table, unit="ms", lateness=None):
    spec, problems = parse_window(table, unit, lateness)
    assert not problems
    return spec


def test_durations_become_units_of_the_event_time():
    table = {"type": "sliding", "size": "10s", "slide": timedelta(seconds=1), "offset": "500ms"}
    assert spec_of(table) == WindowSpec("sliding", 10_000, 1_000, 0, 500)
    assert spec_of(table, "us") == WindowSpec("sliding", 10_000_000, 1_000_000, 0, 500_000)
    assert spec_of({"type": "tumbling", "size": 60}, "s") == WindowSpec("tumbling", 60, 60)


def test_nanoseconds_are_not_rounded():
    assert units_of("1500ns", "ns") == 1500
    assert units_of("-400ns", "ns") == -400
    assert spec_of({"type": "tumbling", "size": "400ns", "allowed_lateness": "1ns"}, "ns").lateness == 1
    assert units_of("400ns", "us") == "is not a whole number of us, the unit of the input's event time"


def test_an_offset_counts_from_the_nearest_window_start():
    assert spec_of({"type": "tumbling", "size": "10s", "offset": "-1s"}).offset == 9_000
    assert spec_of({"type": "tumbling", "size": "10s", "offset": "25s"}).offset == 5_000


def test_allowed_lateness_stands_in_the_table_or_beside_it():
    inside = {"type": "session", "gap": "1s", "allowed_lateness": "2s"}
    assert spec_of(inside).lateness == 2_000
    assert spec_of({"type": "session", "gap": "1s"}, lateness="2s").lateness == 2_000
    assert "set twice" in str(parse_window(inside, "ms", "2s")[1][0])


def test_a_count_window_is_a_number_of_rows():
    assert spec_of({"type": "count", "size": 7}) == WindowSpec("count", 7)
    assert not spec_of({"type": "count", "size": 7}).timed
    assert "no time" in str(parse_window({"type": "count", "size": 7}, "ms", "1s")[1][0])


def test_all_that_is_wrong_is_said_at_once():
    spec, problems = parse_window({"type": "sliding", "size": "1.5ms", "slid": "0s", "offset": "soon"}, "ms")
    assert spec is None
    texts = "\n".join(map(str, problems))
    assert "window.slid: is not a key" in texts
    assert "did you mean 'slide'?" in texts
    assert "window.slide: is missing" in texts
    assert "window.size: is '1.5ms', which is not a whole number of ms" in texts
    assert "window.offset: is 'soon', which is not a duration" in texts


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (5, "a table such as"),
        ({"size": "1s"}, "has no type"),
        ({"type": ["tumbling"], "size": "1s"}, "is ['tumbling']"),
        ({"type": "tumblin", "size": "1s"}, "did you mean 'tumbling'?"),
        ({"type": "tumbling", "size": "0s"}, "longer than 0"),
        ({"type": "tumbling", "size": -5}, "longer than 0"),
        ({"type": "tumbling", "size": True}, "not a duration"),
        ({"type": "tumbling", "size": 1 << 61}, "too long"),
        ({"type": "session", "gap": "1s", "allowed_lateness": "-1s"}, "0 or more"),
        ({"type": "count", "size": "10s"}, "a number of rows"),
        ({"type": "count", "size": 0}, "a number of rows"),
        ({"type": "session", "gap": "1s", "offset": "1s"}, "is not a key"),
    ],
)
def test_a_table_that_cannot_be_used_says_what_is_allowed(table, words):
    spec, problems = parse_window(table, "ms")
    assert spec is None
    assert words in "\n".join(map(str, problems))
