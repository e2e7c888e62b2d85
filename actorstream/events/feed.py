"""Feed: the rows of a batch as events for one pass, each made as it is taken and gone when nobody keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, overload

from actorstream.native.cursor import Cursor

if TYPE_CHECKING:
    from actorstream.events.event import Event


class Feed:
    """Events that are never all in memory at once.

    Args:
        single: one event of its values.
        columns: of each field, at least one: as a `Cursor` is told them.
        rows: how many, from row `first` of the columns on.
    """

    __slots__ = ("_columns", "_first", "_rows", "_single")

    def __init__(
        self, single: Callable[..., Event], columns: tuple[Any, ...], rows: int, first: int = 0
    ) -> None:
        self._single, self._columns, self._rows, self._first = single, columns, rows, first

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[Event]:
        return Cursor(self._single, self._columns, self._first, self._rows)  # type: ignore[no-any-return]

    def part(self, first: int, last: int) -> Feed:
        """Rows `first` to `last` (exclusive). The caller keeps them within 0 .. rows."""
        return Feed(self._single, self._columns, last - first, self._first + first)

    @overload
    def __getitem__(self, at: int) -> Event: ...
    @overload
    def __getitem__(self, at: slice) -> Feed: ...
    def __getitem__(self, at: int | slice) -> Event | Feed:
        if isinstance(at, slice):
            first, last, step = at.indices(self._rows)
            if step != 1:
                raise ValueError(f"a part of a feed with step {step}; allowed: 1")
            return self.part(first, max(first, last))
        row = at + self._rows if at < 0 else at
        if not 0 <= row < self._rows:
            raise IndexError(f"event {at} of a feed of {self._rows}")
        return next(Cursor(self._single, self._columns, self._first + row, 1))


def taken(events: Any, rows: int) -> int:
    """How many of `rows` events an iterator of a list or of a feed has given."""
    return rows - events.__length_hint__()  # type: ignore[no-any-return]


def is_over(events: Any) -> bool:
    """Whether an iterator of a list or of a feed was asked for more events than there are. If not, what asked has stopped before
    its end: a hook has raised StopIteration, which is no error to `map`."""
    return events.is_over() if type(events) is Cursor else len(events.__reduce__()) == 2
