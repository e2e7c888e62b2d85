/* Keys to dense numbers: finding and adding. See groups.h; what changes all numbers is in groups_change.c. */
#include "groups.h"
#include "buckets.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-function" /* of hash.h only the hash of one value is used here */
#include "hash.h"
#include "zeroed.h"

#define FIRST_SLOTS 1024
#define FETCH 128 /* rows whose slots are fetched ahead: more than a core has misses in flight */
#define MOST (UINT32_MAX - 1)

as_groups *as_groups_create(uint32_t keys, const uint32_t *how, const uint32_t *nullable) {
    if (keys > AS_GROUPS_KEYS) {
        errno = EINVAL;
        return NULL;
    }
    as_groups *groups = calloc(1, sizeof *groups);
    if (groups == NULL)
        return NULL;
    groups->keys = keys;
    for (uint32_t key = 0; key < keys; key++) {
        groups->how[key] = how[key];
        groups->nullable[key] = nullable[key] != 0;
        groups->any_nullable |= nullable[key] != 0;
    }
    groups->words = keys + (groups->any_nullable ? 1 : 0);
    groups->kind = keys == 0                         ? AS_GROUPS_ALL
                   : groups->words > 1               ? AS_GROUPS_ROW
                   : groups->how[0] == AS_HASH_BYTES ? AS_GROUPS_TEXT
                                                     : AS_GROUPS_NUMBER;
    groups->count = keys == 0;
    groups->narrow = groups->kind == AS_GROUPS_NUMBER && how[0] != AS_HASH_FLOAT;
    groups->block = malloc((groups->words + 1) * (size_t)AS_GROUPS_BLOCK * sizeof *groups->block);
    if (groups->block == NULL) {
        free(groups);
        return NULL;
    }
    groups->column = groups->block + groups->words * (size_t)AS_GROUPS_BLOCK;
    return groups;
}

void as_groups_destroy(as_groups *groups) {
    if (groups == NULL)
        return;
    as_zeroed_free(groups->slots, groups->mask ? (groups->mask + 1) * 8 : 0);
    as_zeroed_free(groups->values, groups->room * groups->words * 8);
    for (uint32_t key = 0; key < groups->keys; key++)
        as_texts_clear(&groups->texts[key]);
    free(groups->order);
    free(groups->block);
    free(groups);
}

uint64_t as_groups_count(const as_groups *groups) {
    return groups->kind == AS_GROUPS_TEXT ? groups->texts[0].count : groups->count;
}

uint32_t as_groups_kind(const as_groups *groups) {
    return groups->kind;
}

uint64_t as_groups_bytes(const as_groups *groups) {
    uint64_t bytes = sizeof *groups + (groups->mask ? (groups->mask + 1) * 8 : 0) + groups->count * groups->words * 8;
    if (groups->kind == AS_GROUPS_DIRECT || groups->kind == AS_GROUPS_ALL)
        bytes = sizeof *groups;
    for (uint32_t key = 0; key < groups->keys; key++)
        bytes += as_texts_bytes(&groups->texts[key]);
    return bytes + (groups->order ? groups->ordered * 4 : 0);
}

uint64_t as_groups_hash(const as_groups *groups, const uint64_t *words) {
    const uint64_t start = as_hash_secret.word;
    uint64_t hash = mix(words[0] ^ start);
    for (uint32_t word = 1; word < groups->words; word++)
        hash = combine_two(hash, mix(words[word] ^ start));
    return hash;
}

/* A table of `slots` slots (a power of two) with all groups. */
int as_groups_slots(as_groups *groups, uint64_t slots) {
    uint64_t *made = as_zeroed_grow(NULL, 0, slots * 8);
    if (made == NULL)
        return AS_E_MEMORY;
    as_zeroed_free(groups->slots, groups->mask ? (groups->mask + 1) * 8 : 0);
    groups->slots = made;
    groups->mask = slots - 1;
    const uint64_t buckets = groups->mask / 8;
    uint64_t hash[FETCH];
    for (uint64_t group = 0; group < groups->count; group += FETCH) {
        const uint64_t rows = groups->count - group < FETCH ? groups->count - group : FETCH;
        for (uint64_t i = 0; i < rows; i++) {
            hash[i] = as_groups_hash(groups, groups->values + (group + i) * groups->words);
            __builtin_prefetch(&made[(hash[i] & buckets) * 8], 1);
        }
        for (uint64_t i = 0; i < rows; i++) {
            const uint64_t key = groups->values[(group + i) * groups->words];
            const uint64_t tag = groups->narrow ? (key - groups->narrow_base) << 32 : hash[i] >> 32 << 32;
            uint64_t at = (hash[i] & buckets) * 8;
            while (made[at])
                at = (at + 1) & groups->mask;
            made[at] = tag | (group + i + 1);
        }
    }
    return AS_OK;
}

/* Room for `more` further groups. */
static int as_groups_reserve(as_groups *groups, uint64_t more) {
    const uint64_t count = groups->count + more;
    if (count > MOST)
        return AS_E_MEMORY;
    uint64_t slots = groups->mask ? groups->mask + 1 : FIRST_SLOTS;
    while (count * 4 > slots * 3)
        slots *= 2;
    if (slots > groups->mask + 1) {
        const int status = as_groups_slots(groups, slots);
        if (status != AS_OK)
            return status;
    }
    if (count <= groups->room)
        return AS_OK;
    uint64_t room = groups->room ? groups->room : FIRST_SLOTS;
    while (room < count)
        room += room / 2;
    uint64_t *values = as_zeroed_grow(groups->values, groups->room * groups->words * 8, room * groups->words * 8);
    if (values == NULL)
        return AS_E_MEMORY;
    groups->values = values;
    groups->room = room;
    return AS_OK;
}

