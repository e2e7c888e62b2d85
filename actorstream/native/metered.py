"""Metered: an iterator that stops once what is made of its items has so many bytes. Knows nothing of hooks.

`Metered(source, room, each, lists, measure)` gives the items of `source`, each of which counts `each` bytes, until they and
what the lists have got meanwhile come to `room` bytes or more; then `full` is true, and the source has its other items still.
A list is described by (list, names, each): an item that is appended to it counts `each` bytes and those of its fields `names`,
with None those of the item itself. `measure` returns the bytes of what is neither text nor bytes nor None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

__all__ = ["Metered"]

if TYPE_CHECKING:

    class Metered(Iterator[Any]):
        full: bool
        room: int

        def __init__(
            self,
            source: Iterator[Any],
            room: int,
            each: int,
            lists: tuple[tuple[list[Any], tuple[str, ...] | None, int], ...],
            measure: Callable[[Any], int],
        ) -> None: ...
        def __next__(self) -> Any: ...

else:
    from actorstream.native._objects import Metered
