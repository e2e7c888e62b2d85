/*
 * Lists: all values of a group, for what only all of them can tell (quantiles). Nodes lie in one pool; a list
 * is two words of a cell, zero for an empty one:
 *
 *   word 0   first node + 1 in the low half, last node + 1 in the high half
 *   word 1   how many values
 *
 * One owner at a time. A zeroed struct is an empty pool.
 */
#ifndef ACTORSTREAM_LISTS_H
#define ACTORSTREAM_LISTS_H
#include <stdint.h>

typedef struct as_node {
    uint64_t value;
    uint32_t next;                             /* node + 1; 0: the last */
} __attribute__((packed, aligned(4))) as_node; /* 12 bytes */

typedef struct as_lists {
    as_node *node;
    uint64_t count, room;
    uint32_t free; /* first node that is free again, + 1 */
} as_lists;

void as_lists_clear(as_lists *lists);
/* AS_OK | AS_E_MEMORY. */
int as_lists_append(as_lists *lists, uint64_t *list, uint64_t value);
/* Moves the values of `other` to the end of `list`. */
void as_lists_join(as_lists *lists, uint64_t *list, uint64_t *other);
/* Writes the list's values to `out`, which has room for them; answers how many. */
uint64_t as_lists_read(const as_lists *lists, const uint64_t *list, uint64_t *out);
/* Gives the list's nodes back. */
void as_lists_free(as_lists *lists, uint64_t *list);
/* Leaves one of each value (in any order), using `spare` with room for all. */
void as_lists_distinct(as_lists *lists, uint64_t *list, uint64_t *spare);
uint64_t as_lists_bytes(const as_lists *lists);
#endif
