"""Dead rows: what a source keeps of rows that did not parse, until the runtime takes them as dead letters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from actorstream.errors import DataError

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

MOST = 4096
"""Rows that do not parse are handed on when there are so many, though no other has come."""
SHOWN_BYTES = 10_000
"""A dead letter keeps so much of its row's text."""


class BadRow(NamedTuple):
    """A row that did not parse.

    record: its number among the records of its piece; line: in the file, from 1 (a row number in binary
    formats).
    """

    record: int
    line: int
    column: str
    text: str
    error: str

    def raised(self, file: str) -> DataError:
        return DataError(self.error, file=file, line=self.line, column=self.column)


class DeadRows:
    """Dead letters in the order of the input; `operator` is the source's name in the topology."""

    def __init__(self, operator: str) -> None:
        self.operator = operator
        self._rows: list[tuple[str, str]] = []

    def add(self, file: str, bad: BadRow) -> None:
        self._rows.append((bad.text[:SHOWN_BYTES], str(bad.raised(file))))

    def take(self) -> Batch | None:
        """What was added since the last call; None: nothing."""
        if not self._rows:
            return None
        from actorstream.events.batch import Batch

        events, errors = zip(*self._rows)
        self._rows.clear()
        columns = {"event": list(events), "error": list(errors), "operator": [self.operator] * len(events)}
        return Batch.of_columns(dead_letter_schema(), columns)


def dead_letter_schema() -> Schema:
    """The schema of every actor's `.dead` output."""
    from actorstream.events.schema import Schema

    return Schema.from_dict({"event": "str", "error": "str", "operator": "str"}, name="DeadLetter")
