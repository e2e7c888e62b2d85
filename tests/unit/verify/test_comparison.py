"""Sequences and multisets of rows: what is the same, and where the first difference is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.verify import comparison
from actorstream.verify.comparison import Difference, ReadLines, compare, records


def rows(*texts: str) -> ReadLines:
    return lambda: [text.encode() for text in texts]


def test_equal_rows_are_the_same_either_way() -> None:
    assert compare("s", "sequence", rows("a", "b", "b"), rows("a", "b", "b")) is None
    assert compare("s", "multiset", rows("a", "b", "b"), rows("b", "a", "b")) is None
    assert compare("s", "sequence", rows(), rows()) is None
    assert compare("s", "multiset", rows(), rows()) is None


@pytest.mark.parametrize(
    ("baseline", "other", "expected"),
    [
        (("a", "b"), ("b", "a"), (1, "a", 1, "b")),
        (("a", "b"), ("a",), (2, "b", 0, None)),
        (("a",), ("a", "b"), (0, None, 2, "b")),
        (("a", "", "c"), ("a", "c"), (2, "", 2, "c")),
    ],
)
def test_a_sequence_differs_at_the_first_row_that_is_another(
    baseline: tuple[str, ...], other: tuple[str, ...], expected: tuple[Any, ...]
) -> None:
    row, text, found_row, found = expected
    assert compare("s", "sequence", rows(*baseline), rows(*other)) == Difference(
        "s", "sequence", row, text, found_row, found
    )


@pytest.mark.parametrize(
    ("baseline", "other", "expected"),
    [
        (("a", "b", "c"), ("c", "x", "a"), (2, "b", 2, "x")),
        (("a", "b", "a"), ("a", "b"), (3, "a", 0, None)),
        (("b", "a"), ("a", "b", "b"), (0, None, 3, "b")),
    ],
)
def test_a_multiset_differs_by_the_first_row_that_the_other_has_not_or_not_as_often(
    baseline: tuple[str, ...], other: tuple[str, ...], expected: tuple[Any, ...]
) -> None:
    row, text, found_row, found = expected
    assert compare("s", "multiset", rows(*baseline), rows(*other)) == Difference(
        "s", "multiset", row, text, found_row, found
    )


@given(st.lists(st.binary(max_size=2), max_size=20), st.lists(st.binary(max_size=2), max_size=20))
def test_multisets_are_the_same_if_counters_are_and_differ_by_rows_that_are_really_beyond(
    one: list[bytes], other: list[bytes]
) -> None:
    found = compare("s", "multiset", lambda: one, lambda: other)
    lacking, beyond = Counter(one) - Counter(other), Counter(other) - Counter(one)
    assert (found is None) == (not lacking and not beyond)
    if found is not None:
        assert (found.row > 0) == bool(lacking)
        assert (found.found_row > 0) == bool(beyond)
        assert not found.row or one[found.row - 1] in lacking
        assert not found.found_row or other[found.found_row - 1] in beyond


def test_rows_that_differ_are_found_a_part_at_a_time_where_there_are_too_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparison, "HELD_ROWS", 10)
    baseline, other = [b"a%d" % each for each in range(5000)], [b"b%d" % each for each in range(5000)]
    found = compare("s", "multiset", lambda: baseline, lambda: other)
    assert found is not None and found.expected is not None and found.found is not None
    assert found.expected.startswith("a") and found.found.startswith("b")


def test_a_long_multiset_is_read_again_and_not_held() -> None:
    started = []

    def many() -> Iterable[bytes]:
        started.append(1)
        return (b"%d" % each for each in range(20_000))

    assert compare("s", "multiset", many, many) is None
    assert len(started) == 2


def test_a_record_with_an_open_quote_goes_on_in_the_next_line() -> None:
    lines = [b"a,b\r\n", b'1,"x\n', b"\n", b'y""z"\n', b"2,\n", b'3,"open\n']
    assert list(records(lines)) == [b"a,b", b'1,"x\n\ny""z"', b"2,", b'3,"open']


def test_lines_say_both_rows_and_where_they_are() -> None:
    def said(*values: Any) -> str:
        return "\n".join(Difference("out", *values).lines())

    assert said("sequence", 3, "a,1", 3, "a,2") == (
        "sink out, row 3, as a sequence:\n  baseline: a,1\n  found:    a,2"
    )
    assert said("multiset", 3, "a,1", 0, None).endswith("baseline: a,1\n  found:    nothing: no such row")
    assert said("multiset", 3, "a,1", 9, "b,1").endswith("found:    b,1 (row 9)")
    assert said("sequence", 0, None, 7, "z") == (
        "sink out, behind the last row, as a sequence:\n  baseline: nothing\n  found:    z (row 7)"
    )
