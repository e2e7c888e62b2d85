"""Text that expressions compute: whole columns in Arrow, or by a step of a chain, before the program that uses them. Imports
pyarrow on first use only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.arrow import arrow_type
from actorstream.events.arrow_arrays import arrow_array, arrow_scalar, arrow_texts
from actorstream.events.column import Column
from actorstream.events.fields import INTEGERS, Field, Kind
from actorstream.events.values import FIRST_TIME, LAST_TIME, unpack_fixed
from actorstream.native.chain_text import TextOperation
from actorstream.operators.chain import UnlinkedError
from actorstream.operators.expressions.lowering import Guards
from actorstream.operators.expressions.nodes import Apply, Constant, Node
from actorstream.operators.expressions.tables import Table

if TYPE_CHECKING:
    from actorstream.operators.chain import LinkedRows, Linking
    from actorstream.operators.expressions.plan import Plan


class TextStep:
    """Computes the column of one text-valued node, or of a test that Arrow makes on text."""

    def __init__(self, node: Node, guards: Guards, text: str) -> None:
        from actorstream.operators.expressions.plan import Plan

        self.node, self.field = node, node.type.field("value")
        self.plan: Plan = Plan(guards)
        self.make: Callable[[Any, list[Any], int], Any]
        if isinstance(node, Constant):
            value = node.value
            self.make = lambda field, columns, rows: _repeated(field, value, rows)
            return
        assert isinstance(node, Apply)
        self.make = _FUNCTIONS[node.operation](node)
        inner = guards
        for number, argument in enumerate(node.arguments):
            self.plan.add_column(argument, argument.type.field(f"a{number}"), text, inner)
            inner = _guarded(node, number, guards, inner)

    def evaluate(self, batch: Any) -> Column:
        """The column for the rows of a batch. RowErrors: what it is computed from fails for some."""
        columns = self.plan.run(batch)
        found = self.make(self.field, columns, batch.rows)
        return found if isinstance(found, Column) else Column.from_arrow(self.field, found)

    def link(self, chain: Linking, rows: LinkedRows) -> int:
        """`evaluate` as a step of a chain: the column. UnlinkedError: it is none."""
        inputs = [
            chain.aligned(each, rows.number)  # type: ignore[arg-type]
            for each in (self.plan.link(chain, rows) if isinstance(self.node, Apply) else ())
        ]
        operation = _operation(self.node)
        if operation is None:
            raise UnlinkedError
        width, nullable = int(self.field.kind is Kind.BOOL), self.field.nullable
        return chain.text(rows.number, operation, inputs, nullable=nullable, width=width)


def _operation(node: Node) -> TextOperation | None:
    """What C does for a node; None: it does not."""
    if isinstance(node, Constant):
        return _of_table("CONSTANT", [node.value], node.type.kind)
    assert isinstance(node, Apply)
    kind = node.arguments[0].type.kind
    match node.operation:
        case "lower" | "upper" | "concat" | "coalesce" | "if":
            return TextOperation(node.operation.upper())
        case "labels":
            return _of_table("LABEL", [*node.arguments[0].type.labels, None])
        case "lookup":
            return _of_table("LABEL", [*node.extra.values, node.extra.at_null], node.type.kind)
        case "text_in":
            return _of_table("IN", sorted(node.extra), kind)
        case "to_text" if kind is Kind.BOOL:
            return _of_table("LABEL", ["false", "true", None])
        case "to_text" if kind in INTEGERS:
            return TextOperation("DIGITS", signed=kind.value.startswith("int"))
    return None


def _of_table(name: str, values: list[Any], kind: Kind | None = Kind.STRING) -> TextOperation:
    assert kind is not None
    table = Column.from_values(Field("table", kind, nullable=True), values)
    return TextOperation(name, table=table.descriptor, size=len(values), keeps=table)


def _guarded(node: Apply, number: int, outer: Guards, before: Guards) -> Guards:
    """The guards of the argument after this one."""
    argument = node.arguments[number]
    if node.operation == "if":
        return (*outer, (node.arguments[0], "true" if number == 0 else "not true"))
    if node.operation == "coalesce":
        missing = Apply(argument.type, argument.start, argument.end, "is_null", (argument,))
        return (*before, (missing, "true"))
    return outer


def _repeated(field: Field, value: str | bytes | None, rows: int) -> Column:
    if value is None:
        import pyarrow as pa

        return Column.from_arrow(field, pa.nulls(rows, arrow_type(field)))
    data = value.encode() if isinstance(value, str) else value
    wide = len(data) * rows > 2**31 - 1
    offsets = np.arange(rows + 1, dtype=np.int64 if wide else np.int32) * len(data)
    return Column(field, rows, None, np.frombuffer(data * rows, np.uint8), offsets)


Make = Callable[[Field, list[Column], int], Any]


def _arrow(function: Callable[[Any, list[Any]], Any]) -> Callable[[Apply], Make]:
    """A step of a function of (pyarrow.compute, Arrow arrays)."""

    def prepared(node: Apply) -> Make:
        def make(field: Field, columns: list[Column], rows: int) -> Any:
            import pyarrow.compute as pc

            return function(pc, [column.arrow() for column in columns])

        return make

    return prepared


def _concat(pc: Any, arrays: list[Any]) -> Any:
    import pyarrow as pa

    if len({array.type for array in arrays}) > 1:
        arrays = [array.cast(pa.large_string()) for array in arrays]
    return pc.binary_join_element_wise(*arrays, arrow_texts([""], arrays[0].type)[0])


def _select(pc: Any, arrays: list[Any]) -> Any:
    """`if` and `coalesce`: the arrays in one type of offsets."""
    import pyarrow as pa

    wide = {pa.large_string(), pa.large_binary()}
    kinds = {array.type for array in arrays}
    if len(kinds) > 1:
        target = next(kind for kind in kinds if kind in wide)
        arrays = [array.cast(target) for array in arrays]
    return arrays


def _if(node: Apply) -> Make:
    def make(field: Field, columns: list[Column], rows: int) -> Any:
        import pyarrow.compute as pc

        condition = columns[0]
        true = condition.data[condition.first : condition.first + rows] & condition.valid()
        then, other = _select(pc, [column.arrow() for column in columns[1:]])
        return pc.if_else(arrow_array(true), then, other)

    return make


def _labels(node: Apply) -> Make:
    return lambda field, columns, rows: columns[0].arrow().dictionary_decode()


def _lookup(node: Apply) -> Make:
    """Text by the code of a category."""
    table: Table = node.extra

    def make(field: Field, columns: list[Column], rows: int) -> Any:

        (coded,) = columns
        codes = coded.data[coded.first : coded.first + rows]
        last = len(table.values)
        if coded.validity is not None:
            codes = np.where(coded.valid(), codes, last)
        return arrow_texts([*table.values, table.at_null], arrow_type(field)).take(arrow_array(codes))

    return make


def _to_text(node: Apply) -> Make:
    kind = node.arguments[0].type.kind

    def make(field: Field, columns: list[Column], rows: int) -> Any:
        (column,) = columns
        if kind is Kind.BOOL:
            import pyarrow.compute as pc

            true = arrow_array(column.data[column.first : column.first + rows], column.valid())
            return pc.if_else(true, arrow_scalar("true"), arrow_scalar("false"))
        if kind in (Kind.FLOAT32, Kind.FLOAT64):
            return [None if value is None else repr(value) for value in column.tolist()]
        if kind is Kind.DATETIME:
            # rows that are not asked for have any value
            times = np.clip(column.data[column.first : column.first + rows], FIRST_TIME, LAST_TIME)
            found = unpack_fixed(column.field, times)
            return [
                value.isoformat().replace("+00:00", "Z") if there else None
                for value, there in zip(found, column.valid().tolist())
            ]
        return column.arrow().cast("string")

    def column_of(field: Field, columns: list[Column], rows: int) -> Any:
        found = make(field, columns, rows)
        return Column.from_values(field, found) if isinstance(found, list) else found

    return column_of


def _text_in(node: Apply) -> Make:
    values = node.extra

    def make(field: Field, columns: list[Column], rows: int) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        array = columns[0].arrow()
        found = pc.is_in(array, value_set=arrow_texts(values, array.type))
        return pc.if_else(array.is_valid(), found, pa.nulls(1, found.type)[0]) if array.null_count else found

    return make


_FUNCTIONS: dict[str, Callable[[Apply], Make]] = {
    "lower": _arrow(lambda pc, arrays: pc.utf8_lower(arrays[0])),
    "upper": _arrow(lambda pc, arrays: pc.utf8_upper(arrays[0])),
    "concat": _arrow(_concat),
    "coalesce": _arrow(lambda pc, arrays: pc.coalesce(*_select(pc, arrays))),
    "if": _if,
    "labels": _labels,
    "lookup": _lookup,
    "to_text": _to_text,
    "text_in": _text_in,
}
