"""static-join: rows of a stream with the rows of a table that have their key (AIR section 4.1). No windows, no event
time: the table is complete before the first row."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from msgspec import Meta

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.connectors.files import list_files
from actorstream.errors import ConfigurationError, Problem
from actorstream.events.batch import Batch
from actorstream.events.jumbo import decode, from_bytes, to_bytes
from actorstream.events.schema import Schema
from actorstream.operators.chain import LinkedRows, Linking
from actorstream.operators.checks import same_inputs
from actorstream.operators.joining.fields import others
from actorstream.operators.joining.keys import Pairs, key_pairs, key_problems
from actorstream.operators.joining.table_file import TableFile, file_problems
from actorstream.operators.joining.table_join import TableJoin
from actorstream.topology.static_inputs import input_name

if TYPE_CHECKING:
    from actorstream.events.event import Event

Table = Annotated[Path, Meta(description="a file as text, or the name of a source actor")]


class StaticJoin(Actor):
    """Each row with the table's other fields, once for every row of the table with its key, in the table's order.

    Args:
        table: a csv, jsonl or parquet file (by its name's end; also a directory or a glob of such), or the name of a
            source actor of the topology, which is read whole before the first row is taken.
        on: the key: a field that both have, a list of them, or {stream's field = table's field}.
        how: "inner": rows without a match are dropped; "left": they stay, with nulls for the table's fields.

    A null key has no match. A table's field that the stream has too gets `_right`.
    """

    contract: ClassVar[Contract] = Contract(stateless=True, pool_limit=math.inf)

    def __init__(
        self, table: Table, on: str | list[str] | dict[str, str], how: Literal["inner", "left"] = "inner"
    ) -> None:
        self.table: Path | str = table
        self.pairs = key_pairs(on)
        self.how = how
        self.table_rows: Batch | None = None
        """All of the table, once they are known."""
        self._parts: list[Batch] = []
        """Of a table that a source actor sends, until the first row of the stream."""
        self._input = input_name("table", table) if type(table) is str else None
        self._join: TableJoin | None = None

    # -- what the topology asks

    @classmethod
    def static_inputs(cls, keys: dict[str, Any]) -> dict[str, str]:
        named = keys.get("table")
        return {"table": named} if isinstance(named, str) else {}

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return ("default",)

    @classmethod
    def files_read(cls, keys: dict[str, Any]) -> list[str]:
        """The files of the table, so that nobody in the topology writes one of them."""
        table = keys.get("table")  # a subclass may bring its own
        try:
            return list_files(table) if isinstance(table, Path) else []
        except ConfigurationError:
            return []

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        stream, table = _schemas(keys, inputs)
        return {"default": joined_schema(stream, table, key_pairs(keys["on"]), keys.get("how", "inner"))[0]}

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        pairs = key_pairs(keys["on"])
        streams = inputs[:-1] if type(keys["table"]) is str else inputs
        problems = same_inputs(streams)
        if type(keys["table"]) is not str:
            asked = {right: streams[0].field(left) for left, right in pairs if left in streams[0]}
            problems.extend(file_problems(keys["table"], asked))
        if not problems:
            stream, table = _schemas(keys, inputs)
            problems.extend(
                key_problems(keys["on"], stream, table, ("the stream", "the table"), converts=True)
            )
        return problems

    # -- the run

    def on_start(self) -> None:
        if isinstance(self.table, Path) and self.table_rows is None:
            stream = self._stream()
            asked = {right: stream.field(left) for left, right in self.pairs}
            self.table_rows = TableFile(self.table, asked).read()
        if self.table_rows is not None:
            self._join = self._made(self.table_rows)

    def on_batch(self, batch: Batch) -> Any:
        if self._input is not None and self.input == self._input:
            if self.table_rows is None:  # else a snapshot has brought it already
                self._parts.append(batch.compact())
            return None
        if self._join is None:
            self._join = self._made(self._whole_table())
        return self._join(batch) if batch.rows else None

    def link(self, chain: Linking, rows: LinkedRows) -> LinkedRows:
        """`on_batch` as a step of a chain, once the table is known; UnlinkedError: it is none."""
        if self._join is None:
            self._join = self._made(self._whole_table())
        return self._join.link(chain, rows)

    @property
    def state_bytes(self) -> int:
        """Of the table and its lookup."""
        return self._join.nbytes if self._join is not None else sum(part.nbytes for part in self._parts)

    def snapshot(self) -> Any:
        """A table that came from a source actor: all its rows, since no barrier passes before it is complete. A file
        is read again."""
        if self._input is None or (self.table_rows is None and not self._parts):
            return None
        return to_bytes(self._whole_table())  # the stream may not have begun

    def restore(self, snapshot: Any) -> None:
        if snapshot is not None:
            schema = self.context.inputs[self._input or ""]
            self.table_rows = decode(schema, from_bytes(snapshot))

    def _stream(self) -> Schema:
        return next(iter(self.context.inputs.values()))

    def _whole_table(self) -> Batch:
        if self.table_rows is None and self._parts:
            self.table_rows, self._parts = Batch.concat(self._parts), []
        elif self.table_rows is None:
            schema = self.context.inputs[self._input or ""]
            self.table_rows = Batch.of_columns(schema, {name: [] for name in schema.names()})
        return self.table_rows

    def _made(self, table: Batch) -> TableJoin:
        stream = self._stream()
        schema, names = joined_schema(stream, table.schema, self.pairs, self.how)
        return TableJoin(table, self.pairs, stream, schema, names, outer=self.how == "left")


def joined_schema(stream: Schema, table: Schema, pairs: Pairs, how: str) -> tuple[Schema, list[str]]:
    """What comes out, and which of the table's fields do: all but its keys."""
    added = others(table, {right for _, right in pairs}, stream.names(), nullable=how == "left")
    fields = stream.user.fields + tuple(field for _, field in added)
    return Schema(stream.name, fields, stream.event_time, stream.time_unit), [name for name, _ in added]


def _schemas(keys: dict[str, Any], inputs: list[Schema]) -> tuple[Schema, Schema]:
    """Of the stream and of the table. Raises what a file that is missing or damaged makes its reader raise."""
    if type(keys["table"]) is str:
        return inputs[0], inputs[-1]
    asked = {right: inputs[0].field(left) for left, right in key_pairs(keys["on"]) if left in inputs[0]}
    return inputs[0], TableFile(keys["table"], asked).schema
