/* Exact sums: see exact.h. Adding and reading; places are in exact_places.c. */
#include "exact.h"
#include "exact_places.h"
#include "simd.h"

#define ENDLESS ((uint64_t)0x7ff << 52)
#define NOT_A_NUMBER (ENDLESS | (uint64_t)1 << 51)
#define LANES 16
#define BLOCK 1024 /* rows that lanes add up at once */

static bool is_finite(double value) {
    return (as_bits(value) & ENDLESS) != ENDLESS;
}

/* What is infinite or NaN is so for ever: adding floats says what it becomes. */
static void put_endless(as_exacts *pool, uint64_t *sum, double value) {
    const double before = as_exact_placed(sum) ? 0.0 : as_float(sum[0]), total = before + value;
    as_exact_free(pool, sum);
    sum[0] = total != total ? NOT_A_NUMBER : as_bits(total);
}

/* Adds to two floats, once those have as little in common as can be. */
static bool fits_apart(uint64_t *pair, double value) {
    uint64_t apart[2] = {pair[0], 0};
    if (!as_exact_fits(apart, as_float(pair[1])) || !as_exact_fits(apart, value))
        return false;
    memcpy(pair, apart, sizeof apart);
    return true;
}

int as_exact_add_slowly(as_exacts *pool, uint64_t *sum, double value) {
    if (!is_finite(value) || (!as_exact_placed(sum) && !is_finite(as_float(sum[0])))) {
        put_endless(pool, sum, value);
        return AS_OK;
    }
    if (!as_exact_placed(sum)) {
        if (fits_apart(sum, value))
            return AS_OK;
        const int status = exact_place(pool, sum);
        return status == AS_OK ? as_exact_add_slowly(pool, sum, value) : status;
    }
    uint64_t *pair = exact_pair(pool, sum);
    if (as_exact_fits(pair, value))
        return AS_OK;
    const double first = as_float(pair[0]), second = as_float(pair[1]);
    pair[0] = as_bits(value);
    pair[1] = 0;
    const int status = exact_put_float(pool, sum, first);
    return status == AS_OK ? exact_put_float(pool, sum, second) : status;
}

/* -- many values -- */

/* Adds `rows` values, a multiple of LANES, to LANES sums of two floats. *held: whether these hold them all. */
AS_INLINE void add_lanes_body(const double *value, int64_t rows, double *sum, double *rest, bool *held) {
    double own[LANES], own_rest[LANES];
    uint64_t wrong[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        own[lane] = value[lane];
        own_rest[lane] = 0.0;
        wrong[lane] = 0;
    }
    for (int64_t i = LANES; i < rows; i += LANES) {
        for (int lane = 0; lane < LANES; lane++) { /* as as_exact_fits */
            const double next = value[i + lane], total = own[lane] + next;
            const double lost = as_exact_lost(own[lane], next, total), left = own_rest[lane] + lost;
            wrong[lane] |= ((left - own_rest[lane] == lost) & (left - lost == own_rest[lane])) ? 0 : 1;
            own[lane] = total;
            own_rest[lane] = left;
        }
    }
    uint64_t any = 0;
    for (int lane = 0; lane < LANES; lane++) {
        sum[lane] = own[lane];
        rest[lane] = own_rest[lane];
        any |= wrong[lane];
    }
    *held = any == 0;
}
AS_VERSIONS(add_lanes, (const double *value, int64_t rows, double *sum, double *rest, bool *held),
            (value, rows, sum, rest, held))

int as_exact_add_all(as_exacts *pool, uint64_t *sum, const double *value, int64_t rows) {
    int status = AS_OK;
    while (rows > 0 && status == AS_OK) {
        int64_t block = rows < BLOCK ? rows : BLOCK;
        double lane[LANES], rest[LANES];
        bool held = false;
        if (block >= 2 * LANES) {
            block -= block % LANES;
            add_lanes(value, block, lane, rest, &held);
        }
        if (held) {
            for (int at = 0; at < LANES && status == AS_OK; at++) {
                status = as_exact_add(pool, sum, lane[at]);
                if (status == AS_OK)
                    status = as_exact_add(pool, sum, rest[at]);
            }
        } else {
            for (int64_t i = 0; i < block && status == AS_OK; i++)
                status = as_exact_add(pool, sum, value[i]);
        }
        value += block;
        rows -= block;
    }
    return status;
}

