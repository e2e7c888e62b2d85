/*
 * Cells: what is kept for one group (of one pane, session or count window), as words of 64 bits that begin as
 * zeros, and the program that says what they mean. Aggregates are put together from accumulators by whoever
 * makes the program (operators/aggregation).
 *
 *   word 0   rows
 *   then     the accumulators' words, in the order of the program:
 *     COUNT      values that are not null
 *     INTEGERS   sum, low word (its high word is with those of the others, see below)
 *     FLOATS     two float64 whose sum is the exact sum; where two floats do not hold it the second one is NaN, and
 *                the sum lies beside the cells (src/exact.h). Infinities and NaN are as IEEE 754 adds them
 *     LEAST, GREATEST
 *                the value as an ordered word; LEAST complemented, so that zero is "none"
 *     FIRST, LAST
 *                value, then its order words (FIRST: complemented; zero: none)
 *     DISTINCT   how many; the pairs (group, value) lie beside the cells, or the words are a list as of VALUES
 *     VALUES     a list (src/lists.h)
 *     USER       how many rows the state has taken (zero: it has not begun), then the bytes of a user's own state,
 *                which user functions change, begin and merge (userfn.h)
 *     ROWS       a list as of VALUES, of the argument words of each row one behind the other: for user functions that
 *                must see all rows of a window at once
 *   last     of wide cells only: the high words of all INTEGERS. Cells are wide once a sum could pass 63 bits.
 *
 * Ordered words compare without sign: signed integers with the top bit flipped, floats so that -0.0 < 0.0. NaN is
 * all ones, complemented or not: both the least and the greatest of values that have one are NaN.
 */
#ifndef ACTORSTREAM_CELLS_H
#define ACTORSTREAM_CELLS_H
#include "operand.h"
/* cffi: begin */
enum {
    AS_COUNT = 1,
    AS_INTEGERS = 2,
    AS_FLOATS = 3,
    AS_LEAST = 4,
    AS_GREATEST = 5,
    AS_FIRST = 6,
    AS_LAST = 7,
    AS_DISTINCT = 8,
    AS_VALUES = 9,
    AS_USER = 10,
    AS_ROWS = 11
};
enum { AS_PROGRAM_STEPS = 48 };  /* accumulators at the most */
enum { AS_PROGRAM_VALUES = 32 }; /* value columns at the most */
enum { AS_PROGRAM_ORDERS = 24 }; /* order columns at the most */
enum { AS_PROGRAM_ARGUMENTS = 64 }; /* arguments of USER and ROWS steps in all */
enum { AS_USER_BYTES = 1024 };   /* of a USER state at the most */
typedef struct as_step {
    uint32_t what;   /* AS_COUNT ... */
    uint32_t value;  /* which value column */
    uint32_t word;   /* its first word; as_program_init says it */
    uint32_t order;  /* FIRST, LAST: the first of its order columns */
    uint32_t number; /* of those of its kind; as_program_init says it */
    uint32_t first;  /* USER, ROWS: the first of its arguments in `argument` */
    uint32_t count;  /* USER, ROWS: how many they are */
    uint32_t bytes;  /* USER: of its state */
    uintptr_t add, merge, begin; /* USER: user functions (userfn.h); begin 0: the state begins as zeros */
} as_step;
typedef struct as_program {
    uint32_t steps, values;
    uint32_t orders; /* how many order columns (int64) a FIRST or LAST tells rows apart by; 0: as they come */
    uint32_t columns;    /* order columns in all; steps may share them */
    uint32_t words;      /* of a cell that is not wide; as_program_init says it, and what follows */
    uint32_t sums, sets; /* INTEGERS steps, DISTINCT steps */
    uint32_t how[AS_PROGRAM_VALUES]; /* of the value columns (kernels.h) */
    uint32_t argument[AS_PROGRAM_ARGUMENTS]; /* value columns that USER and ROWS steps take */
    as_step step[AS_PROGRAM_STEPS];
} as_program;
/* Lays out the cells. AS_OK | AS_E_ARGUMENT: too many steps, values or order columns, or one that is not there, an unknown step, one over
   bytes that is not COUNT, FIRST, LAST or DISTINCT, a USER step without `add`, `merge` or a state. */
int as_program_init(as_program *program);
/* The cells of `rows` rows by themselves, `words + sums` words each, as as_panes_take writes them. AS_OK | AS_E_MEMORY |
   AS_E_ARGUMENT: a column cannot be read as the program says, or a step keeps something beside its cells |
   AS_E_USER. Pure. */
int as_cells_single(const as_program *program, const as_operand *order, const as_operand *value, int64_t rows,
                    uint64_t *cell);
/* What the user function answered because of which the last call of this thread gave AS_E_USER. Cells that it changed
   before have what it left in them. */
int32_t as_user_answer(void);
/* cffi: end */
#endif
