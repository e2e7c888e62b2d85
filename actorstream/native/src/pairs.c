/* Sets of (group, value): see pairs.h. */
#include "pairs.h"
#include <string.h>
#include "status.h"
#pragma GCC diagnostic ignored "-Wunused-function" /* of hash.h only the hash of one value is used here */
#include "hash.h"
#include "zeroed.h"

#define FIRST_SLOTS 64
#define FETCH 64 /* rows whose slots are fetched ahead */

void as_pairs_clear(as_pairs *pairs) {
    as_zeroed_free(pairs->slots, pairs->mask ? (pairs->mask + 1) * sizeof(as_pair) : 0);
    memset(pairs, 0, sizeof *pairs);
}

uint64_t as_pairs_bytes(const as_pairs *pairs) {
    return pairs->mask ? (pairs->mask + 1) * sizeof(as_pair) : 0;
}

/* The group comes in behind the secret: before it, values could be chosen that undo what groups change. */
AS_INLINE uint64_t hash_of(uint32_t group, uint64_t value) {
    return combine_two(mix(value ^ as_hash_secret.word), group * R2);
}

static int grow(as_pairs *pairs) {
    const uint64_t slots = pairs->mask ? (pairs->mask + 1) * 2 : FIRST_SLOTS;
    as_pair *made = as_zeroed_grow(NULL, 0, slots * sizeof *made);
    if (made == NULL)
        return AS_E_MEMORY;
    for (uint64_t old = 0; pairs->mask && old <= pairs->mask; old++) {
        const as_pair pair = pairs->slots[old];
        if (pair.group == 0)
            continue;
        uint64_t at = hash_of(pair.group - 1, pair.value) & (slots - 1);
        while (made[at].group)
            at = (at + 1) & (slots - 1);
        made[at] = pair;
    }
    as_zeroed_free(pairs->slots, as_pairs_bytes(pairs));
    pairs->slots = made;
    pairs->mask = slots - 1;
    return AS_OK;
}

/* 1: new, 0: known. There is room. */
AS_INLINE int put(as_pairs *pairs, uint32_t group, uint64_t value, uint64_t hash) {
    uint64_t at = hash & pairs->mask;
    for (; pairs->slots[at].group; at = (at + 1) & pairs->mask)
        if (pairs->slots[at].value == value && pairs->slots[at].group == group + 1)
            return 0;
    pairs->slots[at] = (as_pair){value, group + 1, 0};
    pairs->count++;
    return 1;
}

/* Room for `more` further pairs. */
static int reserve(as_pairs *pairs, uint64_t more) {
    int status = AS_OK;
    while (status == AS_OK && (pairs->count + more) * 4 > (pairs->mask ? pairs->mask + 1 : 0) * 3)
        status = grow(pairs);
    return status;
}

int as_pairs_put(as_pairs *pairs, uint32_t group, uint64_t value) {
    const int status = reserve(pairs, 1);
    return status == AS_OK ? put(pairs, group, value, hash_of(group, value)) : status;
}

int as_pairs_add(as_pairs *pairs, const uint32_t *group, const uint64_t *value, int64_t rows, uint64_t **cell) {
    uint64_t hash[FETCH];
    for (int64_t done = 0; done < rows; done += FETCH) {
        const int64_t block = rows - done < FETCH ? rows - done : FETCH;
        const int status = reserve(pairs, (uint64_t)block);
        if (status != AS_OK)
            return status;
        for (int64_t i = 0; i < block; i++) {
            hash[i] = hash_of(group[done + i], value[done + i]);
            __builtin_prefetch(&pairs->slots[hash[i] & pairs->mask]);
        }
        for (int64_t i = 0; i < block; i++)
            *cell[done + i] += (uint64_t)put(pairs, group[done + i], value[done + i], hash[i]);
    }
    return AS_OK;
}

int as_pairs_renumber(as_pairs *pairs, const uint32_t *group, const uint32_t *value) {
    as_pairs made = {0};
    for (uint64_t at = 0; pairs->mask && at <= pairs->mask; at++) {
        const as_pair pair = pairs->slots[at];
        const uint32_t own = pair.group == 0 ? UINT32_MAX : group ? group[pair.group - 1] : pair.group - 1;
        if (own == UINT32_MAX)
            continue;
        const int added = as_pairs_put(&made, own, value ? value[pair.value] : pair.value);
        if (added < 0) {
            as_pairs_clear(&made);
            return added;
        }
    }
    as_pairs_clear(pairs);
    *pairs = made;
    return AS_OK;
}
