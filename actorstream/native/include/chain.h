/*
 * Chains: what several stateless operators in a row do for one jumbo tuple, as one call (ordered-multicore section 6: a
 * chain is one operator to the threads). A chain is a list of steps over numbered columns. Each step works on a row set: the
 * rows of the jumbo tuple are set 0, and what a filter or a join leaves is a set of its own, whose size the step finds. A
 * column is aligned with one set; GATHER aligns it with another by a column of row numbers (uint32). No step leaves more
 * rows than it was given, so every column that is written has room for the rows of set 0.
 *
 * Knows neither types nor schemas, chooses nothing, allocates nothing of its own but what as_expression_run does. A list of
 * steps is only read: any thread may run it, each on columns and sizes of its own; none waits for another.
 */
#ifndef ACTORSTREAM_CHAIN_H
#define ACTORSTREAM_CHAIN_H
#include "column.h"
#include "expression.h"
#include "lookup.h"
/* cffi: begin */
enum { AS_CHAIN_NONE = 4294967295, AS_CHAIN_MOST = 64 }; /* no set or column; columns in or out of a step at the most */
enum as_chain_kind {
    AS_CHAIN_RUN = 0, /* what: as_expression; in: its columns; out: its outputs, 2 * column, + 1: the column's validity.
                            `makes`: the set whose size is what it has counted for output `counted` */
    AS_CHAIN_GATHER = 1, /* out[0] = in[0] at the row numbers in[1], nulls too if `counted` is 1: then a row number of
                            UINT32_MAX is a null (of a fixed width, which is not 0) */
    AS_CHAIN_MATCH =
        2, /* what: as_lookup; in: its key columns. `makes`: the rows that have one; out[0]: which rows these
                            are, out[1]: the table's row of each */
    AS_CHAIN_FIND = 3 /* the same for all rows: out[0]: the table's row of each, or UINT32_MAX */
};
typedef struct as_chain_step {
    uint32_t kind;
    uint32_t member; /* the operator whose step it is: its time is added up */
    uint32_t rows; /* the set that it works on */
    uint32_t makes; /* the set whose size it finds, or AS_CHAIN_NONE */
    uint32_t inputs, outputs, counted;
    uint32_t unused;
    const void *what;
    const uint32_t *in, *out;
    const uint32_t *how; /* of the lookup's key columns (lookup.h) */
} as_chain_step;
typedef struct as_chain_work {
    const as_chain_step *steps;
    as_column *columns; /* what is written has `data`, and `validity` where it may be null */
    int64_t *rows; /* by set; [0] is given */
    uint64_t *took_ns; /* by member: added to */
    uint32_t count; /* of steps */
} as_chain_work;
/* A job of a pool (pool.h), or called: 0; else a row has failed, or the steps are wrong, and what was written is
   unspecified. */
int32_t as_chain_job(void *work);
/* cffi: end */
#endif
