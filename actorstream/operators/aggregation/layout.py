"""Layout: which accumulators a set of aggregates needs, each once, and where their words lie in a cell. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from actorstream.events.schema import Schema
from actorstream.native import cells
from actorstream.native.cells import Accumulator, CellProgram, UserState
from actorstream.native.kernels import FLOAT
from actorstream.native.userfn import function_address
from actorstream.operators.aggregation.outputs import AnyOutput, how_of
from actorstream.operators.expressions import Expression, compile_expression
from actorstream.operators.native_aggregate import NativeOutput

_STEPS: dict[str, tuple[int, ...]] = {
    "count": (),
    "min": (cells.LEAST,),
    "max": (cells.GREATEST,),
    "first": (cells.FIRST,),
    "last": (cells.LAST,),
    "count_distinct": (cells.DISTINCT,),
    "quantile": (cells.VALUES,),
}


class CellLayout:
    """The program of some aggregates.

    Args:
        outputs: what comes out. schema: of the rows that go in; only native aggregates need it.
        timed: whether rows have an event time, which then says what comes first and last.

    Attributes:
        values: the columns that are aggregated, each once.
        program: the accumulators over them.
    """

    def __init__(self, outputs: Sequence[AnyOutput], *, timed: bool, schema: Schema | None = None) -> None:
        self.outputs, self._schema = list(outputs), schema
        self.values: list[Expression] = []
        self._numbers: dict[object, int] = {}
        wanted: dict[Accumulator, None] = {}
        for output in outputs:
            for step in self.steps_of(output):
                wanted[step] = None
        # those of a column together, so that it is read once; a sum first, which is added with the rows
        steps = sorted(wanted, key=lambda step: (step.value, step.what not in (cells.INTEGERS, cells.FLOATS)))
        hows = [how_of(value.type) for value in self.values]
        placed = any(step.what in (cells.FIRST, cells.LAST) for step in steps)
        self.program = CellProgram(hows, steps, orders=1 if timed and placed else 0)
        self._at = {step: number for number, step in enumerate(steps)}

    def steps_of(self, output: AnyOutput) -> list[Accumulator]:
        """The accumulators that an aggregate needs besides the number of rows."""
        if isinstance(output, NativeOutput):
            return [self._native(output)]
        value = output.value
        if value is None or (output.name == "count" and not value.type.nullable):
            return []
        number = self._number(value)
        if output.name in ("sum", "mean"):
            kinds: tuple[int, ...] = (cells.FLOATS if how_of(value.type) == FLOAT else cells.INTEGERS,)
        else:
            kinds = _STEPS[output.name]
        found = [Accumulator(kind, number) for kind in kinds]
        if value.type.nullable:
            found.append(Accumulator(cells.COUNT, number))
        return found

    def _number(self, value: Expression) -> int:
        """Of a value column."""
        number = self._numbers.get(value.node)
        if number is None:
            number = self._numbers[value.node] = len(self.values)
            self.values.append(value)
        return number

    def _native(self, output: NativeOutput) -> Accumulator:
        assert self._schema is not None
        fields = [compile_expression(f"`{field.name}`", self._schema) for field in output.columns]
        columns = tuple(self._number(field) for field in fields)
        given = output.given
        if not output.merges:
            return Accumulator(cells.ROWS, columns[0], arguments=columns)
        begin = 0 if given.begin is None else function_address(given.begin)
        user = UserState(
            output.state_bytes, function_address(given.native), function_address(given.merge), begin
        )
        return Accumulator(cells.USER, columns[0], arguments=columns, user=user)

    def number(self, step: Accumulator) -> int:
        """The place of an accumulator in the program."""
        return self._at[step]
