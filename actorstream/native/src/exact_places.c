/* Places of sums that two floats do not hold: see exact.h. They grow as their limbs do. */
#include "exact_places.h"
#include "zeroed.h"

#define PLACED ((uint64_t)0x1fff << 50)
#define ROOM 64 /* words of a new pool */
#define LIMBS 3 /* words of a place before its limbs */
#define NOWHERE 0xffff /* the first limb of a place whose limbs are zeros that may be any */

static const uint32_t limbs_of_size[EXACT_SIZES] = {4, 8, 16, EXACT_LIMBS};

static uint64_t *place_of(const as_exacts *pool, const uint64_t *sum) {
    return exact_pair(pool, sum) - 1;
}

static uint32_t first_of(const uint64_t *place) {
    return (uint32_t)(place[0] & 0xffff);
}

static uint32_t limbs_of(const uint64_t *place) {
    return (uint32_t)(place[0] >> 16);
}

static int size_for(uint32_t limbs) {
    int size = 0;
    while (limbs_of_size[size] < limbs)
        size++;
    return size;
}

/* A zeroed place of a size; 0: no memory. */
static uint64_t take_place(as_exacts *pool, int size) {
    const uint64_t words = LIMBS + limbs_of_size[size];
    uint64_t at = pool->free[size];
    if (at) {
        pool->free[size] = pool->word[at + 1];
        memset(pool->word + at, 0, words * sizeof *pool->word);
        return at;
    }
    at = pool->count ? pool->count : 1;
    uint64_t room = pool->room ? pool->room : ROOM;
    while (room < at + words)
        room += room / 2;
    if (room > pool->room) {
        uint64_t *word = as_zeroed_grow(pool->word, pool->room * sizeof *word, room * sizeof *word);
        if (word == NULL)
            return 0;
        pool->word = word;
        pool->room = room;
    }
    pool->count = at + words;
    return at;
}

static void give_place(as_exacts *pool, uint64_t *place) {
    const int size = size_for(limbs_of(place));
    place[1] = pool->free[size];
    pool->free[size] = (uint64_t)(place - pool->word);
}

int exact_place(as_exacts *pool, uint64_t *sum) {
    const uint64_t at = take_place(pool, 0);
    if (at == 0)
        return AS_E_MEMORY;
    uint64_t *place = pool->word + at;
    place[0] = NOWHERE | (uint64_t)limbs_of_size[0] << 16;
    memcpy(place + 1, sum, 2 * sizeof *sum);
    sum[0] = 0;
    sum[1] = PLACED | at;
    return AS_OK;
}

void as_exact_free(as_exacts *pool, uint64_t *sum) {
    if (as_exact_placed(sum))
        give_place(pool, place_of(pool, sum));
    sum[0] = sum[1] = 0;
}

void as_exacts_clear(as_exacts *pool) {
    as_zeroed_free(pool->word, pool->room * sizeof *pool->word);
    memset(pool, 0, sizeof *pool);
}

uint64_t as_exacts_bytes(const as_exacts *pool) {
    return pool->count * sizeof *pool->word;
}

/* All ones if the limbs are negative, else 0. */
static uint64_t sign_of(const uint64_t *limb, uint32_t limbs) {
    return 0 - (limb[limbs - 1] >> 63);
}

/* The first of `room` limbs in whose middle limbs `from` to `to` - 1 lie. */
static uint32_t begin_of(uint32_t from, uint32_t to, uint32_t room) {
    const uint32_t spare = (room - (to - from)) / 2, begin = from > spare ? from - spare : 0;
    return begin + room > EXACT_LIMBS ? EXACT_LIMBS - room : begin;
}