/* -- reading -- */

/* The float nearest to a whole number of units of 2^-1074, in two's complement. */
static double rounded(uint64_t *limb) {
    const uint64_t sign = limb[EXACT_LIMBS - 1] >> 63 << 63;
    uint64_t carry = sign != 0;
    int top = -1;
    for (int at = 0; at < EXACT_LIMBS; at++) {
        if (sign) {
            limb[at] = ~limb[at] + carry;
            carry &= limb[at] == 0;
        }
        top = limb[at] ? at : top;
    }
    if (top < 0)
        return 0.0;
    const int highest = 64 * top + 63 - __builtin_clzll(limb[top]), shift = highest - 52;
    if (shift <= 0) /* the bits of a float that is so small are this number */
        return as_float(limb[0] | sign);
    if (shift > 2045)
        return as_float(ENDLESS | sign);
    const int at = shift / 64, by = shift % 64;
    uint64_t own = limb[at] >> by, left = limb[at] & (((uint64_t)1 << by) - 1);
    if (by > 11 && at + 1 < EXACT_LIMBS)
        own |= limb[at + 1] << (64 - by);
    /* what is rounded away, as a fraction of 2^64 with a bit for all that is still smaller */
    uint64_t away = by ? left << (64 - by) : at ? limb[at - 1] : 0;
    const int below = by ? at : at - 1;
    bool more = false;
    for (int lower = 0; lower < below; lower++)
        more |= limb[lower] != 0;
    own &= ((uint64_t)1 << 53) - 1;
    const uint64_t half = (uint64_t)1 << 63;
    own += away > half || (away == half && (more || (own & 1)));
    return as_float((((uint64_t)shift << 52) + own) | sign); /* a carry goes on into the exponent */
}

double as_exact_value(const as_exacts *pool, const uint64_t *sum) {
    if (!as_exact_placed(sum))
        return as_float(sum[0]) + as_float(sum[1]);
    uint64_t limb[EXACT_LIMBS];
    exact_whole(pool, sum, limb);
    return rounded(limb);
}

uint32_t as_exact_parts(const as_exacts *pool, const uint64_t *sum, uint64_t *out) {
    if (!as_exact_placed(sum))
        return 0;
    uint64_t limb[EXACT_LIMBS], carry = 0;
    exact_whole(pool, sum, limb);
    uint32_t words = 0;
    for (uint32_t at = 0; at < EXACT_LIMBS;
         at++) { /* a limb of 2^63 or more counts as negative, and the next one more */
        const uint64_t own = limb[at] + carry;
        carry = own < carry || own >> 63;
        if (own == 0)
            continue;
        if (out != NULL) {
            out[words] = own;
            out[words + 1] = 64 * at;
        }
        words += 2;
    }
    return words; /* what is carried out of the last limb is the sign */
}

int as_exact_put_parts(as_exacts *pool, uint64_t *sum, const uint64_t *part, uint64_t words) {
    if (words % 2)
        return AS_E_ARGUMENT;
    int status = AS_OK;
    for (uint64_t at = 0; at < words && status == AS_OK; at += 2) {
        if (part[at + 1] > 64 * (EXACT_LIMBS - 2))
            return AS_E_ARGUMENT;
        if (!as_exact_placed(sum)) {
            if (!is_finite(as_float(sum[0])))
                continue;
            status = exact_place(pool, sum);
        }
        if (status == AS_OK)
            status = exact_put(pool, sum, (int64_t)part[at], (uint32_t)part[at + 1]);
    }
    return status;
}

int as_exact_merge_slowly(as_exacts *pool, uint64_t *sum, const as_exacts *other, const uint64_t *from) {
    if (!as_exact_placed(from)) {
        const double rest = as_float(from[1]);
        const int status = as_exact_add(pool, sum, as_float(from[0]));
        return status == AS_OK && rest != 0.0 ? as_exact_add(pool, sum, rest) : status;
    }
    if (other == NULL)
        return AS_E_ARGUMENT;
    uint64_t part[EXACT_PARTS];
    return as_exact_put_parts(pool, sum, part, as_exact_parts(other, from, part));
}
