/*
 * User functions: a C function pointer as a map, filter or aggregate over whole columns (docs/expressions.md). The pointer
 * may come from Numba (@cfunc), cffi, ctypes or any C; it is called here, so that no Python and no GIL is in between.
 */
#ifndef ACTORSTREAM_USERFN_H
#define ACTORSTREAM_USERFN_H
#include "column.h"
/* cffi: begin */
/* What a user writes. columns[i] points to the `rows` values of the i-th column asked for, of its own C type (int64_t,
   int32_t, double, ...; bool: one byte, 0 or 1; datetime: int64_t microseconds; a category: its code), aligned; none of
   the rows is null in any of them. `out`: of a map `rows` values to fill, of a filter `rows` bytes (0: drop the row), of
   an aggregate the one value so far, to be changed. Of an aggregate by window (cells.h): `add` changes the state `out` by
   the rows, `begin` fills it (no columns, no rows), `merge` adds the `rows` states of columns[0] to it. States are moved
   as they are, so they must not hold pointers; they lie at multiples of 8. Answers 0, or a number that the error of the batch will show. It
   must not keep the pointers, and may be called from several threads on different data. */
typedef int32_t (*as_user_function)(const void *const *columns, int64_t rows, void *out);
/* Calls `function` (its address) with `count` columns of fixed width. Rows that are null in one of them are left out:
   the others are copied together, and what comes out is put where its row is; `validity` (a bitmap of (rows + 7) / 8
   bytes, or NULL) says which rows have a value. out_width 0: an aggregate, `out` is handed on as it is. *answer is what
   the function answered; after anything but 0 `out` is unspecified. Without a null nothing is copied.
   AS_OK | AS_E_MEMORY | AS_E_ARGUMENT (a column of variable width). */
int as_user_call(uintptr_t function, const as_column *columns, uint32_t count, int64_t rows, void *out,
                 uint32_t out_width, uint8_t *validity, int32_t *answer);
/* The same as a job of a pool (pool.h): the arguments of as_user_call; what it and the function have answered. */
typedef struct as_user_work {
    uintptr_t function;
    const as_column *columns;
    void *out;
    uint8_t *validity;
    int64_t rows;
    uint32_t count, out_width;
    int32_t answer;
} as_user_work;
int32_t as_user_job(void *work); /* 0: all went well; 1: the function answered something else; or as_user_call */
/* The states of `groups` groups from all their rows at once: group g has rows offset[g] .. offset[g + 1] - 1 of the `count`
   columns (aligned, without nulls). Begins each state (`bytes` of them, one behind the other; `begin` 0: with zeros), and
   calls `add` once unless it has no rows. AS_OK | AS_E_MEMORY | AS_E_USER, with *answer. */
int as_user_fold(uintptr_t begin, uintptr_t add, const as_column *columns, uint32_t count, const int64_t *offset,
                 int64_t groups, void *state, uint32_t bytes, int32_t *answer);
/* cffi: end */
#endif
