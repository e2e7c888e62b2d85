"""Classifier: divides a batch of an input by implementation tag, by whole columns. Pure.

Costs a few passes over the columns that tell tag and stream, and nothing where there are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.dgs.tagging import Tagging
from actorstream.dgs.tags import Tag
from actorstream.errors import ConfigurationError, DataError, Problem
from actorstream.events.arrow_arrays import arrow_scalar, numpy_array
from actorstream.events.fields import INTEGERS, Kind
from actorstream.native.kernels import BYTES, SIGNED, UNSIGNED, Partitioner, hash_columns, key_groups
from actorstream.native.pieces import ColumnTable

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.column import Column
    from actorstream.topology.dependency import PlannedStream

Part = tuple[int, "Batch"]
"""Number of an implementation tag, and its rows, in their order."""
WIDEST_TABLE = 1 << 16


class Classifier:
    """What tells the implementation tags of one input's rows.

    Args:
        tagging: how rows map to tags.
        streams: number and description of the input's streams.
        numbers: (number of a stream, tag) -> number of the implementation tag.
        where: "ACTOR.INPUT", for errors.
    """

    def __init__(
        self,
        tagging: Tagging,
        streams: Sequence[tuple[int, PlannedStream]],
        numbers: Mapping[tuple[int, Tag], int],
        where: str,
    ) -> None:
        self.tagging, self.where = tagging, where
        self._streams = [number for number, _ in streams]
        self._stream_names = [each.name for _, each in streams]
        self._partitions = {each.partition: place for place, (_, each) in enumerate(streams)}
        self._keys = _keys_of(tagging, [tag for _, tag in numbers])
        self._by_stream = _Places(
            streams[0][1].field if streams else "",
            {each.value: place for place, (_, each) in enumerate(streams)},
            as_text=True,
        )
        self._by_key = _Places(tagging.key, {key: place for place, key in enumerate(self._keys)})
        self._by_name = _Places(
            tagging.column, {value: tagging.names.index(name) for value, name in tagging.values.items()}
        )
        found = [
            numbers.get((stream, Tag(name, key)), -1)
            for stream in self._streams
            for key in self._keys
            for name in tagging.names
        ]
        self._numbers = sorted({number for number in found if number >= 0})
        self._unplanned = len(self._numbers)
        places = {number: place for place, number in enumerate(self._numbers)}
        self._table = np.array([places.get(number, self._unplanned) for number in found], np.uint32)
        self._in_order = self._table.tolist() == list(range(len(found)))
        """Whether a row's code is the place of its tag in `_numbers`."""
        self._partitioner = Partitioner([0], len(self._numbers) + 1)
        self._hashing = ColumnTable(1)

    def split(self, batch: Batch, partition: int = 0) -> list[Part]:
        """The rows of each implementation tag; the batch itself if all rows have one.

        partition: number of the source's partition that the rows came from.

        Raises:
            DataError: a row has a tag or stream that the plan does not know; names the row and what is allowed.
        """
        if not batch.rows:
            return []
        codes = self._codes(batch, partition)
        if isinstance(codes, int):
            place = int(self._table[codes])
            if place == self._unplanned:
                raise self._unknown(codes, 0)
            return [(self._numbers[place], batch)]
        places = codes.astype(np.uint32) if self._in_order else self._table.take(codes)
        index, counts = self._partitioner.by_rows(places)
        if counts[self._unplanned]:
            row = int(index[batch.rows - counts[self._unplanned]])
            raise self._unknown(int(codes[row]), row)
        parts: list[Part] = []
        first = 0
        for number, count in zip(self._numbers, counts):
            if count == batch.rows:
                return [(number, batch)]
            if count:
                parts.append((number, batch.selection(index[first : first + count].copy())))
                first += count
        return parts

    def only(self, partition: int) -> int | None:
        """The number of the tag that all rows of a partition have; None: that is to be seen by their columns."""
        if (
            self._by_stream.field
            or self.tagging.key
            or self.tagging.column
            or partition not in self._partitions
        ):
            return None
        place = int(self._table[self._partitions[partition]])
        return None if place == self._unplanned else self._numbers[place]

    def _codes(self, batch: Batch, partition: int) -> Any:
        """(stream, key, name) of each row as one number, the index into the table; one for all where nothing differs."""
        codes: Any = self._partitions.get(partition, 0)
        if self._by_stream.field:
            codes = self._by_stream.of(batch, self.where)
        tagging = self.tagging
        if tagging.key:
            keys = (
                self._classes(batch.column(tagging.key))
                if tagging.classes
                else self._by_key.of(batch, self.where)
            )
            codes = _combined(codes, len(self._keys), keys)
        if tagging.column:
            codes = _combined(codes, len(tagging.names), self._by_name.of(batch, self.where))
        return codes

    def _classes(self, column: Column) -> np.ndarray:
        kind, allowed = column.field.kind, "an integer, text or bytes"
        if self.tagging.modulo:
            if kind in INTEGERS and column.field.plain:
                classes = self.tagging.classes
                if classes & (classes - 1):
                    return (column.data % classes).astype(np.int64)
                return column.data.astype(np.int64, copy=False) & (
                    classes - 1
                )  # a third of the division's time
            kind, allowed = Kind.MSGPACK, "an integer without nulls"
        if kind in (Kind.STRING, Kind.BYTES):
            how = BYTES
        elif kind in INTEGERS:
            how = UNSIGNED if kind.value.startswith("u") else SIGNED
        else:
            raise ConfigurationError(
                Problem(self.where, f"the key {self.tagging.key!r} is {column.field}", allowed)
            )
        self._hashing.fill([column.descriptor])
        return key_groups(
            hash_columns(self._hashing, [(0, how)], column.length), self.tagging.classes
        ).astype(np.int64)

    def _unknown(self, code: int, row: int) -> DataError:
        rest, name = divmod(code, len(self.tagging.names))
        stream, key = divmod(rest, len(self._keys))
        tag = Tag(self.tagging.names[name], self._keys[key])
        return DataError(
            f"{self.where}, row {row} of a batch: {tag} on stream {self._stream_names[stream]!r} is not in the plan; "
            "allowed: the tags that were planned for that stream (make the plan anew)"
        )