/* -- finding, on every instruction set -- */

AS_INLINE uint32_t empty_of(const uint64_t *slot) {
    uint32_t empty = 0;
    for (int i = 0; i < 8; i++)
        empty |= (uint32_t)(slot[i] == 0) << i;
    return empty;
}

#define FIND_NAME(name) name##_plain
#define FIND_TARGET
#define FIND_TAGS(slot, tag) tags_of(slot, tag)
#define FIND_EMPTY(slot) empty_of(slot)
#include "groups_find.h"

#ifdef AS_AVX512
#define FIND_NAME(name) name##_avx512
#define FIND_TARGET AS_TARGET_AVX512
#define FIND_TAGS(slot, tag) tags_avx512(slot, tag)
#define FIND_EMPTY(slot) _mm512_testn_epi64_mask(_mm512_loadu_si512(slot), _mm512_loadu_si512(slot))
#include "groups_find.h"
#endif

static int find_keys(as_groups *groups, const uint64_t *key, int64_t rows, uint32_t *group) {
#ifdef AS_AVX512
    if (cpu_has_avx512())
        return find_keys_avx512(groups, key, rows, group);
#endif
    return find_keys_plain(groups, key, rows, group);
}

AS_INLINE void spread_body(const uint64_t *key, int64_t rows, uint64_t base, uint64_t *high) {
    uint64_t found = 0;
    for (int64_t i = 0; i < rows; i++)
        found |= (key[i] - base) >> 32;
    *high = found;
}
AS_VERSIONS(spread, (const uint64_t *key, int64_t rows, uint64_t base, uint64_t *high), (key, rows, base, high))

static int find_number(as_groups *groups, const uint64_t *key, int64_t rows, uint32_t *group) {
    if (groups->narrow) {
        uint64_t high;
        if (groups->count == 0)
            groups->narrow_base = key[0] - ((uint64_t)1 << 31);
        spread(key, rows, groups->narrow_base, &high);
        if (high == 0)
            return find_keys(groups, key, rows, group);
        groups->narrow = false;
        const int status = groups->mask ? as_groups_slots(groups, groups->mask + 1) : AS_OK;
        if (status != AS_OK)
            return status;
    }
    return find_keys(groups, key, rows, group);
}

static int find_direct(as_groups *groups, const as_operand *key, int64_t row, int64_t rows, uint32_t *group) {
    const uint64_t greatest = as_operand_numbers(key, row, rows, groups->base, group);
    if (greatest < groups->span) {
        groups->count = greatest >= groups->count ? greatest + 1 : groups->count;
        return AS_OK;
    }
    const uint64_t flip = flip_of(groups->how[0]);
    uint64_t low = UINT64_MAX, high = 0;
    as_operand_words(key, row, rows, groups->column);
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t word = groups->column[i] ^ flip;
        low = word < low ? word : low;
        high = word > high ? word : high;
    }
    groups->pending = true;
    groups->pending_low = low ^ flip;
    groups->pending_high = high ^ flip;
    return AS_AGAIN;
}

/* -0.0 as 0.0 and one NaN, so that equal keys have equal words. */
static void canonical(uint64_t *words, int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
        double value;
        memcpy(&value, &words[i], sizeof value);
        words[i] = float_bits(value);
    }
}

static int find_rows(as_groups *groups, const as_operand *key, int64_t row, int64_t rows, uint32_t *group) {
    const uint32_t words = groups->words;
    uint64_t *block = groups->block, *column = groups->column;
    if (groups->any_nullable)
        for (int64_t i = 0; i < rows; i++)
            block[i * words + words - 1] = 0;
    for (uint32_t k = 0; k < groups->keys; k++) {
        if (groups->how[k] == AS_HASH_BYTES) {
            const int status = as_texts_find(&groups->texts[k], &key[k], row, rows, column);
            if (status != AS_OK)
                return status;
        } else {
            as_operand_words(&key[k], row, rows, column);
            if (groups->how[k] == AS_HASH_FLOAT)
                canonical(column, rows);
        }
        for (int64_t i = 0; i < rows; i++)
            block[i * words + k] = column[i];
        if (key[k].column.validity == NULL || !groups->nullable[k])
            continue;
        for (int64_t i = 0; i < rows; i++) {
            if (operand_null(&key[k], row + i)) {
                block[i * words + k] = 0;
                block[i * words + words - 1] |= (uint64_t)1 << k;
            }
        }
    }
    return find_keys(groups, block, rows, group);
}

int as_groups_find(as_groups *groups, const as_operand *key, int64_t row, int64_t rows, uint32_t *group) {
    uint64_t *column = groups->column;
    if (rows == 0)
        return AS_OK;
    switch (groups->kind) {
    case AS_GROUPS_ALL: memset(group, 0, (size_t)rows * sizeof *group); return AS_OK;
    case AS_GROUPS_DIRECT: return find_direct(groups, key, row, rows, group);
    case AS_GROUPS_NUMBER:
        as_operand_words(key, row, rows, column);
        if (groups->how[0] == AS_HASH_FLOAT)
            canonical(column, rows);
        return find_number(groups, column, rows, group);
    case AS_GROUPS_TEXT: {
        const int status = as_texts_find(&groups->texts[0], key, row, rows, column);
        for (int64_t i = 0; i < rows && status == AS_OK; i++)
            group[i] = (uint32_t)column[i];
        return status;
    }
    default: return find_rows(groups, key, row, rows, group);
    }
}
