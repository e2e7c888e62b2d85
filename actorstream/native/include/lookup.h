/*
 * Lookups: from the keys of a table that does not change to its rows, a column of keys at a time (static joins, AIR
 * section 4.1; both sides of a window join once the window has closed).
 *
 * The caller owns all memory: `as_lookup_measure` looks at the key columns and says how many bytes `as_lookup_init`
 * needs, a multiple of 64. Bytes and composite keys are compared in the table's own columns, so those must outlive the
 * lookup. After `as_lookup_init` it is only read: any number of threads may look keys up at once, none waits for
 * another. Calls use the stack only, and no more than 40 KiB of it.
 *
 * Keys are equal as in kernels.h: integers, booleans, datetimes and codes by value whatever their width, floats as
 * float64 (-0.0 is 0.0, NaN is NaN), strings by their bytes. A null equals nothing, neither in the table nor in a row.
 *
 *   mode     key columns                            a key is found
 *   DENSE    one of integers whose range is small   at place[key - least]
 *   NUMBERS  one of integers or floats              by its 64 bits, in a hash table of buckets (src/lookup_slots.h)
 *   TEXT     one of bytes                           by 8 bytes of it at a place where the table's keys differ, else by
 *                                                   its hash, there; then all bytes are compared
 *   ROWS     several                                by their combined hash, there; then the columns are compared
 */
#ifndef ACTORSTREAM_LOOKUP_H
#define ACTORSTREAM_LOOKUP_H
#include "column.h"
#include "kernels.h"
/* cffi: begin */
enum { AS_LOOKUP_DENSE = 1, AS_LOOKUP_NUMBERS = 2, AS_LOOKUP_TEXT = 3, AS_LOOKUP_ROWS = 4 };
enum { AS_LOOKUP_COLUMNS = 16 };     /* key columns at the most */
enum {
    AS_LOOKUP_POSITIVE = 16
};    /* added to a table column's kind: keys with the top bit set equal nothing (int64
                                        keys that are compared with uint64 ones, or the other way round) */
typedef struct as_lookup {
    uint32_t mode;
    uint32_t columns;
    uint32_t rows;                   /* of the table */
    uint32_t keys;                   /* distinct ones, nulls left out */
    uint32_t duplicates;             /* rows whose key an earlier row has */
    uint32_t word_at;                /* TEXT: where the 8 bytes lie in each key; UINT32_MAX: hashes */
    uint32_t buckets;
    uint64_t least;                  /* DENSE */
    uint64_t span;                   /* DENSE: keys are least .. least + span - 1 */
    uint64_t bytes;                  /* of memory that as_lookup_init needs */
    void *memory;
    uint32_t *first; /* by table row: the first row with the same key; UINT32_MAX: it equals nothing */
    uint32_t *begin, *count, *order; /* of duplicates: rows order[begin[r] ..] have the key of first row r */
    as_column key[AS_LOOKUP_COLUMNS];
    uint32_t how[AS_LOOKUP_COLUMNS];
} as_lookup;
/* Prepares `lookup` for the `rows` rows of `columns` key columns read as `how` (kernels.h). AS_OK | AS_E_ARGUMENT (no
   or too many columns, a width that cannot be read so, rows over 2^32 - 2, a key of 4 GiB). */
int as_lookup_measure(as_lookup *lookup, const as_column *key, const uint32_t *how, uint32_t columns, int64_t rows);
/* Builds it in `memory` (lookup->bytes bytes, aligned to 64). */
void as_lookup_init(as_lookup *lookup, void *memory);
/* The first table row with the key of each of `rows` rows, or UINT32_MAX; row i is index[i] of the columns, or i
   without an index (then, and only then, there may be several columns). Answers how many have one, or AS_E_ARGUMENT.
   `how` as for the table; integers and floats do not mix. */
int64_t as_lookup_find(const as_lookup *lookup, const as_column *key, const uint32_t *how, const uint32_t *index,
                       int64_t rows, uint32_t *found);
/* The same without the rows that have none: for each that has one its number (index[i] or i) in left, and the table's
   first row in right. If all have one, left is left alone. Room for `rows` numbers in both. Answers how many. */
int64_t as_lookup_match(const as_lookup *lookup, const as_column *key, const uint32_t *how, const uint32_t *index,
                        int64_t rows, uint32_t *left, uint32_t *right);
/* How many pairs as_lookup_expand makes of what as_lookup_find found. */
int64_t as_lookup_pairs(const as_lookup *lookup, const uint32_t *found, int64_t rows, int outer);
/* Pairs (i, table row) of all rows with the key, in both orders; with `outer` also (i, UINT32_MAX) where there is
   none. Writes at most `capacity` pairs from where `cursor` (row, pair of that row; {0, 0} at first) stands, and moves
   it on; done when cursor[0] is `rows`. Answers how many were written. */
int64_t as_lookup_expand(const as_lookup *lookup, const uint32_t *found, int64_t rows, int outer, int64_t cursor[2],
                         int64_t capacity, uint32_t *left, uint32_t *right);
/* cffi: end */
#endif