def _combined(codes: Any, count: int, following: Any) -> Any:
    """Numbers that stand for a code and one of `count` further values."""
    return following if isinstance(codes, int) and not codes else codes * count + following


def _keys_of(tagging: Tagging, tags: Iterable[Tag]) -> list[Any]:
    if not tagging.key:
        return [None]
    if tagging.classes:
        return list(range(tagging.classes))
    return sorted(
        {tag.key for tag in tags if tag.name in tagging.names}, key=lambda key: (str(type(key)), key)
    )


class _Places:
    """Values of one field -> places in a list."""

    def __init__(self, field: str, values: Mapping[Any, int], *, as_text: bool = False) -> None:
        self.field, self.values, self.as_text = field, dict(values), as_text
        self._sorted: tuple[np.ndarray, np.ndarray] | None = None
        self._dense: tuple[int, np.ndarray] | None = None

    def of(self, batch: Batch, where: str) -> Any:
        """The place of each row's value, int64; one for all if they are the same text. DataError for a value that is not
        among them."""
        column = batch.column(self.field)
        if column.field.plain and column.field.kind in INTEGERS:
            return self._of_integers(column.data, where)
        if column.field.kind is Kind.STRING:
            return self._of_texts(column, where)
        if column.field.plain and column.field.categories:
            return self._of_codes(column, where)
        values = column.tolist()
        return np.fromiter(
            (self._place(value, row, where) for row, value in enumerate(values)), np.int64, len(values)
        )

    def _of_integers(self, data: np.ndarray, where: str) -> np.ndarray:
        if self._sorted is None:
            bounds = np.iinfo(data.dtype)  # other values are in no row
            numbers = {int(value): place for value, place in self.values.items() if _is_number(value)}
            held = sorted(each for each in numbers.items() if bounds.min <= each[0] <= bounds.max) or [
                (0, -1)
            ]
            self._sorted = (
                np.array([number for number, _ in held], data.dtype),
                np.array([place for _, place in held], np.int64),
            )
            least, most = held[0][0], held[-1][0]
            if most - least < WIDEST_TABLE:
                table = np.full(most - least + 1, -1, np.int64)
                table[[number - least for number, _ in held]] = self._sorted[1]
                self._dense = (int(np.array(least, data.dtype).astype(np.int64)), table)
        known, places = self._sorted
        if self._dense is not None:
            least, table = self._dense
            # a difference of more than 64 bits wraps around, but never into the table
            at = data.astype(np.int64) - least
            inside = (at >= 0) & (at < len(table))
            found = table.take(at, mode="clip")
            good = inside & (found >= 0)
        else:
            at = np.searchsorted(known, data).clip(max=len(known) - 1)
            found, good = places[at], known[at] == data
        if not good.all():
            row = int(np.argmin(good))
            raise self._no_place(int(data[row]), row, where)
        return found

    def _of_texts(self, column: Column, where: str) -> Any:
        if column.length > 1 and column.validity is None and column.repeats():
            return self._place(column.slice(0, 1).tolist()[0], 0, where)
        coded = column.arrow().dictionary_encode()
        indices = numpy_array(coded.indices.fill_null(arrow_scalar(np.int32(-1))))
        places = np.empty(len(coded.dictionary) + 1, np.int64)
        for number, value in enumerate([*coded.dictionary.to_pylist(), None]):
            used = value in self.values or not (indices == (number if value is not None else -1)).any()
            if not used:
                row = int(np.argmax(indices == (number if value is not None else -1)))
                raise self._no_place(value, row, where)
            places[number] = self.values.get(value, -1)
        return places[indices]

    def _of_codes(self, column: Column, where: str) -> np.ndarray:
        labels = column.field.labels
        known = [
            self.values.get(label, self.values.get(category, -1))
            for label, category in zip(labels, column.field.categories)
        ]
        found = np.array(known, np.int64).take(column.data)
        if int(found.min()) < 0:
            row = int(np.argmin(found))
            raise self._no_place(labels[int(column.data[row])], row, where)
        return found

    def _place(self, value: Any, row: int, where: str) -> int:
        place = self.values.get(str(value) if self.as_text else value)
        if place is None:
            raise self._no_place(value, row, where)
        return place

    def _no_place(self, value: Any, row: int, where: str) -> DataError:
        shown = [repr(each) for each in self.values]
        allowed = ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
        return DataError(f"{where}, row {row} of a batch: {self.field} is {value!r}; allowed: {allowed}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and value.removeprefix("-").isdigit())
