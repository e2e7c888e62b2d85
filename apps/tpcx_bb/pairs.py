"""Items of one ticket as pairs, how often rows have come, and the rows that came most often (Q1, Q2, Q3).

The work is done in C (kernel.c), a call a batch, without the interpreter's lock.
"""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import Any

import numpy as np

from actorstream import Batch, Event, Schema
from actorstream.operators.prepared import Prepared
from apps.tpcx_bb.kernel import State
from apps.tpcx_bb.native import Native

TAKEN = ("time", "ticket", "item")


class Tickets(Native):
    """Distinct items of a ticket, two by two: item_1 < item_2, as soon as both have come.

    Takes rows (time in s, ticket, item), by time; further fields go along with the pair, from the later of its rows.

    Args:
        horizon: a row that comes more than that after its ticket's first begins a new ticket, so that old ones need
            not be kept; unset: tickets have no end.
    """

    def __init__(self, horizon: timedelta | None = None) -> None:
        self.kept = State(1, 2, -1 if horizon is None else horizon // timedelta(seconds=1))
        self.others: tuple[str, ...] = ()
        self.event: Any = None

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        others = tuple(field for field in inputs[0].fields if field.name not in TAKEN)
        return {"default": Schema("SoldTogether", others + integers("item_1", "item_2"))}

    def on_batch(self, batch: Batch) -> Batch | None:
        return self._pairs(batch, self.kept.call("tickets", *(batch[name] for name in TAKEN)))

    def prepare(self, batch: Batch) -> Prepared:
        columns = [batch[name] for name in TAKEN]
        return self.kept.prepared("tickets", columns, lambda came: self._pairs(batch, came))

    def _pairs(self, batch: Batch, came: int) -> Batch | None:
        if not came:
            return None
        if self.event is None:
            (self.event,) = self.output_types({}, [batch.schema]).values()
        rows = self.kept.rows()
        columns = {name: batch[name][rows] for name in batch.schema.names() if name not in TAKEN}
        columns |= {"item_1": self.kept.column(0), "item_2": self.kept.column(1)}
        return Batch.of(columns, event=self.event, origin=rows)


class Counts(Native):
    """How often each row (of up to 3 whole numbers) has come so far, itself included, as the field `cnt`.

    Args:
        min_count: only rows that have come more often than this go on.
        per: a field that never falls: what was counted for its earlier values is forgotten.
    """

    def __init__(self, min_count: int = 0, per: str | None = None) -> None:
        self.min_count, self.per = min_count, per

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        return {"default": Schema("Count", inputs[0].fields + integers("cnt"))}

    def on_start(self) -> None:
        (schema,) = self.context.inputs.values()
        (self.event,) = self.output_types({}, [schema.user]).values()
        self.names = schema.user.names()
        per = self.names.index(self.per) if self.per is not None else -1
        self.kept = State(len(self.names), 1, self.min_count, per)
        super().on_start()

    def on_batch(self, batch: Batch) -> Batch | None:
        return self._counted(batch, self.kept.by_key("counts", [batch[name] for name in self.names]))

    def prepare(self, batch: Batch) -> Prepared:
        columns = [batch[name] for name in self.names]
        return self.kept.prepared("counts", columns, lambda came: self._counted(batch, came))

    def _counted(self, batch: Batch, came: int) -> Batch | None:
        if not came:
            return None
        return batch.take(self.kept.rows()).with_columns(event=self.event, cnt=self.kept.column(0))


class Leaders(Native):
    """The rows with the greatest `cnt`, the least other fields first of equal ones.

    Takes running counts (`Counts`): the last one of a row is the one that counts. They go on as the output `running`.

    Args:
        n: how many.
        per: a field that never falls: each of its values has leaders of its own, which come out with the field `rank`
            when the next value begins. Unset: they come out at the end.
    """

    def __init__(self, n: int, per: str | None = None) -> None:
        self.n, self.per = n, per
        self.current: int | None = None
        """The value of `per` whose rows are kept."""

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        rank = integers("rank") if keys.get("per") else ()
        return {"default": Schema("Leader", inputs[0].fields + rank), "running": inputs[0]}

    def on_start(self) -> None:
        (schema,) = self.context.inputs.values()
        *self.names, _ = schema.user.names()
        self.event = self.output_types({"per": self.per}, [schema.user])["default"]
        self.kept = State(len(self.names), 1)
        super().on_start()

    def on_batch(self, batch: Batch) -> None:
        if self.per is None:
            self._note(batch, 0, batch.rows)
            self.emit(batch, to="running")
            return
        values = batch[self.per]
        cuts = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), batch.rows]
        for first, end in pairwise(cuts):
            if self.current is not None and self.current != values[first]:
                columns = self._leaders()
                origin = np.full(len(columns["rank"]), first)
                self.emit(Batch.of(columns, event=self.event, origin=origin))
                self.kept.clear()
            self.current = int(values[first])
            self._note(batch, first, end)
        self.emit(batch, to="running")

    def prepare(self, batch: Batch) -> Prepared | None:
        if self.per is not None:
            return None
        columns = [batch[name] for name in (*self.names, "cnt")]
        return self.kept.prepared("note", columns, lambda came: self.emit(batch, to="running"))

    def on_end(self) -> Batch | None:
        columns = self._leaders()
        return Batch.of(columns, event=self.event) if len(columns["cnt"]) else None

    def snapshot(self) -> Any:
        return [self.current, self.kept.save()]

    def restore(self, snapshot: Any) -> None:
        self.current, self.saved = snapshot

    def _note(self, batch: Batch, first: int, end: int) -> None:
        columns = [batch[name][first:end] for name in (*self.names, "cnt")]
        self.kept.by_key("note", columns[:-1], columns[-1])

    def _leaders(self) -> dict[str, np.ndarray]:
        """Columns of the best of what is kept."""
        rows = self.kept.call("read")
        *fields, cnt = (self.kept.column(number) for number in range(len(self.names) + 1))
        best = np.lexsort((*fields[::-1], -cnt))[: self.n]
        columns = dict(zip((*self.names, "cnt"), (values[best] for values in (*fields, cnt))))
        if self.per is not None:
            columns["rank"] = np.arange(1, min(rows, self.n) + 1)
        return columns


def integers(*names: str) -> tuple[Any, ...]:
    """Fields of whole numbers."""
    return Schema.from_dict(dict.fromkeys(names, "int")).fields
