"""Checked nodes to steps over registers. Values are registers with the mask of rows where they are not null; how an
operation makes one of others is a rule (`rules`), and which rows it is asked for are guards."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from actorstream.events.fields import Kind
from actorstream.native.expression import NONE
from actorstream.operators.expressions.assembler import Assembler, bits
from actorstream.operators.expressions.nodes import Apply, Constant, FieldValue, Node
from actorstream.operators.expressions.types import Type, stored_as

Guard = tuple[Node, str]
"""A boolean, and for which of its values what is behind it is asked for: "true", "not true" or "not false"."""
Guards = tuple[Guard, ...]
Validity = Callable[[], int] | None
"""Makes the mask of rows that are not null; None: none is."""


class Lowered(NamedTuple):
    """A value in a register: a vector, or of a bool the mask of rows where it is true (never of one that is null)."""

    at: int
    valid: Validity


class Words(NamedTuple):
    """Text: a column of the program, or (column NONE) one constant."""

    column: int
    constant: bytes
    valid: Validity


class FieldSource(NamedTuple):
    """A column of the program that is a field."""

    name: str
    plain: bool
    """Fixed width and never null."""


class StepSource(NamedTuple):
    """A column of the program that is computed for it, outside of it: text."""

    node: Node
    guards: Guards
    text: str


Source = FieldSource | StepSource
Rule = Callable[["Lowering", Apply, Guards], Lowered]


class Lowering:
    """Lowers nodes into one program, which shares what they have in common."""

    def __init__(self, rules: Mapping[str, Rule]) -> None:
        self.rules = rules
        self.code = Assembler()
        self.sources: list[Source] = []
        self.text = ""
        """The expression that is being lowered, for errors of rows."""
        self._asked: dict[Guards, int | None] = {}
        """The rows that guards leave, of all guards so far: those behind them ask for the same again and again."""

    # -- what others call

    def field(self, node: FieldValue) -> int:
        """The number of the program's column that is a field."""
        return self.column(FieldSource(node.name, node.type.field(node.name).plain))

    def column(self, source: Source) -> int:
        """The number of a column of the program."""
        if source not in self.sources:
            self.sources.append(source)
        return self.sources.index(source)

    def lower(self, node: Node, guards: Guards = ()) -> Lowered:
        """A value that is not text."""
        if isinstance(node, Constant):
            return self._constant(node)
        if isinstance(node, FieldValue):
            return self._field(node)
        assert isinstance(node, Apply)
        before = self.code.origin
        self.code.origin = (self.text, node)
        found = self.rules[node.operation](self, node, guards)
        self.code.origin = before
        return found

    def words(self, node: Node, guards: Guards = (), whole: bool = False) -> Words:
        """A value that is text or bytes. `whole`: as a column, also of a constant."""
        if isinstance(node, Constant) and not whole:
            value = node.value.encode() if isinstance(node.value, str) else node.value
            return Words(NONE, value, None)
        column = self.field(node) if isinstance(node, FieldValue) else self.step(node, guards)
        return Words(column, b"", self.valid_of(column) if node.type.nullable else None)

    def step(self, node: Node, guards: Guards) -> int:
        """The number of the program's column that is computed for a node."""
        return self.column(StepSource(node, guards, self.text))

    def valid_of(self, column: int) -> Validity:
        return lambda: self.code.emit("VALID", column)

    def validity(self, node: Node, guards: Guards) -> Validity:
        """Where a node of any type is not null."""
        if node.type.kind in (Kind.STRING, Kind.BYTES, Kind.MSGPACK):
            return self.words(node, guards, whole=True).valid
        return self.lower(node, guards).valid

    def active(self, guards: Guards, *validities: Validity) -> int:
        """The rows that an operation is asked for: NONE, all."""
        known = len(guards)
        while known and guards[:known] not in self._asked:
            known -= 1
        asked = self._asked[guards[:known]] if known else None
        for number in range(known, len(guards)):
            asked = self.code.both(asked, self._guard(guards[number], guards[:number]))
            self._asked[guards[: number + 1]] = asked
        for valid in validities:
            asked = self.code.both(asked, None if valid is None else valid())
        return NONE if asked is None else asked

    # -- leaves

    def _constant(self, node: Constant) -> Lowered:
        valid = (lambda: self.code.all(False)) if node.value is None else None
        if node.type.kind is Kind.BOOL or node.type.kind is None:
            return Lowered(self.code.all(bool(node.value)), valid)
        value = 0 if node.value is None else node.value  # `or 0` would lose the sign of -0.0
        return Lowered(self.code.emit("CONSTANT", x=bits(value) if node.type.is_float else value), valid)

    def _field(self, node: FieldValue) -> Lowered:
        column = self.field(node)
        valid = self.valid_of(column) if node.type.nullable else None
        kind = stored_as(node.type.field(node.name))
        if node.type.kind is Kind.BOOL:
            true = self.code.emit("TEST", column, kind=kind, x=1, y=255)
            return self.truth(true, valid)
        return Lowered(self.code.emit("LOAD", column, kind=kind), valid)

    def _guard(self, guard: Guard, outer: Guards) -> int:
        node, wanted = guard
        value = self.lower(node, outer)
        if wanted == "true":
            return value.at
        if wanted == "not true":
            return self.code.emit("NOT", value.at)
        return self.code.emit("NOT", self.false(value))

    # -- parts of rules

    def truth(self, raw: int, valid: Validity) -> Lowered:
        """A bool of a mask that has any value where the bool is null."""
        return Lowered(raw if valid is None else self.code.emit("AND", raw, valid()), valid)

    def false(self, value: Lowered) -> int:
        """Where a bool is false, and not null."""
        if value.valid is None:
            return self.code.emit("NOT", value.at)
        return self.code.emit("AND_NOT", value.valid(), value.at)

    def all_valid(self, *values: Lowered | Words) -> Validity:
        """Where no value is null."""
        validities = [each.valid for each in values if each.valid is not None]
        if not validities:
            return None

        def both() -> int:
            found: int | None = None
            for valid in validities:
                found = self.code.both(found, valid())
            assert found is not None
            return found

        return both

    def select(self, condition: int, then: int, other: int) -> int:
        return self.code.emit("SELECT", then, other, condition)

    def choose(self, condition: int, then: int, other: int) -> int:
        """The same of masks."""
        emit = self.code.emit
        return emit("OR", emit("AND", then, condition), emit("AND_NOT", other, condition))


def is_text(type_: Type) -> bool:
    """Whether values of a type are columns of the program, and no registers."""
    return type_.kind in (Kind.STRING, Kind.BYTES, Kind.MSGPACK)
