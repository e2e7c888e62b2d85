/*
 * Finding keys in buckets of eight slots, a cache line each: one comparison a bucket, and no branch that
 * depends on where in it a key lies. Included by groups.c once for every instruction set:
 *
 *   FIND_NAME(name)      the function's name in this compilation
 *   FIND_TARGET          its attributes
 *   FIND_TAGS(bucket, tag)   a bit for each slot with the tag in its high half
 *   FIND_EMPTY(bucket)       a bit for each slot with nothing in it
 *
 * Slots and buckets are as in buckets.h.
 */
/* The slot of a key, or the empty one where it belongs. */
FIND_TARGET static inline __attribute__((always_inline)) uint64_t FIND_NAME(probe)(const as_groups *groups,
                                                                                   uint64_t hash, uint64_t tag,
                                                                                   const uint64_t *key,
                                                                                   const uint32_t words,
                                                                                   const bool narrow) {
    const uint64_t buckets = groups->mask / SLOTS; /* mask: slots - 1 */
    for (uint64_t bucket = hash & buckets;; bucket = (bucket + 1) & buckets) {
        const uint64_t *slot = groups->slots + bucket * SLOTS;
        for (uint32_t match = FIND_TAGS(slot, tag); match; match &= match - 1) {
            const uint64_t at = (uint64_t)__builtin_ctz(match);
            if (narrow || memcmp(groups->values + ((uint32_t)slot[at] - 1) * (uint64_t)words, key, words * 8) == 0)
                return bucket * SLOTS + at;
        }
        const uint32_t empty = FIND_EMPTY(slot);
        if (empty)
            return bucket * SLOTS + (uint64_t)__builtin_ctz(empty);
    }
}

/* Finds or adds keys of `words` words; `narrow`: the tag is the key. Both are constants where it is inlined.
   In passes, so that many rows wait for memory at once: for their buckets, then for the keys that those refer
   to. */
FIND_TARGET static inline __attribute__((always_inline)) int
FIND_NAME(find_words)(as_groups *groups, const uint64_t *key, int64_t rows, uint32_t *group, const uint32_t words,
                      const bool narrow) {
    const uint64_t start = as_hash_secret.word;
    uint64_t hash[FETCH], tag[FETCH];
    int status = as_groups_reserve(groups, 0);
    for (int64_t done = 0; done < rows && status == AS_OK; done += FETCH, key += FETCH * (int64_t)words) {
        const int64_t block = rows - done < FETCH ? rows - done : FETCH;
        for (int64_t i = 0; i < block; i++) {
            hash[i] = mix(key[i * words] ^ start);
            for (uint32_t word = 1; word < words; word++)
                hash[i] = combine_two(hash[i], mix(key[i * words + word] ^ start));
            tag[i] = narrow ? (key[i * words] - groups->narrow_base) << 32 : hash[i] >> 32 << 32;
        }
        const uint64_t buckets = groups->mask / SLOTS;
        for (int64_t i = 0; i < block; i++)
            __builtin_prefetch(groups->slots + (hash[i] & buckets) * SLOTS);
        for (int64_t i = 0; i < block && !narrow; i++) {
            const uint64_t *slot = groups->slots + (hash[i] & buckets) * SLOTS;
            const uint32_t match = FIND_TAGS(slot, tag[i]);
            const uint32_t own = (uint32_t)slot[match ? __builtin_ctz(match) : 0];
            __builtin_prefetch(groups->values + (own ? own - 1 : 0) * (uint64_t)words);
        }
        for (int64_t i = 0; i < block; i++) {
            uint64_t at = FIND_NAME(probe)(groups, hash[i], tag[i], key + i * words, words, narrow);
            if (__builtin_expect(groups->slots[at] == 0, 0)) {
                const uint64_t before = groups->mask;
                status = as_groups_reserve(groups, 1);
                if (status != AS_OK)
                    break;
                if (groups->mask != before)
                    at = FIND_NAME(probe)(groups, hash[i], tag[i], key + i * words, words, narrow);
                memcpy(groups->values + groups->count * words, key + i * words, words * 8);
                groups->slots[at] = tag[i] | ++groups->count;
            }
            group[done + i] = (uint32_t)groups->slots[at] - 1;
        }
    }
    return status;
}

/* `words` and `narrow` as constants. */
FIND_TARGET static int FIND_NAME(find_keys)(as_groups *groups, const uint64_t *key, int64_t rows, uint32_t *group) {
    if (groups->words == 1 && groups->narrow)
        return FIND_NAME(find_words)(groups, key, rows, group, 1, true);
    switch (groups->words) {
    case 1: return FIND_NAME(find_words)(groups, key, rows, group, 1, false);
    case 2: return FIND_NAME(find_words)(groups, key, rows, group, 2, false);
    case 3: return FIND_NAME(find_words)(groups, key, rows, group, 3, false);
    default: return FIND_NAME(find_words)(groups, key, rows, group, groups->words, false);
    }
}
#undef FIND_NAME
#undef FIND_TARGET
#undef FIND_TAGS
#undef FIND_EMPTY
