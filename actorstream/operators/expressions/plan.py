"""Plans: one program over the columns of a batch, the text that it needs computed before, and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from actorstream.events.column import Column
from actorstream.events.fields import Field, Kind
from actorstream.native.address import address_of
from actorstream.native.expression import LANES, ExpressionProgram
from actorstream.operators.chain import LinkedColumn, LinkedRows, Linking, UnlinkedError, renamed
from actorstream.operators.expressions.failures import Origin, row_errors
from actorstream.operators.expressions.lowering import FieldSource, Guards, Lowering, is_text
from actorstream.operators.expressions.nodes import FieldValue, Node
from actorstream.operators.expressions.rules import RULES
from actorstream.operators.expressions.steps import TextStep
from actorstream.operators.expressions.types import stored_as
from actorstream.operators.prepared import Prepared

empty = np.empty


class RowColumns(Protocol):
    """What a plan needs of a batch."""

    @property
    def rows(self) -> int: ...
    def column(self, name: str, /) -> Column: ...


Result = Callable[[RowColumns, list[Column], list[np.ndarray], ExpressionProgram], Any]
"""Makes what a plan was asked for: of the batch, the program's columns, its outputs, and itself after it has run."""


class Plan:
    """What several nodes need, computed in one pass over the rows. Add, then run again and again, in one thread.

    guards: the rows that everything in the plan is asked for; others cannot fail."""

    def __init__(self, guards: Guards = ()) -> None:
        self._guards = guards
        self._lowering = Lowering(RULES)
        self._results: list[Result] = []
        self._made: list[tuple[str, Any, Any]] = []
        """Of each result for a chain: ("field", its name, field), ("column", field, outputs), ("rows", None, outputs),
        ("text", its column, field)."""
        self._outputs: list[Any] = []
        """The dtype of each output of the program; None: bits."""
        self._program: ExpressionProgram | None = None
        self._origins: list[Origin] = []
        self._plain: list[str] | None = None
        """The names of the program's columns, if all of them are fields of fixed width that are never null."""
        self._makers: list[Callable[[RowColumns], Column]] = []
        self._is_kernel = False
        """Whether all of it is in the program: no text is computed before, and something comes of it."""
        self._twins: list[ExpressionProgram] = []

    # -- what is asked for

    def add_column(self, node: Node, field: Field, text: str, guards: Guards | None = None) -> None:
        """A column of a node's values, as a column of `field` (of the node's type)."""
        guards, lowering = self._begin(text, guards)
        if isinstance(node, FieldValue):
            name = node.name
            self._made.append(("field", name, field))
            self._results.append(lambda batch, columns, outs, program: batch.column(name).renamed(field))
            return
        if is_text(node.type):
            at = lowering.words(node, guards, whole=True).column
            self._made.append(("text", at, field))
            self._results.append(lambda batch, columns, outs, program: columns[at].renamed(field))
            return
        value = lowering.lower(node, guards)
        data = self._output(field.dtype)
        if field.kind is Kind.BOOL:
            lowering.code.store("STORE_BOOLS", value.at, data)
        else:
            lowering.code.store("STORE", value.at, data, stored_as(field), field.width == 8)
        if value.valid is None:
            self._made.append(("column", field, (data,)))
            self._results.append(
                lambda batch, columns, outs, program: Column(field, batch.rows, None, _kept(outs[data]), None)
            )
            return
        there = self._output(None)
        lowering.code.store("STORE_BITS", value.valid(), there)
        self._made.append(("column", field, (data, there)))
        self._results.append(
            lambda batch, columns, outs, program: Column(
                field, batch.rows, outs[there], _kept(outs[data]), None
            )
        )

    def add_mask(self, node: Node, text: str) -> None:
        """An array of bools, of a bool node: True where it is true."""
        guards, lowering = self._begin(text, None)
        output = self._output(np.dtype(np.bool_))
        lowering.code.store("STORE_BOOLS", lowering.lower(node, guards).at, output)
        self._made.append(("mask", None, None))
        self._results.append(lambda batch, columns, outs, program: outs[output])

    def add_rows(self, node: Node, text: str) -> None:
        """The numbers of the rows where a bool node is true: uint32, ascending."""
        guards, lowering = self._begin(text, None)
        output = self._output(np.dtype(np.uint32))
        lowering.code.store("STORE_ROWS", lowering.lower(node, guards).at, output)
        self._made.append(("rows", None, (output,)))
        self._results.append(lambda batch, columns, outs, program: outs[output][: program.count(output)])

    def _begin(self, text: str, guards: Guards | None) -> tuple[Guards, Lowering]:
        self._lowering.text = text
        return self._guards if guards is None else guards, self._lowering

    def _output(self, dtype: Any) -> int:
        self._outputs.append(dtype)
        return len(self._outputs) - 1

    # -- running

    def run(self, batch: RowColumns) -> list[Any]:
        """What was added, in order, for the rows of a batch. RowErrors if some rows have no value."""
        program = self._program
        if program is None:
            program = self._prepare()
        rows = batch.rows
        columns, outs, places = self._lay_out(batch)
        if self._plain is not None:
            done = program.run_plain(rows, places)
        else:
            done = not self._origins or program.run(rows, [column.descriptor for column in columns], places)
        if not done:
            raise row_errors(program.failures(rows), self._origins, batch)
        results = self._results
        if len(results) == 1:
            return [results[0](batch, columns, outs, program)]
        return [result(batch, columns, outs, program) for result in results]

    def prepare(self, batch: RowColumns, finish: Callable[[list[Any]], Any]) -> Prepared | None:
        """`run` as a job of a pool, with `finish` to be called on what it gives; None: it is no kernel alone."""
        program = self._program
        if program is None:
            program = self._prepare()
        if not self._is_kernel:
            return None
        twin = self._twins.pop() if self._twins else program.twin()
        columns, outs, places = self._lay_out(batch)
        plain = self._plain is not None
        twin.prepare(batch.rows, None if plain else [column.descriptor for column in columns], places)

        def finished() -> Any:
            found = [result(batch, columns, outs, twin) for result in self._results]
            self._twins.append(twin)
            return finish(found)

        return Prepared(twin.job, finished)

    def link(self, chain: Linking, rows: LinkedRows) -> list[LinkedColumn | int]:
        """`run` as a step of a chain: of each result where it is held, or the set of the rows that were asked for.
        UnlinkedError: it is no step alone."""
        program = self._program
        if program is None:
            program = self._prepare()
        columns = []
        for source in self._lowering.sources:
            if isinstance(source, FieldSource):
                columns.append(chain.column(rows, source.name))
            else:
                step = TextStep(source.node, source.guards, source.text)
                columns.append(step.link(chain, rows))
        written: dict[int, int] = {}
        counted = None
        for what, field, outputs in self._made:
            if what == "column":
                number = chain.written(rows.number, field.width, len(outputs) > 1)
                written |= {output: 2 * number + at for at, output in enumerate(outputs)}
            elif what == "rows" and counted is None:
                (counted,) = outputs
                written[counted] = 2 * chain.written(rows.number, 4, False)
            elif what not in ("field", "text"):
                raise UnlinkedError
        made = None
        if self._outputs:
            places = [written[output] for output in range(len(self._outputs))]
            made = chain.run(rows, program, columns, places, counted)
        found: list[LinkedColumn | int] = []
        for what, one, other in self._made:
            if what == "field":
                found.append(rows.columns[one]._replace(field=renamed(rows.columns[one].field, other)))
            elif what == "text":
                found.append(LinkedColumn(columns[one], rows.number, other))
            elif what == "column":
                found.append(LinkedColumn(written[other[0]] >> 1, rows.number, one))
            else:
                assert made is not None
                found.append(made)
        return found

    def _lay_out(self, batch: RowColumns) -> tuple[list[Column], list[np.ndarray], list[int]]:
        """The columns of a run, what it writes to, and the addresses that it is given."""
        rows = batch.rows
        columns: list[Column] = []
        outs: list[np.ndarray] = []
        places: list[int] = []
        if self._plain is not None:
            for name in self._plain:
                column = batch.column(name)
                columns.append(column)
                places.append(address_of(column.data))
        else:
            columns = [make(batch) for make in self._makers]
        for dtype in self._outputs:
            out = empty(rows, dtype) if dtype is not None else _bits(rows)
            outs.append(out)
            places.append(address_of(out))
        return columns, outs, places

    def _prepare(self) -> ExpressionProgram:
        lowering = self._lowering
        for source in lowering.sources:
            if isinstance(source, FieldSource):
                self._makers.append(_column_of(source.name))
            else:
                self._makers.append(TextStep(source.node, source.guards, source.text).evaluate)
        if self._outputs and all(isinstance(each, FieldSource) and each.plain for each in lowering.sources):
            self._plain = [source.name for source in lowering.sources if isinstance(source, FieldSource)]
        self._is_kernel = bool(self._outputs) and all(
            isinstance(source, FieldSource) for source in lowering.sources
        )
        columns, outputs = len(lowering.sources), len(self._outputs)
        self._program, self._origins = lowering.code.program(columns, outputs)
        return self._program


def _column_of(name: str) -> Callable[[RowColumns], Column]:
    return lambda batch: batch.column(name)


def _bits(rows: int) -> np.ndarray:
    """Memory for a bit a row, in whole blocks."""
    return empty(-(-rows // LANES) * (LANES // 8), np.uint8)


def _kept(values: np.ndarray) -> np.ndarray:
    values.setflags(write=False)
    return values
