"""User functions of operators: C function pointers over whole columns (`native`), and Python functions (`function`).

A C function is called without the GIL and never sees a null; its signature is that of include/userfn.h:

    int32_t function(const void *const *columns, int64_t rows, void *out)
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import numpy as np

from actorstream.errors import NotInstalledError, Problem, SchemaError
from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.event import Event
from actorstream.events.fields import Field, Kind
from actorstream.events.schema import Schema
from actorstream.events.values import check_times
from actorstream.native.address import address_of
from actorstream.native.kernels import mask_to_index
from actorstream.native.userfn import (
    C_SIGNATURE,
    NotAFunctionError,
    UserFunction,
    UserFunctionError,
    UserJob,
    function_address,
)
from actorstream.operators.chain import LinkedColumn, LinkedRows, Linking, UnlinkedError
from actorstream.operators.prepared import Prepared
from actorstream.topology.modules import NotFoundError, load_object
from actorstream.topology.suggestions import did_you_mean, listed

ALLOWED = f"a C function {C_SIGNATURE}: a Numba cfunc, a cffi or ctypes function pointer, an address"


class NativeFunction(msgspec.Struct, frozen=True):
    """A C function that says itself which columns it takes and what it returns; what `native` may name.

    pointer: a Numba cfunc, a cffi or ctypes function pointer, or an address. columns: fields of fixed width.
    returns: {field: type}, the one field that a map adds or an aggregate answers."""

    pointer: Any
    columns: Sequence[str] = ()
    returns: dict[str, str] | None = None


def numba_signature() -> Any:
    """The signature for `@numba.cfunc(...)`. Inside, `numba.carray(columns[0], rows, numpy.float64)` is the first
    column and `numba.carray(out, rows, ...)` what comes out. NotInstalledError without numba."""
    try:
        from numba import types
    except ImportError:
        raise NotInstalledError("a native function compiled by Numba", "numba") from None
    return types.int32(types.CPointer(types.voidptr), types.int64, types.voidptr)


def declared(native: Any, columns: Sequence[str] | None, returns: dict[str, str] | None) -> NativeFunction:
    """The function that the keys `native`, `columns` and `returns` name. NotFoundError, NotAFunctionError."""
    found = load_object(native, noun="function") if isinstance(native, str) else native
    if not isinstance(found, NativeFunction):
        found = NativeFunction(found)
    function_address(found.pointer)
    return NativeFunction(found.pointer, columns or found.columns, returns or found.returns)


def native_problems(keys: dict[str, Any], schema: Schema, *, returns: bool) -> list[Problem]:
    """What is wrong with the keys `native`, `columns` and (where something is returned) `returns`."""
    try:
        found = declared(keys["native"], keys.get("columns"), keys.get("returns"))
    except NotFoundError as error:
        return [Problem("native", error.message, error.allowed or '"package.module:name"', error.hint)]
    except NotAFunctionError as error:
        return [Problem("native", f"{keys['native']!r} {error.message}", ALLOWED, error.hint)]
    problems = []
    fixed = [field.name for field in schema.fields if field.dtype is not None]
    if not found.columns:
        problems.append(Problem("columns", "is missing", f"some of {listed(fixed)}"))
    for name in found.columns:
        if name not in schema:
            hint = did_you_mean(name, schema.names())
            problems.append(Problem("columns", f"there is no field {name!r}", listed(fixed), hint))
        elif name not in fixed:
            problems.append(
                Problem("columns", f"field {schema.field(name)} has no fixed width", listed(fixed))
            )
    if returns:
        problems.extend(_returns_problems(found.returns))
    return problems


def _returns_problems(returns: dict[str, str] | None) -> list[Problem]:
    allowed = 'one field and its type, such as { total = "float" }'
    if returns is None or len(returns) != 1:
        return [Problem("returns", f"is {returns!r}" if returns else "is missing", allowed)]
    try:
        (field,) = Schema.from_dict(returns).fields
    except SchemaError as error:
        return [Problem("returns", str(error), allowed)]
    if field.dtype is None:
        return [
            Problem(
                "returns",
                f"{field} has no fixed width",
                "bool, int, int8 ... uint64, float, float32, datetime",
            )
        ]
    return []


def returned_field(native: NativeFunction, schema: Schema) -> Field:
    """The field of what a function returns: null where one of its columns is."""
    assert native.returns is not None
    ((name, kind),) = native.returns.items()
    nullable = any(schema.field(each).nullable for each in native.columns)
    optional = "?" if nullable and not kind.endswith("?") else ""
    return Schema.from_dict({name: kind + optional}).fields[0]


class NativeColumns:
    """A C function bound to the columns of one schema."""

    def __init__(self, native: NativeFunction, schema: Schema) -> None:
        self._names = tuple(native.columns)
        self._call = UserFunction(native.pointer, len(self._names))
        self._nullable = any(schema.field(name).nullable for name in self._names)
        self._jobs: list[UserJob] = []

    def column(self, batch: Batch, field: Field) -> Column:
        """As a map: a column of `field`."""
        out, bits = self._room(batch.rows, field)
        self._run(batch, address_of(out), out.itemsize, 0 if bits is None else address_of(bits))
        return self._column(batch, field, out, bits)

    def prepare_column(self, batch: Batch, field: Field, finish: Callable[[Column], Any]) -> Prepared:
        """`column` as a job of a pool, and `finish` on what comes of it."""
        out, bits = self._room(batch.rows, field)
        return self._prepared(
            batch,
            address_of(out),
            out.itemsize,
            0 if bits is None else address_of(bits),
            lambda _: finish(self._column(batch, field, out, bits)),
        )

    def prepare_rows(self, batch: Batch, finish: Callable[[np.ndarray], Any]) -> Prepared:
        """`rows` as a job of a pool, and `finish` on them."""
        out = np.empty(batch.rows, np.uint8)
        return self._prepared(batch, address_of(out), 1, 0, lambda _: finish(mask_to_index(out)))

    def _prepared(
        self, batch: Batch, out: int, width: int, validity: int, finish: Callable[[UserJob], Any]
    ) -> Prepared:
        columns = [batch.column(name) for name in self._names]  # kept by `finished`
        job = self._jobs.pop() if self._jobs else UserJob(self._call)
        job.call([column.descriptor for column in columns], batch.rows, out, width, validity)

        def finished() -> Any:
            columns.clear()
            self._jobs.append(job)
            return finish(job)

        return Prepared(job.job, finished)

    def _room(self, rows: int, field: Field) -> tuple[np.ndarray, np.ndarray | None]:
        bits = np.empty((rows + 7) // 8, np.uint8) if self._nullable else None
        return np.empty(rows, field.dtype), bits

    def _column(self, batch: Batch, field: Field, out: np.ndarray, bits: np.ndarray | None) -> Column:
        if out.dtype == np.bool_:
            np.not_equal(out.view(np.uint8), 0, out=out)  # C may say yes with any byte
        if field.categories or bits is None:
            return Column.of(field, out)
        out.setflags(write=False)
        made = Column(field, batch.rows, bits, out, None)
        if field.kind is Kind.DATETIME:
            check_times(field, out, made.valid())
        return made

    def link_column(self, chain: Linking, rows: LinkedRows, field: Field) -> LinkedColumn:
        """`column` as a step of a chain; UnlinkedError: it is none."""
        if field.kind is Kind.DATETIME:
            raise UnlinkedError  # the values have to be looked at
        return LinkedColumn(chain.user(rows, self._call, self._names, field)[0], rows.number, field)

    def link_rows(self, chain: Linking, rows: LinkedRows) -> LinkedRows:
        """`rows` as a step of a chain; UnlinkedError: it is none."""
        made = chain.user(rows, self._call, self._names, None)[1]
        assert made is not None
        return LinkedRows(made, rows.schema, rows.columns)

    def rows(self, batch: Batch) -> np.ndarray:
        """As a filter: the numbers of the rows it keeps, none with a null; uint32, ascending."""
        out = np.empty(batch.rows, np.uint8)
        self._run(batch, address_of(out), 1, 0)
        return mask_to_index(out)

    def fold(self, batch: Batch, value: np.ndarray) -> None:
        """As an aggregate: changes `value`, an array of one."""
        self._run(batch, address_of(value), 0, 0)

    def prepare_fold(self, batch: Batch, value: np.ndarray) -> Prepared:
        """`fold` as a job of a pool. To finish it raises what `fold` would have."""
        return self._prepared(batch, address_of(value), 0, 0, lambda job: self._check(job.answer, batch.rows))

    def _run(self, batch: Batch, out: int, width: int, validity: int) -> None:
        columns = [batch.column(name) for name in self._names]
        answer = self._call([column.descriptor for column in columns], batch.rows, out, width, validity)
        self._check(answer, batch.rows)

    def _check(self, answer: int, rows: int) -> None:
        if answer:
            raise UserFunctionError(
                f"the native function of {', '.join(self._names)} answered {answer} for {rows} rows; allowed: 0"
            )


# -- Python functions


def takes_batch(function: Callable[..., Any]) -> bool:
    """Whether the function's first parameter is annotated `Batch`: it is called once a batch, else once an event."""
    try:
        hints = typing.get_type_hints(function)
        first = next(iter(inspect.signature(function).parameters), "")
    except (NameError, TypeError, ValueError):
        return False
    return hints.get(first) is Batch


def returned_type(function: Callable[..., Any]) -> type[Event] | None:
    """The Event class in a function's return annotation (`E`, `E | None`, `list[E]`, ...); None: it names none."""
    try:
        found = [typing.get_type_hints(function).get("return")]
    except (NameError, TypeError):
        return None
    for each in found:  # grows by what is inside
        if inspect.isclass(each) and issubclass(each, Event):
            return each
        found.extend(typing.get_args(each))
    return None
