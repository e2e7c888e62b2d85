"""take: rows from an iterator of Python, as many as are wanted and as fit into so many bytes, in C since it is done once an
event: 20 ns and 15 a field of text, in Python 100 and more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["take"]

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    def take(
        iterator: Iterator[Any],
        most: int,
        room: int,
        each: int,
        names: tuple[str, ...],
        measure: Callable[[Any], int],
        last: type,
        /,
    ) -> list[Any]:
        """A list of at most `most` items, fewer where they pass `room` bytes by the last one; empty: the iterator has
        ended. An item counts `each` bytes and what its fields `names` have, where `measure` is asked about values that
        are neither text nor bytes. Behind an item of the class `last`
        nothing more is taken."""

else:
    from actorstream.native._objects import take
