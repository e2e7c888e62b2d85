"""How logic is lowered: three-valued, and whatever else decides itself where it is null."""

from __future__ import annotations

from actorstream.events.fields import Kind
from actorstream.operators.expressions.lowering import Guards, Lowered, Lowering, Rule, Validity
from actorstream.operators.expressions.nodes import Apply
from actorstream.operators.expressions.types import INT


def logic(operation: str) -> Rule:
    """`and`, `or` and `any`: an `or` whose parts are all asked for every row."""
    both = operation == "and"

    def rule(to: Lowering, node: Apply, guards: Guards) -> Lowered:
        values: list[Lowered] = []
        for part in node.arguments:
            values.append(to.lower(part, guards))
            if operation != "any":
                guards = (*guards, (part, "not false" if both else "not true"))
        true = values[0].at
        for each in values[1:]:
            true = to.code.emit("AND" if both else "OR", true, each.at)
        if all(each.valid is None for each in values):
            return Lowered(true, None)

        def valid() -> int:
            false = to.false(values[0])
            for each in values[1:]:
                false = to.code.emit("OR" if both else "AND", false, to.false(each))
            return to.code.emit("OR", true, false)

        return Lowered(true, valid)

    return rule


def not_(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    value = to.lower(node.arguments[0], guards)
    return Lowered(to.false(value), value.valid)


def is_true(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    return Lowered(to.lower(node.arguments[0], guards).at, None)


def is_null(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    valid = to.validity(node.arguments[0], guards)
    return Lowered(to.code.all(False) if valid is None else to.code.emit("NOT", valid()), None)


def if_(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    condition = to.lower(node.arguments[0], guards)
    then = to.lower(node.arguments[1], (*guards, (node.arguments[0], "true")))
    other = to.lower(node.arguments[2], (*guards, (node.arguments[0], "not true")))
    join = to.choose if node.type.kind is Kind.BOOL else to.select
    return Lowered(join(condition.at, then.at, other.at), _either(to, condition.at, then, other))


def _either(to: Lowering, condition: int, then: Lowered, other: Lowered) -> Validity:
    if then.valid is None and other.valid is None:
        return None
    return lambda: to.choose(condition, _mask(to, then.valid), _mask(to, other.valid))


def _mask(to: Lowering, valid: Validity) -> int:
    return to.code.all(True) if valid is None else valid()


def coalesce(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    join = to.choose if node.type.kind is Kind.BOOL else to.select
    found = to.lower(node.arguments[0], guards)
    for before, part in zip(node.arguments, node.arguments[1:]):
        if found.valid is None:
            break
        guards = (*guards, (Apply(INT, before.start, before.end, "is_null", (before,)), "true"))
        there, other = found.valid(), to.lower(part, guards)
        found = Lowered(join(there, found.at, other.at), _or_there(to, there, other.valid))
    return found


def _or_there(to: Lowering, there: int, valid: Validity) -> Validity:
    return None if valid is None else lambda: to.code.emit("OR", there, valid())
