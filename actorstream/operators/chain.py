"""Linking: what several operators do, one behind the other, as one chain of steps (native/chain.py) over the columns of a
batch. Decides which columns are gathered and when; runs nothing.

An operator without a state takes part with `link(chain, rows)`: it adds its steps, and returns the rows that it leaves. One
that adds rows to a state may be the last, with `link_end` (`ChainEnd` of chain_end.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from actorstream.events.column import Column
from actorstream.events.fields import Field, Kind
from actorstream.native.chain import (
    ADD,
    EXPAND,
    FIND,
    GATHER,
    MATCH,
    MOST,
    NONE,
    RUN,
    TEXT,
    USER,
    Chain,
    ChainStep,
    OutputColumn,
)
from actorstream.native.chain_text import TextOperation
from actorstream.native.lookup import address_of_kinds, kinds
from actorstream.operators.linked import Linked

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.native.userfn import UserFunction


MOST_TIMES = 64
"""A batch may become so many times as large by a table with several rows of a key; a larger one goes through the hooks."""


class UnlinkedError(Exception):
    """Something that is no step: it is to be called by itself."""


class LinkedColumn(NamedTuple):
    """A column and the row set that it is aligned with; `field`: of its values."""

    number: int
    rows: int
    field: Field


class LinkedRows(NamedTuple):
    """Rows between two operators: their set, their schema, and where each field is held."""

    number: int
    schema: Schema
    columns: dict[str, LinkedColumn]


def renamed(own: Field, field: Field) -> Field:
    """`field`, as which the values of `own` stand; UnlinkedError if they are to be converted."""
    if own.kind is not field.kind or own.categories != field.categories or own.nullable > field.nullable:
        raise UnlinkedError
    return field


class Linking:
    """Steps that are being put together for batches of one schema.

    Args:
        grows: whether a batch may become larger on the way.

    Attributes:
        rows: those of the batch.
        member: the number of the operator that is being linked.
    """

    def __init__(self, schema: Schema, *, grows: bool = False) -> None:
        self.member, self._grows = 0, grows
        self._steps: list[ChainStep] = []
        self._rooms: dict[int, OutputColumn] = {}
        """Column -> how much is written."""
        self._tables: dict[int, Column] = {}
        self._given: dict[int, str] = {}
        """Column -> the batch's field."""
        self._count = self._texts = 0
        self._times: list[int] = [1]
        """Set -> rows that it may have, as a multiple of the batch's."""
        self._links: list[dict[int, int]] = [{}]
        """Set -> {set that its rows come from: column of the rows' numbers in it}, the stream's first."""
        self._outer: set[int] = set()
        """Sets of a table, of which a row may be missing."""
        self._aligned: dict[tuple[int, int], int] = {}
        self._indexes: dict[tuple[int, int], int] = {}
        self._ends: list[ChainStep] = []
        """What changes a state: behind all that can fail."""
        self._keeps: list[Any] = []
        held = {field.name: LinkedColumn(self._number(), 0, field) for field in schema.fields}
        self._given = {each.number: name for name, each in held.items()}
        self.rows = LinkedRows(0, schema, held)

    # -- what operators add

    def column(self, rows: LinkedRows, name: str) -> int:
        """The column of a field, aligned with the rows."""
        return self.aligned(rows.columns[name], rows.number)

    def written(self, rows: int, width: int, nullable: bool) -> int:
        """A column that a step writes, for the rows of a set."""
        return self._written(self._times[rows], width, nullable)

    def _written(self, times: int, width: int, nullable: bool) -> int:
        number = self._number()
        self._rooms[number] = OutputColumn(width, nullable, times)
        return number

    def run(
        self,
        rows: LinkedRows,
        program: Any,
        inputs: Sequence[int],
        outputs: Sequence[int],
        counted: int | None,
    ) -> int | None:
        """An expression's program; outputs: 2 * column, + 1 for its validity. `counted`: the output that lists rows: the
        set of these is returned."""
        made = None
        if counted is not None:
            made = self._set({rows.number: outputs[counted] >> 1}, self._times[rows.number])
        self._add(RUN, rows.number, made, counted or 0, inputs, outputs, program.address)
        self._keeps.append(program)
        return made

    def user(
        self, rows: LinkedRows, function: UserFunction, names: Sequence[str], field: Field | None
    ) -> tuple[int, int | None]:
        """A function in C over fields: the column of `field` that it computes; without one also the set of rows that it keeps."""
        self._keeps.append(function)
        inputs = [self.column(rows, name) for name in names]
        if field is not None:
            found = self.written(rows.number, field.width, field.nullable)
            is_bool = int(field.kind is Kind.BOOL)
            self._add(USER, rows.number, None, is_bool, inputs, [found], function.address)
            return found, None
        found, index = self.written(rows.number, 1, False), self.written(rows.number, 4, False)
        made = self._set({rows.number: index}, self._times[rows.number])
        self._add(USER, rows.number, made, 0, inputs, [found, index], function.address)
        return found, made

    def text(
        self, rows: int, operation: TextOperation, inputs: Sequence[int], *, nullable: bool, width: int = 0
    ) -> int:
        """A column of texts for the rows of a set, or with `width` 1 of bools about texts; `inputs` are aligned with it."""
        self._keeps.append(operation)
        made = self.written(rows, width, nullable)
        self._add(TEXT, rows, None, self._texts, inputs, [made], operation.address)
        self._texts += not width
        return made

    def look_up(
        self, rows: LinkedRows, lookup: Any, hows: Any, names: Sequence[str], *, outer: bool
    ) -> tuple[int, int]:
        """A table's rows by the fields that are their keys: (the set that is left, the set of the table's rows)."""
        if not lookup.unique and not self._grows:
            raise UnlinkedError
        table, times = self._set({}, 1), self._times[rows.number]
        self._keeps += [lookup, hows]
        key = rows.columns[names[0]]
        if len(names) == 1 and lookup.unique and not outer and self._is_only_selected(rows, key):
            index = self._index(key.rows, rows.number)
            first, right = self._written(times, 4, False), self._written(times, 4, False)
            made = self._set({key.rows: first, table: right}, times)
            inputs, how = [key.number, index], address_of_kinds(hows)
            self._add(MATCH, rows.number, made, 1, inputs, [first, right], lookup.address, how)
            return made, table
        keys = [self.column(rows, name) for name in names]
        if outer:
            self._outer.add(table)
        if not lookup.unique:
            more = min(times * lookup.most, max(times, MOST_TIMES))
            first, right = self._written(more, 4, False), self._written(more, 4, False)
            made = self._set({rows.number: first, table: right}, more)
            outputs, how = [first, right, self._written(times, 4, False)], address_of_kinds(hows)
            self._add(EXPAND, rows.number, made, int(outer), keys, outputs, lookup.address, how, more)
            return made, table
        first = self._written(times, 4, False)
        if outer:
            self._links[rows.number][table] = first
            self._add(FIND, rows.number, None, 0, keys, [first], lookup.address, address_of_kinds(hows))
            return rows.number, table
        right = self._written(times, 4, False)
        made = self._set({rows.number: first, table: right}, times)
        self._add(MATCH, rows.number, made, 0, keys, [first, right], lookup.address, address_of_kinds(hows))
        return made, table

    def of_table(self, column: Column, rows: int, field: Field) -> LinkedColumn:
        """A table's column; `rows`: the set of its rows."""
        own = column.field
        if own.kind is not field.kind or own.categories != field.categories:
            raise UnlinkedError
        number = self._number()
        self._tables[number] = column
        return LinkedColumn(number, rows, field)

    def add(self, rows: LinkedRows, operands: Sequence[tuple[LinkedColumn | None, int]], state: Any) -> None:
        """Adds the rows to a state (`as_chain_state` at `state.address`), of each operand its column and how it is read: a step
        behind all others."""
        inputs: list[int] = []
        hows: list[int] = []
        for held, how in operands:
            number, index, few = NONE, NONE, 0
            if held is not None and (held.rows == rows.number or held.rows in self._outer):
                number = self.aligned(held, rows.number)
            elif held is not None:
                number, index = held.number, self._index(held.rows, rows.number)
                few = self._tables[number].length if number in self._tables else 0
            inputs += [number, index]
            hows += [how, few]
        made = kinds(hows)
        self._keeps += [state, made]
        self._add(ADD, rows.number, None, 0, inputs, (), state.address, address_of_kinds(made))
        self._ends.append(self._steps.pop())

    # -- rows and columns

    def _is_only_selected(self, rows: LinkedRows, key: LinkedColumn) -> bool:
        """Whether the rows are some of those that a key column has, and every other column is found from these, too."""
        if key.rows == rows.number:
            return False
        found, left = {key.rows}, [key.rows]
        while left:
            left = [each for of in left for each in self._links[of] if each not in found]
            found.update(left)
        return all(each.rows in found for each in rows.columns.values())

    def _number(self) -> int:
        self._count += 1
        return self._count - 1

    def _set(self, links: dict[int, int], times: int) -> int:
        self._links.append(links)
        self._times.append(times)
        return len(self._links) - 1

    def _add(
        self,
        kind: int,
        rows: int,
        makes: int | None,
        counted: int,
        inputs: Sequence[int],
        outputs: Sequence[int],
        what: int = 0,
        how: int = 0,
        room: int = 1,
    ) -> None:
        if max(len(inputs), len(outputs)) > MOST:
            raise UnlinkedError
        made = NONE if makes is None else makes
        self._steps.append(
            ChainStep(kind, self.member, rows, made, counted, tuple(inputs), tuple(outputs), what, how, room)
        )

    def aligned(self, held: LinkedColumn, rows: int) -> int:
        """A column, aligned with a set of rows."""
        if held.rows == rows:
            return held.number
        found = self._aligned.get((held.number, rows))
        if found is None:
            index = self._index(held.rows, rows)
            nullable = held.field.nullable or held.rows in self._outer
            if held.field.dtype is None:
                take = self.text(rows, TextOperation("TAKE"), [held.number, index], nullable=nullable)
                return self._aligned.setdefault((held.number, rows), take)
            found = self._aligned[held.number, rows] = self.written(rows, held.field.width, nullable)
            self._add(GATHER, rows, None, int(nullable), [held.number, index], [found])
        return found

    def _index(self, of: int, at: int) -> int:
        """The column, aligned with the set `at`, of the rows' numbers in the set `of`, which they come from."""
        links = self._links[at]
        if of in links:
            return links[of]
        found = self._indexes.get((of, at))
        if found is None:
            before = next(iter(links))  # of the stream: a table is not reached through another
            inner = self._index(of, before)
            found = self._indexes[of, at] = self.written(at, 4, False)
            self._add(GATHER, at, None, 0, [inner, links[before]], [found])
        return found

    # -- the end

    def finished(self, rows: LinkedRows, ends: Sequence[int]) -> Linked:
        """The chain, with rows that come out. `ends`: the set that each member leaves. UnlinkedError: a column that comes
        out cannot be had without the batches in between."""
        outputs: dict[str, int] = {}
        renamed: dict[str, str] = {}
        for field in rows.schema.fields:
            held = rows.columns[field.name]
            given = self._given.get(held.number)
            if given == field.name and held.field == field:
                continue  # the batch's own
            own, nullable = held.field, held.field.nullable or held.rows in self._outer
            if own.kind is not field.kind or own.categories != field.categories or nullable > field.nullable:
                raise UnlinkedError
            if own.dtype is None and (held.rows != rows.number or given is None):
                raise UnlinkedError  # the next run overwrites the bytes of texts
            number = self.aligned(held, rows.number)
            if number in self._given:
                renamed[field.name] = self._given[number]
            else:
                outputs[field.name] = number
        index = self._index(0, rows.number) if rows.number else None
        given_numbers = self._needed()
        returned = list(dict.fromkeys([*outputs.values(), *([] if index is None else [index])]))
        made = self._made(given_numbers, returned)
        fields = {name: (rows.schema.field(name), returned.index(number)) for name, number in outputs.items()}
        at = None if index is None else returned.index(index)
        names = [self._given[number] for number in given_numbers]
        return Linked(made, rows.schema, rows.number, names, fields, renamed, at, list(ends))

    def ended(self, *, needed: bool) -> tuple[Chain, list[str]]:
        """The chain of which no rows come out, since steps that `add` has added take them in; and the fields that it is given, in
        order: all fields of the batch, or those that are `needed`."""
        self._steps += self._ends
        given = self._needed() if needed else list(self._given)
        return self._made(given, []), [self._given[number] for number in given]

    def taken_in(self, ends: Sequence[int]) -> Linked:
        """The same for batches that come one by one. `ends`: as for `finished`."""
        made, names = self.ended(needed=True)
        return Linked(made, None, 0, names, {}, {}, None, list(ends))

    def _needed(self) -> list[int]:
        """The batch's columns that steps read."""
        used = {number for step in self._steps for number in step.inputs}
        return [number for number in self._given if number in used]

    def _made(self, given: list[int], returned: list[int]) -> Chain:
        """The chain that is given some of the batch's columns, and returns some of those that are written."""
        used = {number for step in self._steps for number in step.inputs}
        between = [number for number in self._rooms if number not in returned]
        tables = [number for number in self._tables if number in used]
        place = {number: at for at, number in enumerate([*given, *returned, *between, *tables])}
        place[NONE] = NONE

        def moved(step: ChainStep) -> ChainStep:
            if step.kind == RUN:
                outputs = tuple(2 * place[each >> 1] + (each & 1) for each in step.outputs)
            else:
                outputs = tuple(place[each] for each in step.outputs)
            return step._replace(inputs=tuple(place[each] for each in step.inputs), outputs=outputs)

        return Chain(
            [moved(step) for step in self._steps],
            given=len(given),
            returned=[self._rooms[number] for number in returned],
            between=[self._rooms[number] for number in between],
            tables=[self._tables[number].descriptor for number in tables],
            sets=len(self._links),
            members=self.member + 1,
            texts=self._texts,
            keeps=(self._keeps, list(self._tables.values())),
        )
