/*
 * Exact sums of floats. What a sum says is the exact sum of its values, rounded once: it does not depend on their order,
 * nor on which sums were merged into which.
 *
 * A sum is two words of a cell, zero for an empty one: two floats that together are the sum, without any rounding. A
 * value is added by float operations that show whether they rounded. Where they did, the two floats do not hold the sum,
 * and it gets a place in a pool:
 *
 *   word 0   0                          of a sum with a place; else a float, or the infinity or NaN that the sum is
 *   word 1   PLACED | word of the place                       else a float, 0 beside an infinity or NaN
 *
 *   place    word 0     first limb, and from bit 16 on how many limbs
 *            word 1, 2  two floats as above: what was added since they last did not hold it
 *            then       limbs of a whole number in two's complement, which counts units of 2^-1074: limb n is worth
 *                       2^(64 n) of them. The uppermost one is below 2^62 in magnitude.
 *
 * Two floats hold 106 bits at least: values of 53 bits whose magnitudes span 2^30 fit millions of times. So most sums
 * need no place.
 *
 * One owner at a time. A zeroed pool is an empty one.
 */
#ifndef ACTORSTREAM_EXACT_PRIVATE_H
#define ACTORSTREAM_EXACT_PRIVATE_H
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "../include/status.h"
#include "bits.h"

enum { EXACT_LIMBS = 36 };                     /* 2^63 of the largest float need 34 */
enum { EXACT_SIZES = 4 };                      /* of places: for 4, 8, 16 and EXACT_LIMBS limbs */
enum { EXACT_PARTS = 2 * (EXACT_LIMBS + 1) };  /* words that as_exact_parts writes at the most */

typedef struct as_exacts {
    uint64_t *word; /* the first one is not used */
    uint64_t count, room;
    uint64_t free[EXACT_SIZES]; /* by size: a place that is free, whose word 1 is the next one; 0: none */
} as_exacts;

AS_INLINE double as_float(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

AS_INLINE uint64_t as_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Whether total = one + other, without rounding: the difference that takes away the larger number is exact, so that one of
   both shows any error. False of NaN, and where the total overflows. */
AS_INLINE bool as_exact_total(double one, double other, double total) {
    return total - one == other && total - other == one;
}

/* What rounding has lost of total = one + other, unless that overflows. */
AS_INLINE double as_exact_lost(double one, double other, double total) {
    const double part = total - one;
    return (one - (total - part)) + (other - part);
}

/* Adds `value` to a sum if two floats hold what that is; else false, and nothing was changed. */
AS_INLINE bool as_exact_fits(uint64_t *sum, double value) {
    const double first = as_float(sum[0]), rest = as_float(sum[1]), total = first + value;
    const double lost = as_exact_lost(first, value, total), left = rest + lost;
    if (!as_exact_total(rest, lost, left))
        return false;
    sum[0] = as_bits(total);
    sum[1] = as_bits(left);
    return true;
}

/* Adds a sum to another one in the same way. */
AS_INLINE bool as_exact_fits_sum(uint64_t *sum, const uint64_t *from) {
    const double first = as_float(sum[0]), rest = as_float(sum[1]), value = as_float(from[0]), more = as_float(from[1]);
    const double total = first + value, lost = as_exact_lost(first, value, total), left = rest + lost,
                 all = left + more;
    if (!as_exact_total(rest, lost, left) || !as_exact_total(left, more, all))
        return false;
    sum[0] = as_bits(total);
    sum[1] = as_bits(all);
    return true;
}

/* Adds one value. AS_OK | AS_E_MEMORY. */
int as_exact_add_slowly(as_exacts *pool, uint64_t *sum, double value);
static inline int as_exact_add(as_exacts *pool, uint64_t *sum, double value) {
    return as_exact_fits(sum, value) ? AS_OK : as_exact_add_slowly(pool, sum, value);
}
/* Adds `rows` values. AS_OK | AS_E_MEMORY. */
int as_exact_add_all(as_exacts *pool, uint64_t *sum, const double *value, int64_t rows);
/* Adds a sum of another pool, or of the same one. `other` NULL: it must have no place. AS_OK | AS_E_ARGUMENT |
   AS_E_MEMORY. */
int as_exact_merge_slowly(as_exacts *pool, uint64_t *sum, const as_exacts *other, const uint64_t *from);
static inline int as_exact_merge(as_exacts *pool, uint64_t *sum, const as_exacts *other, const uint64_t *from) {
    return as_exact_fits_sum(sum, from) ? AS_OK : as_exact_merge_slowly(pool, sum, other, from);
}
/* Whether the sum has a place. */
AS_INLINE bool as_exact_placed(const uint64_t *sum) {
    return sum[1] >> 50 == 0x1fff;
}
/* The exact sum, rounded to the nearest float, ties to even. */
double as_exact_value(const as_exacts *pool, const uint64_t *sum);
/* A sum that has a place, as pairs of words: v and bit, worth v * 2^(bit - 1074) each, v signed. `out` has room for
   EXACT_PARTS; NULL: nothing is written. Answers how many words; 0 of a sum without a place. */
uint32_t as_exact_parts(const as_exacts *pool, const uint64_t *sum, uint64_t *out);
/* Adds such pairs. AS_OK | AS_E_ARGUMENT | AS_E_MEMORY. */
int as_exact_put_parts(as_exacts *pool, uint64_t *sum, const uint64_t *part, uint64_t words);
/* Gives the sum's place back, and makes it zero. */
void as_exact_free(as_exacts *pool, uint64_t *sum);
void as_exacts_clear(as_exacts *pool);
uint64_t as_exacts_bytes(const as_exacts *pool);
#endif
