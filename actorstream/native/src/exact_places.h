/* Places of sums that two floats do not hold: see exact.h. Private to exact*.c. */
#ifndef ACTORSTREAM_EXACT_PLACES_H
#define ACTORSTREAM_EXACT_PLACES_H
#include "exact.h"

/* Gives a sum of two floats a place. AS_OK | AS_E_MEMORY. */
int exact_place(as_exacts *pool, uint64_t *sum);
/* The two floats of a place. */
static inline uint64_t *exact_pair(const as_exacts *pool, const uint64_t *sum) {
    return pool->word + (sum[1] & (((uint64_t)1 << 50) - 1)) + 1;
}
/* Adds value * 2^(bit - 1074), bit at most 64 * (EXACT_LIMBS - 2), to the limbs of a place. AS_OK | AS_E_MEMORY. */
int exact_put(as_exacts *pool, uint64_t *sum, int64_t value, uint32_t bit);
/* Adds a finite float to them. AS_OK | AS_E_MEMORY. */
int exact_put_float(as_exacts *pool, uint64_t *sum, double value);
/* Writes all of a sum with a place as EXACT_LIMBS limbs. */
void exact_whole(const as_exacts *pool, const uint64_t *sum, uint64_t *limb);
#endif
