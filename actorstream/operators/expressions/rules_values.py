"""How numbers, times and comparisons are lowered, which are null where one of their operands is."""

from __future__ import annotations

import numpy as np

from actorstream.events.fields import Kind
from actorstream.native.expression import kind as native_kind
from actorstream.operators.expressions.assembler import bits
from actorstream.operators.expressions.lowering import Guards, Lowered, Lowering, Rule
from actorstream.operators.expressions.nodes import Apply, Constant, FieldValue, Node
from actorstream.operators.expressions.rules_text import relation
from actorstream.operators.expressions.tables import numbers_of
from actorstream.operators.expressions.types import stored_as


def arithmetic(name: str) -> Rule:
    def rule(to: Lowering, node: Apply, guards: Guards) -> Lowered:
        values = [to.lower(each, guards) for each in node.arguments]
        valid = to.all_valid(*values)
        at = [each.at for each in values]
        if node.type.is_float:
            return Lowered(to.code.emit(f"{name}_F", *at, x=bits(node.extra or 0.0)), valid)
        if name in ("MIN", "MAX"):
            return Lowered(to.code.emit(f"{name}_I", *at), valid)
        return Lowered(to.code.emit(f"{name}_I", *at, active=to.active(guards, valid)), valid)

    return rule


def multiply(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    left, right = node.arguments
    if node.type.is_integer and (isinstance(left, Constant) or isinstance(right, Constant)):
        factor, value = (left, right) if isinstance(left, Constant) else (right, left)
        assert isinstance(factor, Constant)
        return _scaled(to, value, factor.value, guards)
    return arithmetic("MULTIPLY")(to, node, guards)


def scale(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    return _scaled(to, node.arguments[0], node.extra, guards)


def _scaled(to: Lowering, node: Node, factor: int, guards: Guards) -> Lowered:
    """A product with a constant, with the values for which it fits."""
    value = to.lower(node, guards)
    least, most = -(2**63), 2**63 - 1
    if factor > 0:
        least, most = -(-least // factor), most // factor
    elif factor < 0:
        least, most = max(least, -(most // -factor)), min(most, least // factor)
    active = to.active(guards, value.valid)
    at = to.code.emit("SCALE_I", value.at, active=active, x=factor, y=least, size=most & (1 << 64) - 1)
    return Lowered(at, value.valid)


def unary(name: str) -> Rule:
    """One value, never failing."""

    def rule(to: Lowering, node: Apply, guards: Guards) -> Lowered:
        value = to.lower(node.arguments[0], guards)
        return Lowered(to.code.emit(name, value.at), value.valid)

    return rule


def checked(name: str) -> Rule:
    """One value, failing."""

    def rule(to: Lowering, node: Apply, guards: Guards) -> Lowered:
        value = to.lower(node.arguments[0], guards)
        least, most = node.extra[:2] if node.extra else (0, 0)
        active = to.active(guards, value.valid)
        return Lowered(to.code.emit(name, value.at, active=active, x=least, y=most), value.valid)

    return rule


def date_part(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    value = to.lower(node.arguments[0], guards)
    part, per_second = node.extra
    return Lowered(to.code.emit("DATE_PART", value.at, x=native_kind(part), y=per_second), value.valid)


# -- comparisons


def compare(name: str) -> Rule:
    def rule(to: Lowering, node: Apply, guards: Guards) -> Lowered:
        kind = node.arguments[0].type.kind
        if kind in (Kind.STRING, Kind.BYTES):
            return relation(f"TEXT_{name}")(to, node, guards)
        left, right = (to.lower(each, guards) for each in node.arguments)
        sort = "F" if node.arguments[0].type.is_float else "I"
        return to.truth(to.code.emit(f"{name}_{sort}", left.at, right.at), to.all_valid(left, right))

    return rule


def test(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    """A range of values; of a field, without loading it."""
    (tested,) = node.arguments
    if node.extra is None:
        return Lowered(to.code.all(False), to.validity(tested, guards))
    least, most = node.extra
    if tested.type.is_float:
        least, most = bits(least), bits(most)
    if isinstance(tested, FieldValue):
        column = to.field(tested)
        kind = stored_as(tested.type.field(tested.name))
        valid = to.valid_of(column) if tested.type.nullable else None
        return to.truth(to.code.emit("TEST", column, kind=kind, x=least, y=most), valid)
    value = to.lower(tested, guards)
    name = "TEST_F" if tested.type.is_float else "TEST_I"
    return to.truth(to.code.emit(name, value.at, x=least, y=most), value.valid)


def in_(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    (tested,) = node.arguments
    value = to.lower(tested, guards)
    table = np.sort(numbers_of(node.extra, tested.type))  # the instruction searches it for signed values
    return to.truth(to.code.emit("IN_I", value.at, table=table, size=len(table)), value.valid)


def same_codes(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    left, right = (to.lower(each, guards) for each in node.arguments)
    return to.truth(to.code.emit("EQUAL_I", left.at, right.at), to.all_valid(left, right))


def same_bools(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    left, right = (to.lower(each, guards) for each in node.arguments)
    emit = to.code.emit
    differ = emit("OR", emit("AND_NOT", left.at, right.at), emit("AND_NOT", right.at, left.at))
    return to.truth(emit("NOT", differ), to.all_valid(left, right))
