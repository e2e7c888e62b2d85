/*
 * Pairs: a set of (group, value), for exact counts of distinct values. Open addressing with linear probing; a
 * slot is 16 bytes. One owner at a time. A zeroed struct is an empty set.
 */
#ifndef ACTORSTREAM_PAIRS_H
#define ACTORSTREAM_PAIRS_H
#include <stdbool.h>
#include <stdint.h>

typedef struct as_pair {
    uint64_t value;
    uint32_t group; /* + 1; 0: empty */
    uint32_t unused;
} as_pair;

typedef struct as_pairs {
    as_pair *slots;
    uint64_t mask, count;
} as_pairs;

void as_pairs_clear(as_pairs *pairs);
/* For each of `rows` pairs: adds one to *cell[i] if it is new. AS_OK | AS_E_MEMORY. */
int as_pairs_add(as_pairs *pairs, const uint32_t *group, const uint64_t *value, int64_t rows, uint64_t **cell);
/* Adds one pair; 1 if it is new, 0 if not, or AS_E_MEMORY. */
int as_pairs_put(as_pairs *pairs, uint32_t group, uint64_t value);
/* New numbers of groups (UINT32_MAX: dropped) and of values; NULL: they stay. AS_OK | AS_E_MEMORY. */
int as_pairs_renumber(as_pairs *pairs, const uint32_t *group, const uint32_t *value);
uint64_t as_pairs_bytes(const as_pairs *pairs);
#endif
