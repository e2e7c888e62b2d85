"""memory-source and memory-sink: rows from and to Python lists, for tests and notebooks. Touches no files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from actorstream.actors.contract import Contract
from actorstream.connectors.declared import declared_schema
from actorstream.connectors.sink import Sink
from actorstream.connectors.source import NO_MORE, ONLY, Source
from actorstream.connectors.source_keys import SourceKeys
from actorstream.errors import Problem, SchemaError
from actorstream.events.event import Event

if TYPE_CHECKING:
    from pathlib import Path

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema


PART_BYTES = 4 << 20
"""Of the parts in which a memory-sink's rows are handed over."""


class MemorySource(Source):
    """Gives the rows of a list.

    Args:
        items: Event objects of one class, dicts, or Batches of one schema; or a dict of partition name ->
        such a list,
            which are read one after the other and can be shared out among replicas.
        event, schema: the class of the rows; needed only where `items` are empty or dicts without it.
    The other keys are those of `Source`; `repeat` counts for each partition, `count` for all of them in their order.
    """

    def __init__(
        self, items: Sequence[Any] | Mapping[str, Sequence[Any]], **keys: Unpack[SourceKeys]
    ) -> None:
        super().__init__(**keys)
        self.items = _partitions(items)
        self._batches: dict[str, Batch] = {}
        self._positions: dict[str, int] = {}
        self._ends: dict[str, int] = {}

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return ("default", *cls.outputs)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Any]:
        found = declared_schema(keys)
        if found is None:
            found = declared_schema({**keys, "event": _schema_of(keys.get("items", []))})
        return {"default": found}

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = super().check(keys, inputs, base)
        if not problems:
            try:
                cls.output_types(keys, inputs)
            except SchemaError as error:
                problems.append(Problem("items", str(error)))
        return problems

    def keys(self) -> dict[str, Any]:
        return {**super().keys(), "items": self.items}

    def partitions(self) -> list[str]:
        return list(self.items)

    def open(self, partitions: list[str]) -> None:
        super().open(partitions)
        schema = self.row_schema()
        self._batches = {name: _batch(schema, list(self.items[name])) for name in partitions}
        self._positions = dict.fromkeys(partitions, 0)
        self._ends = self._shares()

    def seek(self, positions: dict[str, int]) -> None:
        self._positions = {name: positions.get(name, 0) for name in self._positions}

    def position(self) -> dict[str, int]:
        return dict(self._positions)

    def read(self, max_rows: int) -> Batch | None:
        for name, position in self._positions.items():
            batch = self._batches[name]
            left = self._ends[name] - position
            if left > 0:
                first = position % batch.rows
                rows = min(max_rows, left, batch.rows - first)
                self.origin, self.row = self.partitions().index(name), position
                self._positions[name] = position + rows
                return batch.slice(first, rows)
        return None

    def _shares(self) -> dict[str, int]:
        """Partition -> rows of it that are among the first `count` of the whole input, over all its passes."""
        shares, left = {}, NO_MORE if self.count is None else self.count
        for name, items in self.items.items():
            rows = _rows(items)
            whole = NO_MORE if self.repeat == 0 and rows else rows * self.repeat
            shares[name] = min(left, whole)
            left -= 0 if self.count is None else shares[name]
        return shares


class MemorySink(Sink):
    """Keeps the rows it receives; the launcher hands them to its caller when the run has committed.

    Attributes:
        batches: what came in, in order, in memory of its own.
    """

    contract: ClassVar[Contract] = Contract(one_stream=True, destination="caller")

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def on_batch(self, batch: Batch) -> None:
        self.batches.append(batch.compact())

    def collected(self) -> list[bytes]:
        """The rows as few streams, of some MiB each."""
        from actorstream.events.batch import Batch

        groups: list[list[Batch]] = []
        size = PART_BYTES
        for batch in self.batches:
            if size >= PART_BYTES:
                groups.append([])
                size = 0
            groups[-1].append(batch)
            size += batch.nbytes
        return [pack_rows(Batch.concat(group)) for group in groups]

    @classmethod
    def decode_collected(cls, schema: Schema | type[Event], parts: list[bytes]) -> list[Event]:
        """The events behind `collected`."""
        return [event for part in parts for event in unpack_rows(schema, part).events()]

    def abort(self, token: Any) -> None:
        self.batches = []


def pack_rows(batch: Batch) -> bytes:
    """A batch as an Arrow IPC stream."""
    import pyarrow as pa

    out = pa.BufferOutputStream()
    rows = batch.arrow()
    with pa.ipc.new_stream(out, rows.schema) as writer:
        writer.write_batch(rows)
    return out.getvalue().to_pybytes()  # type: ignore[no-any-return]


def unpack_rows(schema: Schema | type[Event], packed: bytes) -> Batch:
    """The batch of `pack_rows`; `schema` is that of the sink's input."""
    import pyarrow as pa

    from actorstream.events.batch import Batch

    with pa.ipc.open_stream(packed) as reader:
        return Batch.from_arrow(schema, reader.read_all())


def _partitions(items: Any) -> dict[str, Sequence[Any]]:
    if isinstance(items, Mapping):
        return {str(name): _listed(part) for name, part in items.items()}
    return {ONLY: _listed(items)}


def _listed(items: Any) -> Sequence[Any]:
    return items if isinstance(items, Sequence) else list(items)


def _rows(items: Sequence[Any]) -> int:
    from actorstream.events.batch import Batch

    return sum(item.rows for item in items) if items and isinstance(items[0], Batch) else len(items)


def _schema_of(items: Any) -> Schema:
    """The schema of the first item. SchemaError if there is none, or it is neither event, dict nor batch."""
    from actorstream.events.batch import Batch
    from actorstream.events.inference import infer_schema
    from actorstream.events.schema import Schema

    parts = list(_partitions(items).values())
    first = next((part[0] for part in parts if part), None)
    if isinstance(first, Batch):
        return first.schema
    if isinstance(first, Event):
        return Schema.of(type(first))
    if isinstance(first, dict):
        rows = [row for part in parts for row in part]
        names = dict.fromkeys(name for row in rows for name in row)
        return infer_schema({name: [row.get(name) for row in rows] for name in names})
    if first is None:
        raise SchemaError("`items` are empty, so their class is not known; allowed: with `event` or `schema`")
    raise SchemaError(f"an item is a {type(first).__name__}; allowed: events, dicts, or Batches")


def _batch(schema: Schema, items: list[Any]) -> Batch:
    from actorstream.events.batch import Batch

    if items and isinstance(items[0], Batch):
        return Batch.concat([item.cast(schema) for item in items])
    if items and isinstance(items[0], dict):
        return Batch.of_columns(schema, {name: [item.get(name) for item in items] for name in schema.names()})
    return Batch.of_events(schema, items)
