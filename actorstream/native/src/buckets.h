/*
 * Slots of hash tables in buckets of eight, a cache line each: a reference in the low half (0: empty), 32 bits of the hash
 * or key, its tag, in the high half. A key that finds its bucket full goes to the next one that is not, so a bucket with an
 * empty slot ends a search. Private to groups.c and texts.c.
 */
#ifndef ACTORSTREAM_BUCKETS_H
#define ACTORSTREAM_BUCKETS_H
#include "bits.h"
#include "simd.h"

#define SLOTS 8

/* A bit for each slot of a bucket with the tag in the high half of `tag`. */
AS_INLINE uint32_t tags_of(const uint64_t *slot, uint64_t tag) {
    uint32_t match = 0;
    for (int i = 0; i < SLOTS; i++)
        match |= (uint32_t)(slot[i] >> 32 == tag >> 32 && (uint32_t)slot[i]) << i;
    return match;
}

#ifdef AS_AVX512
AS_TARGET_AVX512 AS_INLINE uint32_t tags_avx512(const uint64_t *slot, uint64_t tag) {
    const __m512i all = _mm512_loadu_si512(slot);
    const __m512i high = _mm512_xor_si512(all, _mm512_set1_epi64((int64_t)(tag >> 32 << 32)));
    /* the same tag leaves less than 2^32, and an empty slot is none */
    return _mm512_cmplt_epu64_mask(high, _mm512_set1_epi64((int64_t)1 << 32)) & _mm512_test_epi64_mask(all, all);
}
#endif
#endif
