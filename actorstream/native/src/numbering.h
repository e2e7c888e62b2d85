/* What the generators share: row numbers, random words and event times. Private to generate_*.c. */
#ifndef ACTORSTREAM_GENERATE_PRIVATE_H
#define ACTORSTREAM_GENERATE_PRIVATE_H
#include <stdbool.h>
#include <stddef.h>
#include "bits.h"
#include "generate.h"
#include "simd.h"

#define CHUNK 512        /* rows whose words are kept at a time, 4 KiB: they stay in the first-level cache */
#define RUN_AT_LEAST 8   /* rows that share an event time from which on filling runs is cheaper than counting */
#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)

AS_INLINE uint64_t splitmix64(uint64_t x) {
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The key of the 2^32 rows that `number` is among. */
AS_INLINE uint32_t key_of(uint64_t seed, uint64_t number) {
    return (uint32_t)(splitmix64(seed + (number >> 32) * GOLDEN) >> 32);
}

AS_INLINE uint32_t mix32(uint32_t x) {
    x ^= x >> 16;
    x *= UINT32_C(0x7feb352d);
    x ^= x >> 15;
    x *= UINT32_C(0x846ca68b);
    return x ^ (x >> 16);
}

AS_INLINE uint32_t second_word(uint32_t word) {
    uint32_t g = word * UINT32_C(0x9e3779b9);
    return g ^ (g >> 16);
}

/* The fields of YSB from the two words of a row. */
AS_INLINE uint32_t ad_of(uint32_t word) {
    return ((word >> 12) * AS_YSB_ADS) >> 20;
}
AS_INLINE uint32_t event_type_of(uint32_t word) {
    return ((word & 0xfff) * 3) >> 12;
}
AS_INLINE uint32_t user_of(uint32_t second) {
    return ((second >> 16) * AS_YSB_USERS) >> 16;
}
AS_INLINE uint32_t page_of(uint32_t second) {
    return ((second & 0xffff) * AS_YSB_PAGES) >> 16;
}
AS_INLINE uint32_t ad_type_of(uint32_t second) {
    return (((second * UINT32_C(0x85ebca6b)) >> 20) * 5) >> 12;
}

/* Whether rows made .. made + rows - 1 have numbers below 2^63 and times that can be computed. */
static inline bool numbered(const as_numbering *n, uint64_t made, int64_t rows) {
    if (n == NULL || rows < 0 || n->stride == 0 || n->stride > UINT64_C(1) << 20 || n->rows == 0 ||
        n->rows > UINT64_C(1) << 62 || n->units > UINT64_C(1) << 40)
        return false;
    unsigned __int128 last = (unsigned __int128)n->stride * (made + (unsigned __int128)rows) + n->first;
    unsigned __int128 time = last * n->units / n->rows + (n->start > 0 ? (uint64_t)n->start : 0);
    return last < (unsigned __int128)1 << 63 && time < (unsigned __int128)1 << 63;
}

/* A run of rows whose numbers have the same upper half, so that the lower halves alone tell them apart. */
typedef struct run {
    uint32_t low;    /* lower half of the number of its first row */
    uint32_t stride;
    uint32_t key;
    int64_t rows;
} run;

AS_INLINE run run_from(const as_numbering *n, uint64_t made, int64_t rows) {
    uint64_t number = n->first + made * n->stride;
    uint64_t left = ((UINT64_C(1) << 32) - (uint32_t)number + n->stride - 1) / n->stride;
    run found = {(uint32_t)number, (uint32_t)n->stride, key_of(n->seed, number),
                 left < (uint64_t)rows ? (int64_t)left : rows};
    return found;
}

AS_INLINE uint32_t word_of(run r, int64_t row) {
    return mix32((r.low + (uint32_t)row * r.stride) ^ r.key);
}

/* Event times of `rows` rows from number n on: a quotient that is carried along, never divided again. */
AS_INLINE void fill_times(const as_numbering *n, uint64_t made, int64_t rows, int64_t *restrict out) {
    unsigned __int128 passed = (unsigned __int128)(n->first + made * n->stride) * n->units;
    const uint64_t per = n->rows, step = n->stride * n->units / per, part = n->stride * n->units % per;
    int64_t now = n->start + (int64_t)(uint64_t)(passed / per);
    uint64_t over = (uint64_t)(passed % per);
    if (part == 0) { /* nothing is carried */
        for (int64_t row = 0; row < rows; row++)
            out[row] = now + row * (int64_t)step;
        return;
    }
    if (step == 0 && part * RUN_AT_LEAST <= per) {
        for (int64_t row = 0; row < rows;) {
            uint64_t same = (per - over + part - 1) / part;
            int64_t end = same < (uint64_t)(rows - row) ? row + (int64_t)same : rows;
            for (; row < end; row++)
                out[row] = now;
            over = over + same * part - per;
            now++;
        }
        return;
    }
    for (int64_t row = 0; row < rows; row++) {
        out[row] = now;
        over += part;
        const uint64_t carry = over >= per;
        over -= carry ? per : 0;
        now += (int64_t)(step + carry);
    }
}

/* The address of the column of `width` bytes a value that follows what ends at `at`. */
AS_INLINE uint8_t *column_at(uint8_t **at, uint32_t width, int64_t rows) {
    uint8_t *found = *at;
    *at += ((uint64_t)rows * width + 63) & ~UINT64_C(63);
    return found;
}
#endif
