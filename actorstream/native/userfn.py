"""User functions in C: where a pointer leads that Numba, cffi or ctypes made, and calling it over columns without the
GIL (include/userfn.h). Knows no schema."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import chain
from struct import Struct
from typing import Any

import numpy as np

from actorstream.errors import ActorstreamError
from actorstream.native._core import ffi, lib
from actorstream.native.address import address_of
from actorstream.native.pieces import Column
from actorstream.native.pool import USER_CALL
from actorstream.native.status import raise_status

C_SIGNATURE = "int32_t function(const void *const *columns, int64_t rows, void *out)"
_PARAMETERS = 3
_CTYPES_FUNCTION: Any = ctypes.CFUNCTYPE(None).__mro__[1]


class UserFunctionError(ActorstreamError):
    """A C function answered something else than 0; nothing of its batch goes on."""


class NotAFunctionError(Exception):
    """What was given leads to no C function of the right signature; `hint`: what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


def function_address(found: Any) -> int:
    """The address of a C function: an integer, a Numba cfunc, a cffi function pointer, a ctypes function. Whoever asks
    keeps `found` alive. NotAFunctionError: it is something else, or says that it has another signature."""
    if isinstance(found, int) and not isinstance(found, bool):
        address = found
    elif isinstance(found, _CTYPES_FUNCTION):
        address = _of_ctypes(found)
    elif isinstance(found, ffi.CData):
        address = _of_cffi(found)
    elif isinstance(getattr(found, "address", None), int):
        address = _of_numba(found)
    else:
        raise _none(found)
    if address <= 0:
        raise NotAFunctionError("is a null pointer")
    return address


def _of_ctypes(found: Any) -> int:
    if found.argtypes is not None and len(found.argtypes) != _PARAMETERS:
        raise NotAFunctionError(f"takes {len(found.argtypes)} arguments")
    return ctypes.cast(found, ctypes.c_void_p).value or 0


def _of_cffi(found: Any) -> int:
    kind = ffi.typeof(found)
    if kind.kind != "function":
        raise NotAFunctionError(f"is a cffi {kind.cname}")
    if len(kind.args) != _PARAMETERS or kind.result.kind != "primitive":
        raise NotAFunctionError(f"is a cffi {kind.cname}")
    return int(ffi.cast("uintptr_t", found))


def _of_numba(found: Any) -> int:
    signature = getattr(found, "_sig", None)
    if signature is not None and (
        len(signature.args) != _PARAMETERS or str(signature.return_type) != "int32"
    ):
        hint = "declare it with @numba.cfunc(actorstream.operators.functions.numba_signature())"
        raise NotAFunctionError(f"is a Numba cfunc {signature}", hint)
    return int(found.address)


def _none(found: Any) -> NotAFunctionError:
    what = f"is {type(found).__name__} {getattr(found, '__name__', '')}".rstrip()
    if type(found).__module__.startswith("numba"):
        hint = "compile it with @numba.cfunc, not @njit"
        return NotAFunctionError(what, hint)
    if type(found).__name__ == "builtin_function_or_method":
        return NotAFunctionError(what, 'of a cffi library, take ffi.addressof(lib, "name")')
    if callable(found):
        return NotAFunctionError(what, "a Python function is given as `function`, not as `native`")
    return NotAFunctionError(what)


class UserJob:
    """The arguments of one call, as a job of a pool (native/pool.py)."""

    __slots__ = ("_buffer", "_columns", "_function", "_work", "job")

    def __init__(self, function: UserFunction) -> None:
        count = function.count
        self._function = function
        self._columns = ffi.new("as_column[]", max(count, 1))
        self._buffer = ffi.buffer(self._columns)
        self._work = work = ffi.new("as_user_work *")
        work.function, work.columns, work.count = function.address, self._columns, count
        self.job = ffi.new("as_pool_job *", (USER_CALL, work, 0, 0, 0, 0))
        """`as_pool_job *`"""

    def call(self, columns: Sequence[Column], rows: int, out: int, out_width: int, validity: int = 0) -> None:
        """What the next run of the job is to be called with."""
        self._function.pack(self._buffer, 0, *chain.from_iterable(columns))
        work = self._work
        work.rows, work.out_width = rows, out_width
        work.out, work.validity = ffi.cast("void *", out), ffi.cast("uint8_t *", validity)

    @property
    def answer(self) -> int:
        """The number that the function returned. ResourceError, ValueError: the job could not call it."""
        work = self._work
        if self.job.outcome and not work.answer:
            raise_status(self.job.outcome, f"user function over {work.rows} rows of {work.count} columns")
        return int(work.answer)


class UserFunction:
    """A function and how many columns it takes; for one thread at a time."""

    __slots__ = ("_answer", "_buffer", "_columns", "_kept", "address", "count", "pack")

    def __init__(self, found: Any, columns: int) -> None:
        self.address, self._kept, self.count = function_address(found), found, columns
        self._columns = ffi.new("as_column[]", max(columns, 1))
        self._buffer = ffi.buffer(self._columns)
        self.pack = Struct("<" + "IIqQQQ" * columns).pack_into
        self._answer = ffi.new("int32_t *")

    def __call__(
        self, columns: Sequence[Column], rows: int, out: int, out_width: int, validity: int = 0
    ) -> int:
        """What the function answers. `out`: address of `rows` values of `out_width` bytes, or (0) of an aggregate's
        value; `validity`: address of a bitmap, or 0. Rows with a null are left out."""
        self.pack(self._buffer, 0, *chain.from_iterable(columns))
        status = lib.as_user_call(
            self.address,
            self._columns,
            self.count,
            rows,
            ffi.cast("void *", out),
            out_width,
            ffi.cast("uint8_t *", validity),
            self._answer,
        )
        if status != lib.AS_OK:
            raise_status(status, f"user function over {rows} rows of {self.count} columns")
        return self._answer[0]  # type: ignore[no-any-return]


def folded(
    begin: Any, add: Any, columns: Sequence[Column], offsets: np.ndarray, state_bytes: int
) -> np.ndarray:
    """The states of groups from all their rows: group g has rows offsets[g] to offsets[g + 1] - 1 (int64) of columns
    without nulls. begin: the function that fills a state; None: it begins as zeros. Shape (groups, state_bytes), uint8.
    UserFunctionError."""
    groups = len(offsets) - 1
    states = np.zeros((groups, state_bytes), np.uint8)
    if not groups:
        return states
    described = ffi.new("as_column[]", len(columns))
    Struct("<" + "IIqQQQ" * len(columns)).pack_into(ffi.buffer(described), 0, *chain.from_iterable(columns))
    answer = ffi.new("int32_t *")
    status = lib.as_user_fold(
        0 if begin is None else function_address(begin),
        function_address(add),
        described,
        len(columns),
        ffi.from_buffer("int64_t[]", offsets),
        groups,
        ffi.cast("void *", address_of(states)),
        state_bytes,
        answer,
    )
    if status == lib.AS_E_USER:
        raise UserFunctionError(f"a native function answered {answer[0]}; allowed: 0")
    if status != lib.AS_OK:
        raise_status(status, f"user function over the rows of {groups} groups")
    return states
