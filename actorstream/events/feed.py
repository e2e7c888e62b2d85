"""Feed: the rows of a batch as events for one pass, each made as it is taken and gone when nobody keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from actorstream.events.event import Event


class Feed:
    """Events that are never all in memory at once: 10 ns an event less than a list of them (benchmark `python-map`).

    Args:
        single: one event of its values.
        values: of each field, at least one; lists or arrays of the standard library.
    """

    __slots__ = ("_single", "_values")

    def __init__(self, single: Callable[..., Event], values: Sequence[Sequence[Any]]) -> None:
        self._single, self._values = single, values

    def __len__(self) -> int:
        return len(self._values[0])

    def __iter__(self) -> Iterator[Event]:
        return map(self._single, *self._values)

    def start(self) -> tuple[Iterator[Event], Callable[[], int]]:
        """The events, and a function that answers how many of them were taken."""
        first, *others = self._values
        cursor = iter(first)
        return map(self._single, cursor, *others), partial(taken, cursor, len(first))

    @overload
    def __getitem__(self, at: int) -> Event: ...
    @overload
    def __getitem__(self, at: slice) -> Feed: ...
    def __getitem__(self, at: int | slice) -> Event | Feed:
        values = [each[at] for each in self._values]
        return Feed(self._single, values) if isinstance(at, slice) else self._single(*values)


def taken(cursor: Any, rows: int) -> int:
    """How many of `rows` values an iterator of a list or an array has given."""
    if hasattr(cursor, "__length_hint__"):
        return rows - cursor.__length_hint__()  # type: ignore[no-any-return]
    state = cursor.__reduce__()  # (iter, (array,), position), and without a position when it is through
    return state[2] if len(state) > 2 else rows
