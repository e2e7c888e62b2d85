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
from actorstream.operators.native_aggregate import NativeAggregate

SOURCE = """
#include <stddef.h>
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
int32_t total_to_13(const void *const *columns, int64_t rows, void *out)
{
    const int64_t *quantity = columns[0];
    for (int64_t i = 0; i < rows && quantity[i] != 13; i++)
        *(int64_t *)out += quantity[i];
    for (int64_t i = 0; i < rows; i++)
        if (quantity[i] == 13)
            return 7;
    return 0;
}
int32_t most(const void *const *columns, int64_t rows, void *out)
{
    const double *value = columns[0];
    for (int64_t i = 0; i < rows; i++)
        if (value[i] > *(double *)out)
            *(double *)out = value[i];
    return 0;
}
int32_t lowest(const void *const *columns, int64_t rows, void *out)
{
    *(double *)out = -1e300;
    return columns != NULL || rows != 0;
}
typedef struct mean {
    double sum;
    int64_t rows;
    int32_t begun;
} __attribute__((packed, aligned(4))) mean;
int32_t mean_begin(const void *const *columns, int64_t rows, void *out)
{
    *(mean *)out = (mean){0, 0, 7};
    return 0;
}
int32_t mean_add(const void *const *columns, int64_t rows, void *out)
{
    mean *to = out;
    for (int64_t i = 0; i < rows; i++)
        to->sum += ((const double *)columns[0])[i] * (double)((const int64_t *)columns[1])[i];
    to->rows += rows;
    return to->begun != 7;
}
int32_t mean_merge(const void *const *columns, int64_t rows, void *out)
{
    for (int64_t i = 0; i < rows; i++) {
        ((mean *)out)->sum += ((const mean *)columns[0])[i].sum;
        ((mean *)out)->rows += ((const mean *)columns[0])[i].rows;
    }
    return ((mean *)out)->begun != 7;
}
int32_t mean_result(const void *const *columns, int64_t rows, void *out)
{
    for (int64_t i = 0; i < rows; i++)
        ((double *)out)[i] = ((const mean *)columns[0])[i].sum / (double)((const mean *)columns[0])[i].rows;
    return 0;
}
int32_t typed(const void *const *columns, int64_t rows, void *out)
{
    for (int64_t i = 0; i < rows; i++)
        *(double *)out += ((const int16_t *)columns[0])[i] + (double)((const float *)columns[1])[i] +
                          1000 * ((const uint8_t *)columns[2])[i] + 10000 * ((const int8_t *)columns[3])[i] +
                          (double)((const int64_t *)columns[4])[i];
    return 0;
}
int32_t typed_merge(const void *const *columns, int64_t rows, void *out)
{
    *(double *)out += *(const double *)columns[0];
    return 0;
}
int32_t bins(const void *const *columns, int64_t rows, void *out)
{
    for (int64_t i = 0; i < rows; i++)
        ((int64_t *)out)[((const int64_t *)columns[0])[i] & 127]++;
    return 0;
}
int32_t bins_merge(const void *const *columns, int64_t rows, void *out)
{
    for (int at = 0; at < 128; at++)
        ((int64_t *)out)[at] += ((const int64_t *)columns[0])[at];
    return 0;
}
int32_t bins_taken(const void *const *columns, int64_t rows, void *out)
{
    for (int64_t i = 0; i < rows; i++) {
        ((int64_t *)out)[i] = 0;
        for (int at = 0; at < 128; at++)
            ((int64_t *)out)[i] += ((const int64_t *)columns[0])[128 * i + at] != 0;
    }
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

NAMES = (
    "value",
    "dear",
    "total",
    "total_to_13",
    "refuse",
    "most",
    "lowest",
    "mean_begin",
    "mean_add",
    "mean_merge",
    "mean_result",
)
NAMES += ("typed", "typed_merge", "bins", "bins_merge", "bins_taken")
ffi = FFI()
ffi.cdef("".join(f"int32_t {name}(const void *const *, int64_t, void *);" for name in NAMES))
cffi_library = ffi.dlopen(LIBRARY)
cffi_value, cffi_dear, cffi_total = (ffi.addressof(cffi_library, name) for name in ("value", "dear", "total"))
cffi_refuse = ffi.addressof(cffi_library, "refuse")
cffi_total_to_13 = ffi.addressof(cffi_library, "total_to_13")
cffi_most, cffi_lowest = ffi.addressof(cffi_library, "most"), ffi.addressof(cffi_library, "lowest")
cffi_mean_begin, cffi_mean_add, cffi_mean_merge, cffi_mean_result = (
    ffi.addressof(cffi_library, f"mean_{name}") for name in ("begin", "add", "merge", "result")
)
cffi_typed, cffi_typed_merge = (
    ffi.addressof(cffi_library, "typed"),
    ffi.addressof(cffi_library, "typed_merge"),
)
cffi_bins, cffi_bins_merge, cffi_bins_taken = (
    ffi.addressof(cffi_library, name) for name in ("bins", "bins_merge", "bins_taken")
)
ctypes_library = ctypes.CDLL(LIBRARY)
ctypes_value, ctypes_dear, ctypes_total = ctypes_library.value, ctypes_library.dear, ctypes_library.total


@numba.cfunc(numba_signature(), cache=True)
def numba_value(columns, rows, out):  # type: ignore[no-untyped-def]
    price = numba.carray(columns[0], rows, np.float64)
    quantity = numba.carray(columns[1], rows, np.int64)
    value = numba.carray(out, rows, np.float64)
    for row in range(rows):  # Numba takes seconds to compile an expression over whole arrays
        value[row] = price[row] * quantity[row]
    return 0


@numba.cfunc(numba_signature(), cache=True)
def numba_dear(columns, rows, out):  # type: ignore[no-untyped-def]
    price = numba.carray(columns[0], rows, np.float64)
    is_dear = numba.carray(out, rows, np.uint8)
    for row in range(rows):
        is_dear[row] = price[row] > 100.0
    return 0


@numba.cfunc(numba_signature(), cache=True)
def numba_total(columns, rows, out):  # type: ignore[no-untyped-def]
    numba.carray(out, 1, np.int64)[0] += numba.carray(columns[0], rows, np.int64).sum()
    return 0


declared_total = NativeAggregate(cffi_total, columns=["number"], returns="int", merge=cffi_total)
described_total = NativeFunction(cffi_total, columns=["number"], returns={"total": "int"})
described = NativeFunction(cffi_value, columns=["price", "quantity"], returns={"value": "float"})


@numba.njit
def not_compiled_to_c(x):  # type: ignore[no-untyped-def]
    return x


@numba.cfunc("float64(float64)")
def another_signature(x):  # type: ignore[no-untyped-def]
    return x


wrong_ctypes = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(lambda rows: 0)
