"""Rooms: memory that generated columns are written into, again when nobody looks at what was there before."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from sys import getrefcount
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.native.address import address_of

if TYPE_CHECKING:
    from actorstream.events.column import Descriptor
    from actorstream.events.fields import Field
    from actorstream.events.schema import Schema
    from actorstream.native.generate import YsbTexts

MOST = 16
"""Rooms that are kept: more are in use only if batches wait in queues, or user code keeps them."""


class ColumnBuffer(ABC):
    """Columns of `rows` rows. Whatever looks at one holds its arrays, or the memory that they are views of."""

    rows: int
    parts: list[np.ndarray]
    """The arrays and their memory."""

    @abstractmethod
    def fits(self, rows: int) -> bool:
        """Whether so many rows can be written."""

    @abstractmethod
    def batch(self, schema: Schema, rows: int) -> Batch:
        """What was written."""


class NumberRoom(ColumnBuffer):
    """Fixed-width columns one after the other, each at a multiple of 64 bytes."""

    def __init__(self, schema: Schema, rows: int) -> None:
        self.rows = rows
        spaces = [-(-rows * field.width // 64) * 64 for field in schema.fields]
        memory = np.empty(sum(spaces) + 64, np.uint8)
        at = -address_of(memory) % 64
        self.address = address_of(memory) + at
        memory.setflags(write=False)  # C writes
        self.columns: list[tuple[Field, np.ndarray, Descriptor]] = []
        for field, space in zip(schema.fields, spaces):
            assert field.dtype is not None
            array = memory[at : at + rows * field.width].view(field.dtype)
            self.columns.append((field, array, (field.width, 0, 0, 0, address_of(array), 0)))
            at += space
        self.parts = [memory, *(array for _, array, _ in self.columns)]

    def fits(self, rows: int) -> bool:
        return rows == self.rows

    def batch(self, schema: Schema, rows: int) -> Batch:
        columns: list[Column | None] = [
            Column(field, rows, None, array, None, 0, at) for field, array, at in self.columns
        ]
        return Batch(schema, rows, columns)


class TextRoom(ColumnBuffer):
    """Six columns of texts, and the event time among them."""

    def __init__(self, texts: YsbTexts) -> None:
        self.texts, self.rows, self.parts = texts, texts.rows, texts.parts

    def fits(self, rows: int) -> bool:
        return rows <= self.rows

    def batch(self, schema: Schema, rows: int) -> Batch:
        pairs = iter(zip(self.texts.offsets, self.texts.data))
        columns: list[Column | None] = []
        for field in schema.fields:
            if field.dtype is None:
                offsets, data = next(pairs)
                columns.append(Column(field, rows, None, data, offsets))
            else:
                columns.append(Column(field, rows, None, self.texts.event_time[:rows], None))
        return Batch(schema, rows, columns)


R = TypeVar("R", bound=ColumnBuffer)


class Rooms(Generic[R]):
    """Rooms that `make` makes, for batches of one size after the other."""

    def __init__(self, make: Callable[[int], R]) -> None:
        self._make = make
        self._rooms: deque[tuple[R, int]] = deque()

    def take(self, rows: int) -> R:
        """A room that nobody looks at. What was last taken first, so that it still lies in the cache."""
        rooms = self._rooms
        for _ in range(min(len(rooms), 2)):
            room, references = rooms[0]
            if not room.fits(rows):
                rooms.clear()
                break
            if sum(map(getrefcount, room.parts)) == references:
                return room
            rooms.rotate(-1)
        if len(rooms) >= MOST:
            rooms.pop()
        room = self._make(rows)
        rooms.appendleft((room, sum(map(getrefcount, room.parts))))
        return room
