"""A Position is a place from which a source can go on; Places knows which rows lie before each place that a source has named.
Neither reads anything."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from actorstream.errors import SchemaError


class Position(msgspec.Struct, frozen=True):
    """`events` yields a Position between two rows. It says that all rows so far lie before `positions`, and that all other rows
    lie behind.

    After a restart `seek` is called with `positions`, which maps each partition to a number. A source with one partition may
    give the number alone.
    """

    positions: Mapping[str, int] | int


class Places:
    """Knows between which places the rows of one `events` lie. It asks for the place while the generator stands at a `yield`,
    so the place belongs to that row, even if the generator is ahead of the rows that the run has taken.

    Args:
        rows: rows before the first one that the generator will yield.
        positions: the place where it begins; None: what `ask` says.
        ask: `position` of a source that has one of its own; None: the source yields a `Position`.
        counts: whether `ask` counts the row at whose `yield` it is asked; None: it does if the position has moved when the
            first row comes, since a source sets its position either before it yields a row or behind the `yield`.
    """

    def __init__(
        self,
        rows: int,
        positions: Mapping[str, int] | None,
        ask: Callable[[], Mapping[str, int]] | None,
        counts: bool | None = None,
    ) -> None:
        self.counts = counts
        self._rows, self._ask = rows, ask
        self._last = {} if ask is None else dict(ask())
        begin = self._last if positions is None else dict(positions)
        self._begins = (begin, self._last)
        self._found: deque[tuple[int, dict[str, int]]] = deque([(rows, begin)])

    def row(self) -> None:
        """Notes that the generator has yielded a row."""
        self._rows += 1
        if self._ask is None:
            return
        positions = dict(self._ask())
        if self.counts is None:
            self.counts = positions not in self._begins
        if positions != self._last:
            self._last = positions
            self._found.append((self._rows if self.counts else self._rows - 1, positions))

    def place(self, position: Position, only: str) -> None:
        """Notes that the generator has yielded a position; a number alone is that of the partition `only`."""
        positions = position.positions
        self._found.append((self._rows, {only: positions} if isinstance(positions, int) else dict(positions)))

    def before(self, rows: int) -> tuple[dict[str, int], int]:
        """Returns the last place before row `rows`, and how many rows lie between them. Later calls never ask about fewer
        rows."""
        while len(self._found) > 1 and self._found[1][0] <= rows:
            self._found.popleft()
        at, positions = self._found[0]
        return positions, rows - at


def unexpected(position: Position) -> SchemaError:
    """The error of a source that yields a position, and does not say that it can go back to it."""
    return SchemaError(
        f"events() yields {position!r}; allowed: rows (to yield positions too, override seek(), and say so in the return "
        "annotation of events(), as in AsyncIterator[Row | Position])"
    )


def says_position(annotation: Any) -> bool:
    """Whether a return annotation, as AsyncIterator[Tick | Position], has a `Position` in it."""
    import typing

    return annotation is Position or any(map(says_position, typing.get_args(annotation)))
