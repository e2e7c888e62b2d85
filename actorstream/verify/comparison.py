"""Comparing two sequences or multisets of rows, without holding them. Pure: rows come from functions that start anew."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Literal

import msgspec

ReadLines = Callable[[], Iterable[bytes]]
"""Starts again at the first row whenever it is called."""
How = Literal["sequence", "multiset"]

BUCKETS = 4096
HELD_ROWS = 1_000_000
"""Rows of one side whose digests are held at once, to find which of them differ."""


class Difference(msgspec.Struct, frozen=True):
    """The first place at which an output differs from the baseline's.

    Attributes:
        sink: which output, with `/part` behind it for one of several parts.
        how: compared as a sequence or as a multiset.
        row, expected: number (from 1) and text of a row of the baseline that the other has not (here); 0 and None: it has
            all of them, and more.
        found_row, found: of the row that the other has instead, or beyond; 0 and None: none.
    """

    sink: str
    how: How
    row: int
    expected: str | None
    found_row: int
    found: str | None

    def lines(self) -> list[str]:
        """What to print."""
        place = f"row {self.row}" if self.row else "behind the last row"
        other = f" (row {self.found_row})" if self.found is not None and self.found_row != self.row else ""
        lacking = "nothing: no such row" if self.how == "multiset" else "nothing: it ends"
        return [
            f"sink {self.sink}, {place}, as a {self.how}:",
            f"  baseline: {self.expected if self.expected is not None else 'nothing'}",
            f"  found:    {self.found if self.found is not None else lacking}{other}",
        ]


def compare(sink: str, how: How, baseline: ReadLines, other: ReadLines) -> Difference | None:
    """The first difference; None: they are the same."""
    return sequences(sink, baseline, other) if how == "sequence" else multisets(sink, baseline, other)


def sequences(sink: str, baseline: ReadLines, other: ReadLines) -> Difference | None:
    """Row by row, both at once."""
    for number, (expected, found) in enumerate(zip_longest(baseline(), other()), 1):
        if expected != found:
            return Difference(
                sink,
                "sequence",
                number if expected is not None else 0,
                text(expected),
                number if found is not None else 0,
                text(found),
            )
    return None


def multisets(sink: str, baseline: ReadLines, other: ReadLines) -> Difference | None:
    """By sums of digests, in which order does not matter; only rows whose sums differ are looked at again.

    Where more than `HELD_ROWS` rows may differ, it looks at some of them: the rows it names do differ, but there may be
    differences before them."""
    sums, counts = _summed(baseline())
    other_sums, other_counts = _summed(other())
    differ = [bucket for bucket in range(BUCKETS) if sums[bucket] != other_sums[bucket]]
    if not differ:
        return None
    chosen, held = set[int](), 0
    for bucket in differ:
        held += max(counts[bucket], other_counts[bucket])
        if chosen and held > HELD_ROWS:
            break
        chosen.add(bucket)
    row, expected = _first_beyond(baseline(), other(), chosen)
    found_row, found = _first_beyond(other(), baseline(), chosen)
    return Difference(sink, "multiset", row, text(expected), found_row, text(found))


def _summed(rows: Iterable[bytes]) -> tuple[list[int], list[int]]:
    sums, counts = [0] * BUCKETS, [0] * BUCKETS
    for digest in map(_digest, rows):
        bucket = digest % BUCKETS
        sums[bucket] += digest
        counts[bucket] += 1
    return sums, counts


def _first_beyond(
    rows: Iterable[bytes], others: Iterable[bytes], buckets: set[int]
) -> tuple[int, bytes | None]:
    """Number and text of the first row that `others` have not, or not as often; (0, None): there is none."""
    there = Counter(digest for digest in map(_digest, others) if digest % BUCKETS in buckets)
    for number, row in enumerate(rows, 1):
        digest = _digest(row)
        if digest % BUCKETS in buckets:
            if not there[digest]:
                return number, row
            there[digest] -= 1
    return 0, None


def _digest(row: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(row, digest_size=16).digest(), "little")


def text(row: bytes | None) -> str | None:
    """A row as it is shown."""
    return None if row is None else row.decode(errors="replace")


def counted(rows: Iterable[bytes]) -> int:
    """How many there are."""
    return sum(1 for _ in rows)


def records(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines joined to csv records: one in which a quoted field is open goes on in the next line."""
    open_record = b""
    for line in lines:
        record = open_record + line
        if record.count(b'"') % 2:
            open_record = record
        else:
            open_record = b""
            yield record.rstrip(b"\r\n")
    if open_record:
        yield open_record.rstrip(b"\r\n")
