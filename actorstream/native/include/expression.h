/*
 * Expressions over columns: a straight-line program of vector instructions, run on 512 rows at a time so that what
 * it computes stays in the first-level cache. It has registers of two sorts: vectors (512 values of 8 bytes: int64
 * or double, as the instruction says) and masks (512 bits). It knows no nulls and no types: whoever writes a program
 * spells out validity as masks, and never lets an instruction write a register it reads.
 *
 * A row fails where an integer result does not fit, a divisor is zero or a text does not convert, and the row is in
 * the mask `active` of the instruction. What the stores wrote for a failed row is unspecified, everything else is as
 * if it had not failed.
 *
 * Pure: any thread may run a program on its own outputs; none waits for another. Scratch is 4 KiB a vector, on the
 * stack up to 64 KiB, beyond that from malloc.
 */
#ifndef ACTORSTREAM_EXPRESSION_H
#define ACTORSTREAM_EXPRESSION_H
#include "column.h"
/* cffi: begin */
enum as_kind {
    AS_I8 = 0,
    AS_I16 = 1,
    AS_I32 = 2,
    AS_I64 = 3,
    AS_U8 = 4,
    AS_U16 = 5,
    AS_U32 = 6,
    AS_U64 = 7,
    AS_F32 = 8,
    AS_F64 = 9
};
enum { AS_X_NONE = 65535, AS_X_LANES = 512 };
/* v: vector register, m: mask register, col: column; "fails" says when a row does. */
enum as_operation {
    AS_X_LOAD = 1,       /* v[out] = col[a] of `kind`: integers as int64, floats as double */
    AS_X_CONSTANT,       /* v[out] = x in every row (in the setup only) */
    AS_X_LOOK_UP,        /* v[out] = ((int64 *)table)[col[a] of `kind`], of a code >= size the first */
    AS_X_ADD_I,          /* v[out] = v[a] + v[b]; fails on overflow */
    AS_X_SUBTRACT_I,
    AS_X_MULTIPLY_I,
    AS_X_SCALE_I,        /* v[out] = v[a] * x; fails unless y <= v[a] <= (int64) size */
    AS_X_NEGATE_I,
    AS_X_ABS_I,
    AS_X_FLOOR_DIVIDE_I, /* towards minus infinity; fails on 0, and INT64_MIN // -1 */
    AS_X_REMAINDER_I,    /* of that quotient: has the sign of the divisor; fails on 0 */
    AS_X_MIN_I,
    AS_X_MAX_I,
    AS_X_FITS,           /* v[out] = v[a]; fails unless x <= v[a] <= y */
    AS_X_F_TO_I,         /* towards zero; fails on nan and what does not fit */
    AS_X_M_TO_I,         /* v[out] = 1 or 0, of m[a] */
    AS_X_SELECT,         /* v[out] = m[c] ? v[a] : v[b] */
    AS_X_DATE_PART,      /* v[out] = part x (enum as_date_part) of v[a], y units a second since 1970 */
    AS_X_TEXT_LENGTH,    /* v[out] = code points of col[a] */
    AS_X_BYTES_LENGTH,
    AS_X_TEXT_TO_I,      /* decimal digits with a sign, blanks around them; fails on anything else */
    AS_X_TEXT_TO_F,      /* as Python's float(), without underscores */
    AS_X_TEXT_TO_BOOL,   /* v[out] = 1 of "true", 0 of "false"; fails on anything else */
    AS_X_ADD_F,
    AS_X_SUBTRACT_F,
    AS_X_MULTIPLY_F,
    AS_X_DIVIDE_F,
    AS_X_NEGATE_F,
    AS_X_ABS_F,
    AS_X_FLOOR_DIVIDE_F, /* as Python's // and %, but by zero as IEEE: inf or nan, and nan */
    AS_X_REMAINDER_F,
    AS_X_MIN_F,          /* nan if one is */
    AS_X_MAX_F,
    AS_X_ROUND_F,        /* half to even of the exact value, at 1 / x (a double: a power of ten to 1e15) */
    AS_X_SINGLE_F,       /* to the nearest float of 32 bits */
    AS_X_FLOOR_F,
    AS_X_CEIL_F,
    AS_X_I_TO_F,
    AS_X_ALL,            /* m[out] = every row if x, else none (in the setup only) */
    AS_X_VALID,          /* m[out] = col[a] is not null */
    AS_X_TEST,           /* m[out] = x <= col[a] of `kind` <= y, unsigned or as floats if that is so */
    AS_X_TEST_CODES,     /* m[out] = bit `col[a] of kind` of the bitmap `table`, false for one >= size */
    AS_X_EQUAL_I,        /* m[out] = v[a] == v[b] */
    AS_X_LESS_I,
    AS_X_LESS_EQUAL_I,
    AS_X_EQUAL_F,
    AS_X_LESS_F,
    AS_X_LESS_EQUAL_F,
    AS_X_TEST_I,         /* m[out] = x <= v[a] <= y */
    AS_X_TEST_F,
    AS_X_IN_I,           /* m[out] = v[a] is one of `size` ascending int64 of `table` */
    AS_X_AND,            /* m[out] = m[a] & m[b] */
    AS_X_OR,
    AS_X_AND_NOT,        /* m[a] & ~m[b] */
    AS_X_NOT,
    AS_X_TEXT_EQUAL,     /* m[out] = col[a] == col[b], or of b AS_X_NONE `size` bytes of `table`; so the next */
    AS_X_TEXT_LESS,      /* by bytes, which for UTF-8 is by code points */
    AS_X_TEXT_LESS_EQUAL,
    AS_X_TEXT_STARTS,
    AS_X_TEXT_ENDS,
    AS_X_TEXT_CONTAINS,
    AS_X_STORE,          /* outs[out] = v[a] as `kind`, cut to its width */
    AS_X_STORE_BOOLS,    /* outs[out] = m[a], a byte a row */
    AS_X_STORE_BITS,     /* outs[out] = m[a], an Arrow bitmap of a multiple of 64 bytes */
    AS_X_STORE_ROWS,     /* outs[out] = row numbers of m[a], uint32, ascending; counts[out] += how many */
    AS_X_OPERATIONS
};
enum as_date_part { AS_YEAR = 0, AS_MONTH = 1, AS_DAY = 2, AS_HOUR = 3, AS_MINUTE = 4, AS_SECOND = 5, AS_WEEKDAY = 6 };
typedef struct as_instruction {
    uint16_t op;       /*  0 */
    uint16_t out;      /*  2 register that is written, or number of the output */
    uint16_t a, b, c;  /*  4 registers that are read, or numbers of columns */
    uint16_t active;   /* 10 mask register: rows that can fail; AS_X_NONE: all */
    uint16_t kind;     /* 12 */
    uint16_t to;       /* 14 output (8 bytes a row) whose memory is the vector `out`, or AS_X_NONE */
    int64_t x, y;      /* 16 constants; doubles as their bits */
    const void *table; /* 32 */
    uint64_t size;     /* 40 */
} as_instruction;      /* 48 bytes; python writes it with struct "<8HqqQQ" */
typedef struct as_expression {
    const as_instruction *instructions;
    uint32_t count, setup;   /* the first `setup` are run once, the others for every 512 rows */
    uint32_t vectors, masks; /* registers */
} as_expression;
/* Runs a program on rows 0 .. rows-1 of `columns`. `failures` NULL: stops soon after a row has failed and answers
   AS_AGAIN. Else it has `rows` zeros; a row that fails gets there 1 + the number of the instruction that it failed
   at first, and the answer is AS_OK. AS_E_ARGUMENT: negative rows, or more than 2^32 - 1; AS_E_MEMORY. */
int as_expression_run(const as_expression *program, const as_column *columns, int64_t rows, void *const *outs,
                      int64_t *counts, uint32_t *failures);
/* The same as a job of a pool (pool.h), without `failures`. */
typedef struct as_expression_work {
    const as_expression *program;
    const as_column *columns;
    void *const *outs;
    int64_t *counts;
    int64_t rows;
} as_expression_work;
int32_t as_expression_job(void *work); /* 0: no row has failed; else it is to be run again, for its error */
/* cffi: end */
_Static_assert(sizeof(as_instruction) == 48, "python writes this layout");
#endif
