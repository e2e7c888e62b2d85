/* The struct behind groups.h. Private to groups*.c. */
#ifndef ACTORSTREAM_GROUPS_PRIVATE_H
#define ACTORSTREAM_GROUPS_PRIVATE_H
#include "../include/groups.h"
#include "texts.h"

struct as_groups {
    uint32_t kind, keys;
    uint32_t words; /* of a key in `values`: one a column, then one with a bit a null column if any may be null */
    uint32_t how[AS_GROUPS_KEYS];
    bool nullable[AS_GROUPS_KEYS], any_nullable;
    uint64_t count;
    /* NUMBER, ROW: slots as in buckets.h, a reference is number + 1; a tag is 32 bits of the hash or, if `narrow`, key - narrow_base, all
     * of it */
    uint64_t *slots, *values;
    uint64_t mask, room;
    bool narrow;
    uint64_t narrow_base;
    /* DIRECT */
    uint64_t base, span;
    uint64_t alive; /* groups after the last renumbering */
    bool pending;   /* DIRECT: find met keys from pending_low to pending_high outside */
    uint64_t pending_low, pending_high;
    uint64_t settled;
    as_texts texts[AS_GROUPS_KEYS];
    uint32_t *order;
    uint64_t ordered; /* count when `order` was made; 0: not */
    uint64_t *block;  /* words of the rows of one find */
    uint64_t *column; /* one column of them */
};

/* What makes words of a key column compare as unsigned ones. */
static inline uint64_t flip_of(uint32_t how) {
    return how == AS_HASH_SIGNED ? (uint64_t)1 << 63 : 0;
}
int as_groups_slots(as_groups *groups, uint64_t slots);
uint64_t as_groups_hash(const as_groups *groups, const uint64_t *words);
#endif
