"""Routes: which replica of the consumer gets which rows of a batch (AIR section 3.3).

A router returns (consumer index, batch) pairs; whole batches go on by reference, selections stay unmaterialised until
they are written. Routers are pure but for a round-robin position.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from actorstream.errors import ConfigurationError, Problem
from actorstream.events.batch import Batch
from actorstream.events.fields import FLOATS, Kind
from actorstream.native.kernels import BYTES, FLOAT, SIGNED, UNSIGNED, Partitioner
from actorstream.native.pieces import ColumnTable
from actorstream.plan.job import FEW_ROWS

SHARED_ROWS = 1024
"""A batch of so many rows is not worth being dealt out."""
Parts = Iterable[tuple[int, Batch]]
Router = Callable[[Batch], Parts]


def make_router(
    route: str,
    key: tuple[str, ...],
    producer: int,
    consumers: int,
    *,
    key_groups: int,
    batch_size: int | None,
    bounds: tuple[Any, ...] = (),
) -> Router:
    """The router of one producer replica for an edge.

    Args:
        route: forward | shuffle | key | range | broadcast | global | "package.module:function".
        key: the fields of a key or range route.
        producer: index of this replica of the producer.
        consumers: replicas of the consumer.
        batch_size: rows that one consumer gets at once of a batch that is dealt out; None: equal shares.
        bounds: the inner boundaries of a range route.
    """
    if route == "broadcast":
        return lambda batch: [(consumer, batch) for consumer in range(consumers)]
    if consumers == 1 or route == "global":
        return lambda batch: ((0, batch),)
    if route == "forward":
        mine = producer % consumers
        return lambda batch: ((mine, batch),)
    if route == "shuffle":
        return Shuffle(producer, consumers, batch_size)
    if route == "key":
        return ByKey(key, consumers, key_groups)
    if route == "range":
        return ByRange(key[0], bounds, consumers)
    return ByFunction(route, consumers)


class Shuffle:
    """Round robin; a batch larger than the batch size is cut, so that replicas share a large one. Without a batch size one
    of more than SHARED_ROWS rows is cut into equal shares."""

    def __init__(self, start: int, consumers: int, batch_size: int | None) -> None:
        self.next, self.consumers, self.batch_size = start % consumers, consumers, batch_size or SHARED_ROWS
        self._equal = batch_size is None

    def __call__(self, batch: Batch) -> Parts:
        if batch.rows <= self.batch_size:
            at = self.next
            self.next = (at + 1) % self.consumers
            return ((at, batch),)
        if self.batch_size <= FEW_ROWS:
            return self._dealt(batch)
        parts = []
        share = self.batch_size if not self._equal else -(-batch.rows // self.consumers)
        for first in range(0, batch.rows, share):
            parts.append((self.next, batch.slice(first, min(share, batch.rows - first))))
            self.next = (self.next + 1) % self.consumers
        return parts

    def _dealt(self, batch: Batch) -> Parts:
        """The same shares, each as one selection: so many cuts would cost more than their rows."""
        cuts = np.arange(batch.rows, dtype=np.uint32) // self.batch_size
        owner = (cuts + self.next) % self.consumers
        self.next = (self.next + int(cuts[-1]) + 1) % self.consumers
        parts = []
        for consumer in range(self.consumers):
            index = np.flatnonzero(owner == consumer).astype(np.uint32)
            if len(index):
                parts.append((consumer, batch.selection(index)))
        return parts


def group_owners(key_groups: int, consumers: int) -> np.ndarray:
    """Replica of each key group: contiguous runs of groups, so that rescaling moves few. Shape (key_groups,) uint32."""
    return (np.arange(key_groups, dtype=np.uint64) * consumers // key_groups).astype(np.uint32)


class ByKey:
    """Equal keys go to one replica: stable hash -> key group -> replica."""

    def __init__(self, key: tuple[str, ...], consumers: int, key_groups: int) -> None:
        self.key = key
        self.partitioner = Partitioner(group_owners(key_groups, consumers).tolist(), consumers)
        self.table = ColumnTable(len(key))
        self._hows: list[tuple[int, int]] | None = None
        self._places: list[tuple[int, int]] | None = None
        """(column, how it is hashed) of each key field, in `table` and in a table of all columns."""

    def __call__(self, batch: Batch) -> Parts:
        columns = [batch.column(name) for name in self.key]
        if self._hows is None:
            self._hows = [(number, hash_kind(column.field.kind)) for number, column in enumerate(columns)]
        self.table.fill([column.descriptor for column in columns])
        index, counts = self.partitioner.by_key(self.table, self._hows, batch.rows)
        return selections(batch, index, counts)

    def shares(self, batch: Batch, table: ColumnTable) -> tuple[np.ndarray, int, list[int]]:
        """The same of a batch whose columns `table` describes, without batches: row numbers grouped by consumer (good until the
        next call), their address, and how many each consumer has."""
        if self._places is None:
            fields = [(batch.schema.index(name), batch.schema.field(name)) for name in self.key]
            self._places = [(place, hash_kind(field.kind)) for place, field in fields]
        index, counts = self.partitioner.by_key(table, self._places, batch.rows)
        return index, self.partitioner.index_address, counts


def hash_kind(kind: Kind) -> int:
    """How the values of a key are hashed: equal values alike, whatever their width."""
    if kind in FLOATS:
        return FLOAT
    if kind in (Kind.STRING, Kind.BYTES, Kind.MSGPACK):
        return BYTES
    return UNSIGNED if kind.value.startswith("uint") else SIGNED


class ByRange:
    """Neighbouring key values go to one replica: range i is bounds[i-1] <= key < bounds[i].

    `bounds` are written at the input (`route = "range", key = "price", bounds = [10, 100]`), so the same row goes to
    the same range in every run."""

    def __init__(self, key: str, bounds: tuple[Any, ...], consumers: int) -> None:
        self.key, self.consumers = key, consumers
        values = sorted(bounds)
        self.bounds = np.array(values, dtype=object if values and isinstance(values[0], str) else None)
        self.partitioner = Partitioner([0], consumers)
        ranges = len(values) + 1
        self.owners = (np.arange(ranges) * consumers // ranges).astype(np.uint32)

    def __call__(self, batch: Batch) -> Parts:
        column = batch.column(self.key)
        values = (
            np.array(column.tolist(), dtype=object)
            if self.bounds.dtype == object
            else np.asarray(column.numpy())
        )
        owner = self.owners[np.searchsorted(self.bounds, values, side="right")]
        return selections(batch, *self.partitioner.by_rows(owner))


class ByFunction:
    """A user's function on columns: `function(batch, consumers) -> array of consumer numbers, one a row`."""

    def __init__(self, name: str, consumers: int) -> None:
        self.name, self.consumers = name, consumers
        self.function = resolve_function(name) if isinstance(name, str) else name
        self.partitioner = Partitioner([0], consumers)

    def __call__(self, batch: Batch) -> Parts:
        chosen = np.ascontiguousarray(self.function(batch, self.consumers))
        if chosen.shape != (batch.rows,) or chosen.dtype.kind not in "iub":
            raise ConfigurationError(
                Problem(
                    "route",
                    f"function {self.name!r} returned an array of shape {chosen.shape} and type {chosen.dtype}",
                    f"{batch.rows} integers, one a row",
                )
            )
        if batch.rows and (int(chosen.min()) < 0 or int(chosen.max()) >= self.consumers):
            raise ConfigurationError(
                Problem(
                    "route",
                    f"function {self.name!r} chose replica {int(chosen.min())} or {int(chosen.max())}",
                    f"0 to {self.consumers - 1}",
                )
            )
        return selections(batch, *self.partitioner.by_rows(chosen.astype(np.uint32, copy=False)))


def selections(batch: Batch, index: np.ndarray, counts: list[int]) -> Parts:
    """The non-empty selections of a partition: `index` holds row numbers grouped by consumer (copied), `counts` how
    many each has."""
    parts = []
    start = 0
    for consumer, count in enumerate(counts):
        if count == batch.rows:
            return ((consumer, batch),)
        if count:
            parts.append((consumer, selected(batch, index, start, count)))
            start += count
    return parts


def selected(batch: Batch, index: np.ndarray, first: int, count: int) -> Batch:
    """The rows at some of the row numbers of a partition, which are copied."""
    return batch.selection(index[first : first + count].copy())


def resolve_function(name: str) -> Callable[..., Any]:
    """Imports "package.module:function"."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            Problem(
                "route", f"{name!r} cannot be imported: {error}", "a route name or package.module:function"
            )
        ) from None
