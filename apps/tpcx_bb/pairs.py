"""Items of one ticket as pairs, how often rows have come, and the rows that came most often (Q1, Q2, Q3)."""

from __future__ import annotations

from datetime import timedelta
from heapq import nsmallest
from itertools import chain
from typing import Any

import numpy as np

from actorstream import Actor, Batch, Event, Schema

TAKEN = ("time", "ticket", "item")


class Tickets(Actor):
    """Distinct items of a ticket, two by two: item_1 < item_2, as soon as both have come.

    Takes rows (time in s, ticket, item); further fields go along with the pair, from the later of its rows.

    Args:
        horizon: a row that comes so long after its ticket's first begins a new ticket, so that old ones need not be
            kept; unset: tickets have no end.
    """

    _event: Any = None

    def __init__(self, horizon: timedelta | None = None) -> None:
        self.horizon = horizon.total_seconds() if horizon is not None else float("inf")
        self.state: dict[int, list[int]] = {}
        """Ticket -> time of its first row, then its items; by that time."""

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        others = tuple(field for field in inputs[0].fields if field.name not in TAKEN)
        return {"default": Schema("SoldTogether", others + integers("item_1", "item_2"))}

    def on_batch(self, batch: Batch) -> Batch | None:
        tickets, rows = self.state, []
        first: list[int] = []
        second: list[int] = []
        columns = (batch[name].tolist() for name in TAKEN)
        for row, (time, ticket, item) in enumerate(zip(*columns)):
            known = tickets.get(ticket)
            if known is None or time - known[0] > self.horizon:
                tickets.pop(ticket, None)
                tickets[ticket] = [time, item]
                continue
            others = known[1:]
            if item in others:
                continue
            known.append(item)
            for other in others:
                rows.append(row)
                first.append(min(item, other))
                second.append(max(item, other))
        if batch.rows:
            self._forget(time)
        if not rows:
            return None
        origin = batch.take(np.array(rows))
        columns_out: dict[str, Any] = {
            name: origin.column(name) for name in batch.schema.names() if name not in TAKEN
        }
        columns_out |= {"item_1": np.array(first), "item_2": np.array(second)}
        if self._event is None:
            (self._event,) = self.output_types({}, [batch.schema]).values()
        return Batch.of(columns_out, event=self._event, origin=origin)

    def _forget(self, now: int) -> None:
        """Tickets that no row can belong to any more."""
        over = []
        for ticket, (begun, *_) in self.state.items():
            if now - begun <= self.horizon:
                break
            over.append(ticket)
        for ticket in over:
            del self.state[ticket]


class Counts(Actor):
    """How often each row has come so far, itself included, as the field `cnt`.

    Args:
        min_count: only rows that have come more often than this go on.
        per: a field that never falls: what was counted for its earlier values is forgotten.
    """

    def __init__(self, min_count: int = 0, per: str | None = None) -> None:
        self.min_count, self.per = min_count, per
        self.counts: dict[tuple[Any, ...], int] = {}
        self.current: Any = None
        """The value of `per` that is being counted."""

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        return {"default": Schema("Count", inputs[0].fields + integers("cnt"))}

    def on_start(self) -> None:
        (schema,) = self.context.inputs.values()
        (self.event,) = self.output_types({}, [schema.user]).values()

    def on_batch(self, batch: Batch) -> Batch | None:
        counts = self.counts
        if self.per is not None and batch.rows:
            self._begin(batch[self.per])
        found = []
        for row in zip(*(batch[name].tolist() for name in batch.schema.names())):
            counts[row] = count = counts.get(row, 0) + 1
            found.append(count)
        cnt = np.array(found, np.int64)
        frequent = np.flatnonzero(cnt > self.min_count)
        if not len(frequent):
            return None
        return batch.take(frequent).with_columns(event=self.event, cnt=cnt[frequent])

    def _begin(self, values: np.ndarray) -> None:
        """What came before the first of these values is over; rows of several of them may stand in one batch."""
        if values[0] != self.current:
            self.counts.clear()
        self.current = values[-1]

    def snapshot(self) -> list[tuple[Any, ...]]:
        return [(*row, count) for row, count in self.counts.items()]

    def restore(self, snapshot: Any) -> None:
        self.counts = {tuple(row): count for *row, count in snapshot}


class Leaders(Actor):
    """The rows with the greatest `cnt`, the least other fields first of equal ones.

    Takes running counts (`Counts`): the last one of a row is the one that counts.

    Args:
        n: how many.
        per: a field that never falls: each of its values has leaders of its own, which come out with the field `rank`
            when the next value begins. Unset: they come out at the end.
    """

    def __init__(self, n: int, per: str | None = None) -> None:
        self.n, self.per = n, per
        self.counts: dict[tuple[int, ...], int] = {}
        """The other fields of a row -> cnt."""

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        return {"default": Schema("Leader", inputs[0].fields + (integers("rank") if keys.get("per") else ()))}

    def on_start(self) -> None:
        (schema,) = self.context.inputs.values()
        self.fields = schema.user.names()
        (self.event,) = self.output_types({"per": self.per}, [schema.user]).values()

    def on_batch(self, batch: Batch) -> Batch | None:
        if self.per is None:
            self._note(batch)
            return None
        values = batch[self.per]
        cuts = np.flatnonzero(np.diff(values)) + 1
        found, last = [], []
        for first, end in zip((0, *cuts), (*cuts, batch.rows)):
            at = self.fields.index(self.per)
            if self.counts and next(iter(self.counts))[at] != values[first]:
                rows = self._ranked()
                found += rows
                last += [first] * len(rows)
                self.counts = {}
            self._note(batch.slice(int(first), int(end - first)))
        return self._batch(found, np.array(last)) if found else None

    def on_end(self) -> Batch | None:
        return self._batch(self._ranked(), None) if self.counts else None

    def _note(self, batch: Batch) -> None:
        *fields, cnt = (batch[name].tolist() for name in self.fields)
        self.counts.update(zip(zip(*fields), cnt))

    def _ranked(self) -> list[tuple[int, ...]]:
        leaders = nsmallest(self.n, ((-count, row) for row, count in self.counts.items()))
        rows = ((*row, -count) for count, row in leaders)
        return list(rows) if self.per is None else [(*row, rank) for rank, row in enumerate(rows, 1)]

    def _batch(self, rows: list[tuple[int, ...]], origin: np.ndarray | None) -> Batch:
        columns = np.fromiter(chain.from_iterable(rows), np.int64).reshape(len(rows), -1).T
        return Batch.of(dict(zip(self.event.names(), columns.copy())), event=self.event, origin=origin)

    def snapshot(self) -> list[tuple[int, ...]]:
        return [(*row, count) for row, count in self.counts.items()]

    def restore(self, snapshot: Any) -> None:
        self.counts = {tuple(row): count for *row, count in snapshot}


def integers(*names: str) -> tuple[Any, ...]:
    """Fields of whole numbers."""
    return Schema.from_dict(dict.fromkeys(names, "int")).fields
