"""aggregate: what aggregates say of the rows of each key and window (AIR section 4.2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.errors import Problem
from actorstream.native.panes import PanesStep
from actorstream.operators.aggregation.definition import define, key_names, needs_time
from actorstream.operators.aggregation.local import LocalAggregate, MergedPanes, partial_schema
from actorstream.operators.aggregation.paned import LONGEST, Paned
from actorstream.operators.aggregation.runs import KeyRuns
from actorstream.operators.chain import LinkedRows, Linking, UnlinkedError
from actorstream.operators.chain_end import Admission
from actorstream.operators.checks import same_inputs
from actorstream.operators.expressions import RowErrors
from actorstream.operators.failed_rows import without_failed
from actorstream.operators.prepared import Prepared
from actorstream.windows.spec import COUNT, SLIDING, TUMBLING, WindowTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from actorstream.events.batch import Batch
    from actorstream.events.event import Event
    from actorstream.events.schema import Schema
    from actorstream.operators.aggregation.definition import Definition


class Aggregate(Actor):
    """One row for each key and window, once the watermark has passed its end.

    Args:
        aggregates: {field = "sum(price * quantity)", ...}: count(), count(x), sum, min, max, mean, first, last,
            count_distinct, quantile(x, q) of expressions (docs/expressions.md); or functions in C: a table
            { native = "package.module:name", columns, returns, merge, begin, result, state } or a NativeAggregate
            (docs/operators.md). Nulls are left out.
        key: fields; rows with equal ones are a group. Without any, all rows are.
        window: { type = "tumbling", size }, { type = "sliding", size, slide }, with `offset`; { type = "session", gap };
            { type = "count", size }: so many rows of a key, as they come in. Without a window the whole stream is one.
        allowed_lateness: beside the window or in it: windows wait so much longer for late rows.
        emit: "final": one row for a key and window. "updates": one when the window ends, and again what late rows change.
        every: early rows of what has changed, after so many rows (of a replica), or whenever event time has gone on so
            far, such as "1s".
        ttl: of a count window, or without a window: a key that has had no row for so long comes out and is forgotten.

    Rows carry `window_start`, `window_end`, the key and the aggregates, and are ordered by window end, window start and
    key. first and last go by event time where rows have one. Late rows go to the output `late`.
    """

    contract: ClassVar[Contract] = Contract(one_stream=True, two_steps=True, keeps_by_keys=True)

    def __init__(
        self,
        aggregates: dict[str, Any],
        key: str | list[str] | None = None,
        window: WindowTable | None = None,
        allowed_lateness: timedelta | None = None,
        emit: Literal["final", "updates"] = "final",
        every: Any = None,
        ttl: Any = None,
    ) -> None:
        self.keys = {
            "aggregates": aggregates,
            "key": key,
            "window": window,
            "allowed_lateness": allowed_lateness,
            "emit": emit,
            "every": every,
            "ttl": ttl,
        }

    # -- what the topology asks

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        window, timed, every = keys.get("window"), needs_time(keys), keys.get("every")
        counts = isinstance(window, dict) and window.get("type") == COUNT
        given = (keys.get("aggregates") or {}).values()
        calls = [text.split("(")[0].strip() for text in given if isinstance(text, str)]
        named = [name for name in ("first", "last") if name in calls]
        note = "which rows share a count window is up to arrival" if counts else ""
        if named and not counts:
            tied = " of rows of one event time" if timed else ""
            note = f"{' and '.join(named)}{tied} {'are' if len(named) > 1 else 'is'} up to arrival"
        clock = (
            "" if every is None else f"tells its updates every {every}: how many there are depends on time"
        )
        return replace(
            cls.contract,
            order_sensitive=bool(note),
            arrival_note=note,
            clock_note=clock,
            timely=keys.get("emit") == "updates",
            sorts=keys.get("emit", "final") == "final",
            uses_event_time=timed,
            emits_by_rows=counts,
            pool_limit=int(_in_panes(keys)),
        )

    @classmethod
    def keyed_by(cls, keys: dict[str, Any], input: int) -> tuple[str, ...] | None:
        return key_names(keys.get("key")) or None

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        definition, problems = define(keys, inputs[0])
        if definition is None:
            raise ValueError(str(problems[0]))
        return {"default": definition.result}

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        return same_inputs(inputs) + define(keys, inputs[0])[1]

    @classmethod
    def local_stage(cls, keys: dict[str, Any], schema: Schema) -> tuple[type, dict[str, Any], Schema] | None:
        """Class, keys and output of the step that aggregates before the rows are sent by key, if there can be one."""
        definition, _ = define(keys, schema)
        found = None if definition is None else partial_schema(definition)
        return None if found is None else (LocalAggregate, dict(keys), found)

    @classmethod
    def second_stage(cls, keys: dict[str, Any], schema: Schema) -> tuple[type, dict[str, Any]]:
        """Class and keys of the step that merges what the local one emits; `schema`: of the rows that that takes."""
        return MergingAggregate, {"rows": schema, **keys}

    # -- the run

    def on_start(self) -> None:
        definition, problems = define(self.keys, self._input())
        assert definition is not None, problems
        self.definition = definition
        state = self.state or {"groups": None, "until_early": definition.rows or 0}
        self.groups = self._kept(definition, state["groups"])
        self._until_early = state["until_early"]
        self.state = None

    def _input(self) -> Schema:
        """What is aggregated."""
        return next(iter(self.context.inputs.values()))

    def _kept(self, definition: Definition, snapshot: Any) -> Paned | KeyRuns:
        return (Paned if definition.paned else KeyRuns)(self, definition, snapshot)

    def on_batch(self, batch: Batch) -> Any:
        if self._until_early:
            return self._early(batch, self._until_early)
        self._add(batch)
        return self.groups.full() if self.groups.fills else None

    def prepare(self, batch: Batch) -> Prepared | None:
        """`on_batch` as a kernel for a pool; None: it is none."""
        groups = self.groups
        if self._until_early or type(groups) is not Paned or (job := groups.job(batch)) is None:
            return None

        def finish() -> None:
            if not groups.job_added(batch):
                self._add(batch)

        return Prepared(job, finish)

    def link_end(self, chain: Linking, rows: LinkedRows) -> PanesStep:
        """`on_batch` as the last step of a chain; UnlinkedError: it is none."""
        if self._until_early or type(self.groups) is not Paned:
            raise UnlinkedError
        return self.groups.link(chain, rows)

    def admits(self) -> Admission:
        assert type(self.groups) is Paned
        return self.groups.admission(LONGEST)

    def took(self, rows: int) -> None:
        """Rows alone let nothing come out."""

    def _add(self, batch: Batch) -> None:
        try:
            late = self.groups.add(batch)
        except RowErrors as errors:
            self._add(without_failed(self, batch, errors))
            return
        if late is not None:
            self.context.count_late(late.rows)
            self.emit(late, "late")

    def _early(self, batch: Batch, until: int) -> Iterator[Batch]:
        """Takes rows up to the next early results, and then on."""
        first = 0
        while batch.rows - first >= until:
            self._add(batch.slice(first, until))
            first += until
            until = self.definition.rows or 1
            yield from self.groups.changed()
        if first < batch.rows:
            self._add(batch.slice(first, batch.rows - first))
            until -= batch.rows - first
        self._until_early = until

    def on_heartbeat(self, frontier: int) -> Iterator[Batch] | None:
        return self.groups.fire(frontier) if frontier >= self.groups.due else None

    def promise(self, frontier: int) -> int:
        return self.groups.promise(frontier)

    def on_end(self) -> Iterator[Batch]:
        return self.groups.end()

    @property
    def state_bytes(self) -> int:
        """Of the cells, and what lies beside them."""
        return self.groups.nbytes

    def snapshot(self) -> Any:
        return {"groups": self.groups.snapshot(), "until_early": self._until_early}


class MergingAggregate(Aggregate):
    """The second of two steps (plan/preaggregate.py): takes what `LocalAggregate` emits of `rows`.

    Args:
        rows: the schema of the rows that are aggregated. keys: of the aggregate."""

    def __init__(self, rows: Schema, **keys: Any) -> None:
        super().__init__(**keys)
        self._rows = rows

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        return replace(super().contract_of(keys), pool_limit=0)

    def _input(self) -> Schema:
        return self._rows

    def _kept(self, definition: Definition, snapshot: Any) -> Paned:
        return MergedPanes(self, definition, snapshot)


def _in_panes(keys: dict[str, Any]) -> bool:
    """Whether threads may add rows: these only change panes, and let nothing come out."""
    window = keys.get("window")
    kind = window.get("type") if isinstance(window, dict) else None
    paned = kind in (TUMBLING, SLIDING) or (window is None and keys.get("ttl") is None)
    return paned and not isinstance(keys.get("every"), int)
