"""Native aggregates: C functions that aggregate the rows of a window, what they need beside them, and what is wrong with
them. Calls nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from actorstream.errors import Problem, SchemaError
from actorstream.events.fields import Field
from actorstream.events.schema import Schema
from actorstream.native.cells import MOST_STATE
from actorstream.native.userfn import NotAFunctionError, function_address
from actorstream.operators.functions import ALLOWED, NativeFunction
from actorstream.topology.modules import NotFoundError, load_object
from actorstream.topology.suggestions import did_you_mean, listed

KEYS = ("native", "columns", "returns", "merge", "begin", "result", "state")
"""Of the table that stands for one in `aggregates`."""
FUNCTIONS = ("native", "merge", "begin", "result")
_TYPES = "bool, int, int8 ... uint64, float, float32, datetime"


class NativeAggregate(msgspec.Struct, frozen=True):
    """An aggregate in C; what `native` in `aggregates` may name. All functions have one signature (docs/operators.md):

        int32_t function(const void *const *columns, int64_t rows, void *out)

    native: changes the state `out` by `rows` rows of `columns`, none of them null.
    columns: fields of fixed width. returns: the type of the result, such as "float".
    merge: adds the `rows` states of columns[0] to the state `out`. With it rows are aggregated as they come, in two steps
        where that pays; without it they are kept until their window closes, and `native` sees all of them at once.
    begin: fills a new state (no columns, no rows); unless given it begins as zeros.
    result: makes `rows` results out of the states in columns[0]; unless given the state is the result.
    state: bytes of a state, which must hold no pointers; the size of `returns` unless set."""

    native: Any
    columns: Sequence[str] = ()
    returns: str | None = None
    merge: Any = None
    begin: Any = None
    result: Any = None
    state: int | None = None


class NativeOutput(msgspec.Struct, frozen=True):
    """A native aggregate that comes out, checked.

    Attributes:
        given: as declared. field: of its value; nullable where one of its columns is.
        columns: the fields that it takes. state_bytes: of its state.
    """

    given: NativeAggregate
    field: Field
    columns: tuple[Field, ...]
    state_bytes: int

    @property
    def merges(self) -> bool:
        return self.given.merge is not None


def native_output(
    name: str, keys: Mapping[str, Any] | NativeAggregate, schema: Schema
) -> tuple[NativeOutput | None, list[Problem]]:
    """The native aggregate that is the field `name`, or None with everything that is wrong with it."""
    where = f"aggregates.{name}"
    if isinstance(keys, NativeAggregate):
        keys = {key: value for key in KEYS if (value := getattr(keys, key)) not in (None, ())}
    problems = [
        Problem(f"{where}.{key}", "is no key of a native aggregate", listed(KEYS), did_you_mean(key, KEYS))
        for key in keys
        if key not in KEYS
    ]
    if keys.get("native") is None:
        return None, [*problems, Problem(f"{where}.native", "is missing", ALLOWED)]
    given = dict(keys)
    for key in FUNCTIONS:
        if given.get(key) is not None:
            given[key] = _found(f"{where}.{key}", given[key], problems)
    found = given["native"]
    if isinstance(found, NativeAggregate):  # what stands beside it goes before what it says
        given = {key: given.get(key) or getattr(found, key) for key in KEYS} | {"native": found.native}
        for key in FUNCTIONS:
            given[key] = _pointer(f"{where}.{key}", given[key], problems)
    columns = _columns(where, given.get("columns"), schema, problems)
    result = _result(where, name, given.get("returns"), any(field.nullable for field in columns), problems)
    size = _state_bytes(where, given, result, problems)
    if problems or result is None:
        return None, problems
    made = NativeAggregate(
        given["native"],
        tuple(field.name for field in columns),
        given["returns"],
        given.get("merge"),
        given.get("begin"),
        given.get("result"),
        size,
    )
    return NativeOutput(made, result, tuple(columns), size), []


def _found(where: str, named: Any, problems: list[Problem]) -> Any:
    """What "package.module:name" leads to, or the pointer itself."""
    try:
        found = load_object(named, noun="function") if isinstance(named, str) else named
    except NotFoundError as error:
        problems.append(Problem(where, error.message, error.allowed or '"package.module:name"', error.hint))
        return None
    if where.endswith(".native"):
        if isinstance(found, NativeFunction):
            found = NativeAggregate(
                found.pointer, found.columns, next(iter((found.returns or {}).values()), None)
            )
        if isinstance(found, NativeAggregate):
            return found
    return _pointer(where, found, problems, named)


def _pointer(where: str, found: Any, problems: list[Problem], named: Any = None) -> Any:
    if isinstance(found, str):
        return _found(where, found, problems)
    if isinstance(found, NativeFunction):
        found = found.pointer
    if found is None:
        return None
    try:
        function_address(found)
    except NotAFunctionError as error:
        shown = repr(named) if isinstance(named, str) else repr(found)
        problems.append(Problem(where, f"{shown} {error.message}", ALLOWED, error.hint))
        return None
    return found


def _columns(where: str, given: Any, schema: Schema, problems: list[Problem]) -> list[Field]:
    where = f"{where}.columns"
    fixed = [field.name for field in schema.fields if field.dtype is not None]
    if isinstance(given, str):
        given = [given]
    if not given or not all(isinstance(name, str) for name in given):
        message = "is missing" if not given else f"is {given!r}"
        problems.append(Problem(where, message, f"a list of some of {listed(fixed)}"))
        return []
    found = []
    for name in given:
        if name not in schema:
            hint = did_you_mean(name, schema.names())
            problems.append(Problem(where, f"there is no field {name!r}", listed(fixed), hint))
        elif name not in fixed:
            message = f"field {schema.field(name)} has no fixed width"
            problems.append(Problem(where, message, listed(fixed), "`map` makes numbers of texts"))
        else:
            found.append(schema.field(name))
    return found


def _result(where: str, name: str, kind: Any, nullable: bool, problems: list[Problem]) -> Field | None:
    where = f"{where}.returns"
    if not isinstance(kind, str):
        problems.append(Problem(where, "is missing" if kind is None else f"is {kind!r}", _TYPES))
        return None
    optional = "?" if nullable and not kind.endswith("?") else ""
    try:
        (field,) = Schema.from_dict({name: kind + optional}).fields
    except SchemaError as error:
        problems.append(Problem(where, str(error), _TYPES))
        return None
    if field.dtype is None:
        problems.append(Problem(where, f"{field} has no fixed width", _TYPES))
        return None
    return field


def _state_bytes(where: str, given: Mapping[str, Any], result: Field | None, problems: list[Problem]) -> int:
    where = f"{where}.state"
    size, own = given.get("state"), 0 if result is None or result.dtype is None else result.dtype.itemsize
    if size is None:
        return own
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= MOST_STATE:
        problems.append(Problem(where, f"is {size!r}", f"bytes, 1 to {MOST_STATE}"))
        return own
    if own and size != own and given.get("result") is None:
        message = f"is {size} bytes, and the result, {given['returns']}, has {own}"
        problems.append(Problem(where, message, "a `result`, which makes the one of the other"))
    return size
