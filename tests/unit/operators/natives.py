"""The same C functions made with Numba, cffi and ctypes, as a topology would name them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

import numba
import numpy as np
from cffi import FFI

from actorstream.operators.functions import NativeFunction, numba_signature

SOURCE = """
#include <stdint.h>
int32_t value(const void *const *columns, int64_t rows, void *out)
{
    const double *price = columns[0];
    const int64_t *quantity = columns[1];
    for (int64_t i = 0; i < rows; i++)
        ((double *)out)[i] = price[i] * (double)quantity[i];
    return 0;
}
int32_t dear(const void *const *columns, int64_t rows, void *out)
{
    const double *price = columns[0];
    for (int64_t i = 0; i < rows; i++)
        ((uint8_t *)out)[i] = price[i] > 100.0;
    return 0;
}
int32_t total(const void *const *columns, int64_t rows, void *out)
{
    const int64_t *quantity = columns[0];
    for (int64_t i = 0; i < rows; i++)
        *(int64_t *)out += quantity[i];
    return 0;
}
int32_t refuse(const void *const *columns, int64_t rows, void *out)
{
    return 7;
}
"""
FOLDER = Path(tempfile.mkdtemp(prefix="natives"))
(FOLDER / "natives.c").write_text(SOURCE)
LIBRARY = str(FOLDER / "natives.so")
subprocess.run(
    [
        os.environ.get("CC", "gcc"),
        "-O2",
        "-shared",
        "-fPIC",
        str(FOLDER / "natives.c"),
        "-o",
        LIBRARY,
    ],
    check=True,
)

ffi = FFI()
ffi.cdef(
    "".join(
        f"int32_t {name}(const void *const *, int64_t, void *);"
        for name in ("value", "dear", "total", "refuse")
    )
)
cffi_library = ffi.dlopen(LIBRARY)
cffi_value, cffi_dear, cffi_total = (ffi.addressof(cffi_library, name) for name in ("value", "dear", "total"))
cffi_refuse = ffi.addressof(cffi_library, "refuse")
ctypes_library = ctypes.CDLL(LIBRARY)
ctypes_value, ctypes_dear, ctypes_total = ctypes_library.value, ctypes_library.dear, ctypes_library.total


@numba.cfunc(numba_signature())
def numba_value(columns, rows, out):  # type: ignore[no-untyped-def]
    price = numba.carray(columns[0], rows, np.float64)
    quantity = numba.carray(columns[1], rows, np.int64)
    numba.carray(out, rows, np.float64)[:] = price * quantity
    return 0


@numba.cfunc(numba_signature())
def numba_dear(columns, rows, out):  # type: ignore[no-untyped-def]
    numba.carray(out, rows, np.uint8)[:] = numba.carray(columns[0], rows, np.float64) > 100.0
    return 0


@numba.cfunc(numba_signature())
def numba_total(columns, rows, out):  # type: ignore[no-untyped-def]
    numba.carray(out, 1, np.int64)[0] += numba.carray(columns[0], rows, np.int64).sum()
    return 0


described = NativeFunction(cffi_value, columns=["price", "quantity"], returns={"value": "float"})


@numba.njit
def not_compiled_to_c(x):  # type: ignore[no-untyped-def]
    return x


@numba.cfunc("float64(float64)")
def another_signature(x):  # type: ignore[no-untyped-def]
    return x


wrong_ctypes = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(lambda rows: 0)
