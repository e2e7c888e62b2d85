"""NumberedSource: one stream of rows that follow from their numbers. A base class; knows nothing of what is in the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.connectors.source import NO_MORE, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.batch import Batch


class NumberedSource(Source):
    """Rows 0, 1, 2, … of which a subclass says in `columns` what they are, and in `time` when, which ascends. So it can
    promise the time of its next row at any moment, and go back to any row. The class of the rows is the one in `outputs`.

    Args:
        count: rows in all; None: without end. rate: rows a second.
    """

    def __init__(self, count: int | None = None, rate: float | None = None) -> None:
        super().__init__(count=count, rate=rate)
        self._made = 0

    def columns(self, first: int, last: int) -> Mapping[str, Any]:
        """All fields of rows `first` to `last` (exclusive)."""
        raise NotImplementedError(f"{type(self).__name__} does not define columns()")

    def time(self, number: int) -> int:
        """The event time of a row."""
        raise NotImplementedError(f"{type(self).__name__} does not define time()")

    def read(self, max_rows: int) -> Batch | None:
        from actorstream.events.batch import Batch

        rows = max_rows if self.count is None else min(max_rows, self.count - self._made)
        if self._opened == [] or rows <= 0:
            return None
        self.row, self._made = self._made, self._made + rows
        return Batch.of_columns(self.row_schema(), self.columns(self.row, self._made))

    def lower_bound(self, now_ns: int) -> int:
        return NO_MORE if self._made == self.count else self.time(self._made)

    def position(self) -> dict[str, int]:
        return dict.fromkeys(self.partitions(), self._made)

    def seek(self, positions: dict[str, int]) -> None:
        self._made = max(positions.values(), default=0)
