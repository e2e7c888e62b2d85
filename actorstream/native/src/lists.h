/*
 * Lists: all values of a group, for what only all of them can tell (quantiles). Values lie in chunks of one pool, whose
 * size grows with the list, so that reading a list is copying runs of memory. A list is two words of a cell, zero for an
 * empty one:
 *
 *   word 0   of one value: the value; of more: its last chunk, how many values that has room for still, and its class, as in
 *            a link
 *   word 1   how many values
 *
 *   chunk    a link, then (2 << class) - 1 values; its link names the next chunk, that of the last one the first
 *   link     44 bits: word of the pool | 16 bits: room left (of this chunk, unless it is the last) | 4 bits: class
 *
 * One owner at a time. A zeroed struct is an empty pool.
 */
#ifndef ACTORSTREAM_LISTS_H
#define ACTORSTREAM_LISTS_H
#include <stdbool.h>
#include <stdint.h>

enum { LIST_CLASSES = 9 }; /* the chunks of the last one take 4 KiB */

typedef struct as_lists {
    uint64_t *word;
    uint64_t used, room;
    uint64_t free[LIST_CLASSES]; /* the first free chunk of each class, whose link names the next one; 0: none */
} as_lists;

void as_lists_clear(as_lists *lists);
/* AS_OK | AS_E_MEMORY. */
int as_lists_append(as_lists *lists, uint64_t *list, uint64_t value);
/* A hint that a value will soon be appended. */
void as_lists_expect(const as_lists *lists, const uint64_t *list);
/* Moves the values of `other` to the end of `list`. AS_OK | AS_E_MEMORY. */
int as_lists_join(as_lists *lists, uint64_t *list, uint64_t *other);
/* The values of the list's next chunk, in order, and how many; NULL: there was no further one. *chunk: 0 for the first. */
uint64_t *as_lists_next(const as_lists *lists, const uint64_t *list, uint64_t *chunk, uint64_t *count);
/* Writes the list's values to `out`, which has room for them; returns how many. */
uint64_t as_lists_read(const as_lists *lists, const uint64_t *list, uint64_t *out);
/* Gives the list's chunks back. */
void as_lists_free(as_lists *lists, uint64_t *list);
/* Leaves one of each value, ascending, using `spare` with room for all. */
void as_lists_distinct(as_lists *lists, uint64_t *list, uint64_t *spare);
/* Whether each of the first `count` values is above the one before it. */
bool as_lists_ascend(const as_lists *lists, const uint64_t *list, uint64_t count);
uint64_t as_lists_bytes(const as_lists *lists);
#endif
