/*
 * Chains: what several operators in a row do for one jumbo tuple, as one call (ordered-multicore section 6: a chain is one
 * operator to the threads): operators without a state, and behind them some that add the rows to their states. A chain is a list of steps over numbered columns. Each step works on a row set: the
 * rows of the jumbo tuple are set 0, and what a filter or a join leaves is a set of its own, whose size the step finds. A
 * column is aligned with one set; GATHER aligns it with another by a column of row numbers (uint32). A set has at the most
 * some multiple of the rows of set 0, for which every column of it has room: EXPAND refuses a batch that leaves more, and
 * no other step leaves more rows than it was given.
 *
 * All steps that can fail because of a row come before those that change a state, and the first of these refuses a batch with
 * late rows before it changes anything. Where there are several, whoever calls must see to it that no row is late. So a batch that was refused can go through the operators' own hooks instead.
 *
 * Knows neither types nor schemas, chooses nothing, allocates nothing of its own but what as_expression_run does, and the
 * bytes of texts that steps write, which grow and belong to the run. A list of
 * steps is only read: any thread may run it, each on columns and sizes of its own, and a state has one owner at a time; none
 * waits for another.
 */
#ifndef ACTORSTREAM_CHAIN_H
#define ACTORSTREAM_CHAIN_H
#include "column.h"
#include "expression.h"
#include "lookup.h"
#include "operand.h"
#include "userfn.h"
/* cffi: begin */
enum { AS_CHAIN_NONE = 4294967295, AS_CHAIN_MOST = 64 }; /* no set or column; columns in or out of a step at the most */
enum as_chain_kind {
    AS_CHAIN_RUN = 0, /* what: as_expression; in: its columns; out: its outputs, 2 * column, + 1: the column's validity.
                            `makes`: the set whose size is what it has counted for output `counted` */
    AS_CHAIN_GATHER = 1, /* out[0] = in[0] at the row numbers in[1], nulls too if `counted` is 1: then a row number of
                            UINT32_MAX is a null (of a fixed width, which is not 0) */
    AS_CHAIN_MATCH =
        2, /* what: as_lookup; in: its key columns. `makes`: the rows that have one; out[0]: which rows these
                            are, out[1]: the table's row of each. `counted` is 1: its only key column is read at the row
                            numbers in[1], and these rows are what out[0] names */
    AS_CHAIN_FIND = 3, /* the same for all rows: out[0]: the table's row of each, or UINT32_MAX */
    AS_CHAIN_EXPAND = 5, /* the same with all rows of the table that have the key, in its order. `makes`: the pairs;
                            out[0]: the row of each, out[1]: the table's row; with `counted` 1 also UINT32_MAX for a row
                            that has none. out[2]: memory for the numbers of the rows that it works on */
    AS_CHAIN_TEXT =
        6, /* what: as_chain_text; in: columns of the set; out[0]: texts, with `offsets` (int32) for the rows of
                          the set, and bytes[counted] of the run for their bytes. TAKE: in[0] at the row numbers in[1];
                          AS_TEXT_IN: out[0] is a byte a row */
    AS_CHAIN_USER =
        7, /* what: as_user_function (userfn.h); in: its columns; out[0]: what it fills, a byte a row made 0 or 1
                          if `counted` is 1. `makes`: the rows for which that is not 0; out[1]: which rows these are. A
                          batch for which it returns anything but 0 is refused */
    AS_CHAIN_ADD =
        4 /* only further ones follow; adds the rows to a state. what: as_chain_state, whose `operand` has room for inputs / 2
                        operands; each is column in[2 * i] at the row numbers in[2 * i + 1], which may be AS_CHAIN_NONE, and
                        has `how` how[2 * i] and, with row numbers, `few` how[2 * i + 1] (operand.h). Column AS_CHAIN_NONE:
                        there is no such operand */
};
typedef struct as_chain_step {
    uint32_t kind;
    uint32_t member; /* the operator whose step it is: its time is added up */
    uint32_t rows; /* the set that it works on */
    uint32_t makes; /* the set whose size it finds, or AS_CHAIN_NONE */
    uint32_t inputs, outputs, counted;
    uint32_t room; /* the rows of `makes` at the most, as a multiple of those of set 0 */
    const void *what;
    const uint32_t *in, *out;
    const uint32_t *how; /* of the lookup's key columns (lookup.h), or of operands */
} as_chain_step;
/* What such a step adds rows to. AS_OK | AS_AGAIN, AS_E_ARGUMENT: some row is late, or an operand cannot be read; nothing was
   changed | AS_E_MEMORY: some rows may have been added. */
typedef struct as_chain_state {
    uintptr_t add; /* int32_t (*)(void *context, int64_t rows) */
    void *context;
    as_operand *operand; /* where the function reads the rows */
} as_chain_state;
enum as_text_operation {
    AS_TEXT_TAKE = 0, /* UINT32_MAX, as a row number, is a null */
    AS_TEXT_LABEL = 1, /* the table's text at a code of 1, 2 or 4 bytes; its last one for a null and any other code */
    AS_TEXT_CONSTANT = 2, /* the table's first text */
    AS_TEXT_IF = 3, /* where the byte in[0] is not 0 nor null in[1], else in[2] */
    AS_TEXT_COALESCE = 4, /* the first that is not null */
    AS_TEXT_CONCAT = 5, /* all, one behind the other; null if one is */
    AS_TEXT_LOWER = 6, /* refuses a batch with texts that are not ASCII */
    AS_TEXT_UPPER = 7,
    AS_TEXT_DIGITS = 8, /* of integers of any width */
    AS_TEXT_IN = 9 /* whether a text is one of the table's, which ascend by their bytes */
};
typedef struct as_chain_text {
    uint32_t operation;
    uint32_t is_signed;
    const as_column *table; /* texts, or NULL */
    int64_t size; /* of the table */
} as_chain_text;
typedef struct as_chain_bytes {
    uint8_t *data; /* from malloc */
    uint64_t room;
} as_chain_bytes;
typedef struct as_chain_work {
    const as_chain_step *steps;
    as_column *columns; /* what is written has `data`, and `validity` where it may be null */
    int64_t *rows; /* by set; [0] is given */
    uint64_t *took_ns; /* by member: added to */
    uint32_t count; /* of steps */
    as_chain_bytes *bytes; /* of this run alone; at first zeros */
} as_chain_work;
/* A job of a pool (pool.h), or called. 0: done. AS_E_MEMORY: there was no memory for the state, which may have some of the
   rows. AS_E_CORRUPT: a state has the rows, and another one refuses them: the steps are wrong. Anything else: a row has failed or is late, or the steps are wrong; the state was not changed, and what was written
   is unspecified. */
int32_t as_chain_job(void *work);
/* Frees the bytes of a run, which may run again. */
void as_chain_bytes_free(as_chain_bytes *bytes, uint32_t count);
/* cffi: end */
#endif
