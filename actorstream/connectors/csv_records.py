"""Records of csv text: where they end, how many fields they have. Knows quotes and line ends, not types.

The rules are those of Arrow's reader: a quote opens a quoted field only at the field's start, doubled
quotes stand for one, and whatever follows the closing quote up to the delimiter belongs to the field as it
is. But a carriage return outside quotes ends a line only with the newline that follows; Arrow's reader takes
one alone for an end, so it must not see such a record.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from actorstream.connectors.blocks import occurrences

QUOTE = b'"'
UNCLOSED = "a quote is opened and never closed"
STRAY = "has a carriage return that no newline follows; allowed: lines that end with LF or CRLF, or quotes around it"


def has_lone_return(data: bytes) -> bool:
    """Whether a carriage return has no newline behind it. 0.2 ms for 1 MiB of lines that end with both, bytes.count 1.2."""
    if b"\r" not in data:
        return False
    import numpy as np

    found = np.frombuffer(data, np.uint8)
    behind = np.flatnonzero(found == ord("\r")) + 1
    return bool(behind[-1] == len(found) or (found[behind] != ord("\n")).any())


class CsvRecord(NamedTuple):
    """data[start:end] is a record without its line end; `line`: newlines of the data before it."""

    start: int
    end: int
    line: int
    fields: int
    closed: bool
    """False: a quote is opened and never closed, so the record is all the rest."""
    stray: bool = False
    """Whether it has a carriage return outside quotes."""


class CsvRecords:
    """Finds records in csv text with this delimiter (one byte)."""

    def __init__(self, delimiter: str) -> None:
        mark = re.escape(delimiter.encode())
        # one field and what ends it; possessive, so that it never goes back
        plain = rb"(?:[^" + mark + rb"\r\n]|\r(?!\n))*+"
        self._field = re.compile(
            rb'(?:"(?P<quoted>(?:[^"]++|"")*+)(?P<closed>"?+)|)(?P<plain>' + plain + rb")"
            rb"(?P<end>" + mark + rb"|\r\n|\n|\Z)"
        )
        self._delimiter = delimiter.encode()

    def boundary(self, data: bytes | bytearray, start: int, stop: int) -> int:
        """Just after the last line end in data[start:stop] that is not inside quotes, 0 if there is none;
        data[:stop] starts a record, and none ends before `start`.

        By the parity of quotes, which is exact unless a field has quotes without starting with one. Where
        the parity is odd at the last line end, that may be why, so it is looked at, and if need be all
        records are."""
        end = data.rfind(b"\n", start, stop) + 1
        if not end or not occurrences(memoryview(data)[:end], QUOTE) % 2:
            return end
        if not self.well_formed(data[:stop]):
            text = bytes(data[:stop])
            ends = [record.end for record in self.scan(text) if record.closed]
            ends = [end for end in ends if text[end : end + 2].lstrip(b"\r")[:1] == b"\n"]
            return text.find(b"\n", ends[-1]) + 1 if ends else 0
        odd = 1
        while odd:
            quote = data.rfind(QUOTE, 0, end)
            before = data.rfind(b"\n", 0, quote) + 1
            if not before:
                return 0
            odd = (odd + data.count(QUOTE, before, end)) % 2
            end = before
        return end

    def well_formed(self, data: bytes | bytearray) -> bool:
        """Whether every quote opens a field, closes one, or is one of two. 1 ms for 1 MiB with 50,000
        quotes."""
        import numpy as np

        padded = np.frombuffer(b"\n" + data + b"\n", np.uint8)
        quotes = np.flatnonzero(padded == QUOTE[0])
        beside = np.zeros(256, np.bool_)
        beside[list(self._delimiter + b'\r\n"')] = True
        return bool(beside[padded[quotes[::2] - 1]].all() and beside[padded[quotes[1::2] + 1]].all())

    def scan(self, data: bytes, blank: bool = False) -> list[CsvRecord]:
        """The records of `data`; without empty lines unless `blank`. About 20 MB/s: for what is not the
        usual."""
        return list(self._scan(data, blank))

    def first(self, data: bytes) -> CsvRecord | None:
        """The first record that is not an empty line."""
        return next(self._scan(data, False), None)

    def _scan(self, data: bytes, blank: bool) -> Iterator[CsvRecord]:
        start = fields = line = 0
        closed, stray = True, False
        size = len(data)
        match = self._field.match
        position = 0
        while True:
            found = match(data, position)
            assert found is not None  # the pattern has an empty alternative
            fields += 1
            closed = closed and not (found["quoted"] is not None and not found["closed"])
            stray = stray or b"\r" in found["plain"]
            position = found.end()
            if found["end"] == self._delimiter:
                continue
            end = found.start("end")
            if end > start or (blank and end < size):
                yield CsvRecord(start, end, line, fields, closed, stray)
            if position >= size:
                return
            line += data.count(b"\n", start, position)
            start, fields, closed, stray = position, 0, True, False