/* Makes the limbs of a place reach from `low` to `end` - 1. */
static int reach(as_exacts *pool, uint64_t *sum, uint32_t low, uint32_t end) {
    uint64_t *place = place_of(pool, sum);
    const uint32_t first = first_of(place), limbs = limbs_of(place);
    if (first == NOWHERE) {
        place[0] = begin_of(low, end, limbs) | (uint64_t)limbs << 16;
        return AS_OK;
    }
    const uint32_t from = low < first ? low : first, to = end > first + limbs ? end : first + limbs;
    if (from == first && to == first + limbs)
        return AS_OK;
    const int size = size_for(to - from);
    const uint32_t room = limbs_of_size[size], begin = begin_of(from, to, room);
    const uint64_t at = take_place(pool, size);
    if (at == 0)
        return AS_E_MEMORY;
    place = place_of(pool, sum);
    uint64_t *made = pool->word + at;
    made[0] = begin | (uint64_t)room << 16;
    memcpy(made + 1, place + 1, 2 * sizeof *made);
    uint64_t *limb = made + LIMBS + (first - begin);
    memcpy(limb, place + LIMBS, limbs * sizeof *limb);
    const uint64_t sign = sign_of(place + LIMBS, limbs);
    for (uint32_t above = first + limbs; above < begin + room; above++)
        made[LIMBS + above - begin] = sign;
    give_place(pool, place);
    sum[1] = PLACED | at;
    return AS_OK;
}

/* Adds value * 2^bit to limbs of which the lowest one of the value, the next, and all above are there. */
static void add_limbs(uint64_t *limb, uint32_t limbs, int64_t value, uint32_t bit) {
    const unsigned __int128 wide = (unsigned __int128)(__int128)value << (bit % 64);
    uint32_t at = bit / 64;
    unsigned __int128 total = (unsigned __int128)limb[at] + (uint64_t)wide;
    limb[at++] = (uint64_t)total;
    total = (unsigned __int128)limb[at] + (uint64_t)(wide >> 64) + (uint64_t)(total >> 64);
    limb[at++] = (uint64_t)total;
    const uint64_t sign = 0 - (uint64_t)(value < 0);
    uint64_t carry = (uint64_t)(total >> 64);
    for (; at < limbs && carry != (sign & 1); at++) { /* adding all ones and a carry changes nothing, nor does 0 */
        const uint64_t before = limb[at];
        limb[at] = before + sign + carry;
        carry = sign ? before != 0 || carry : limb[at] < before;
    }
}

int exact_put(as_exacts *pool, uint64_t *sum, int64_t value, uint32_t bit) {
    if (value == 0)
        return AS_OK;
    int status = reach(pool, sum, bit / 64, bit / 64 + 2);
    if (status != AS_OK)
        return status;
    uint64_t *place = place_of(pool, sum);
    const uint32_t first = first_of(place), limbs = limbs_of(place);
    add_limbs(place + LIMBS, limbs, value, bit - 64 * first);
    const uint64_t top = place[LIMBS + limbs - 1];
    if ((top + ((uint64_t)1 << 62)) >> 63 && first + limbs < EXACT_LIMBS)
        status = reach(pool, sum, first, first + limbs + 1);
    return status;
}

/* A finite float as a whole number of units of 2^(*bit - 1074). */
static int64_t whole_of(double value, uint32_t *bit) {
    const uint64_t bits = as_bits(value), exponent = bits >> 52 & 0x7ff;
    uint64_t own = bits & (((uint64_t)1 << 52) - 1);
    if (exponent)
        own |= (uint64_t)1 << 52;
    *bit = exponent ? (uint32_t)exponent - 1 : 0;
    return bits >> 63 ? -(int64_t)own : (int64_t)own;
}

int exact_put_float(as_exacts *pool, uint64_t *sum, double value) {
    uint32_t bit;
    const int64_t own = whole_of(value, &bit);
    return exact_put(pool, sum, own, bit);
}

void exact_whole(const as_exacts *pool, const uint64_t *sum, uint64_t *limb) {
    const uint64_t *place = place_of(pool, sum), *pair = place + 1;
    const uint32_t first = first_of(place), limbs = limbs_of(place);
    memset(limb, 0, EXACT_LIMBS * sizeof *limb);
    if (first != NOWHERE) {
        memcpy(limb + first, place + LIMBS, limbs * sizeof *limb);
        const uint64_t sign = sign_of(place + LIMBS, limbs);
        for (uint32_t above = first + limbs; above < EXACT_LIMBS; above++)
            limb[above] = sign;
    }
    for (int each = 0; each < 2; each++) {
        uint32_t bit;
        const int64_t own = whole_of(as_float(pair[each]), &bit);
        add_limbs(limb, EXACT_LIMBS, own, bit);
    }
}
