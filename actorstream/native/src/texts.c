/* Byte strings to dense numbers: see texts.h. */
#define _GNU_SOURCE
#include "texts.h"
#include <stdlib.h>
#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-function" /* of hash.h only the hash of one value is used here */
#include "buckets.h"
#include "hash.h"
#include "order.h"
#include "zeroed.h"

#define FIRST_SLOTS 64
#define BLOCK 256 /* rows whose slots and records are fetched ahead */
#define UNIT sizeof(uint64_t)
#define MOST_UNITS ((uint64_t)UINT32_MAX - 1)

typedef struct record {
    uint32_t number, length;
    uint8_t bytes[];
} record;

void as_texts_clear(as_texts *texts) {
    as_zeroed_free(texts->slots, texts->mask ? (texts->mask + 1) * 8 : 0);
    as_zeroed_free(texts->place, texts->room * sizeof *texts->place);
    as_zeroed_free(texts->data, texts->data_room * UNIT);
    free(texts->known);
    memset(texts, 0, sizeof *texts);
}

bytes_view as_texts_at(const as_texts *texts, uint64_t number) {
    const record *own = (const record *)(texts->data + texts->place[number]);
    return (bytes_view){own->bytes, own->length};
}

int64_t as_texts_read(const as_texts *texts, const uint64_t *number, int64_t rows, int64_t *offsets, uint8_t *data) {
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        const bytes_view text = number[i] < texts->count ? as_texts_at(texts, number[i]) : (bytes_view){NULL, 0};
        if (data != NULL && text.length)
            memcpy(data + at, text.data, text.length);
        at += (int64_t)text.length;
        offsets[i + 1] = at;
    }
    return at;
}

uint64_t as_texts_bytes(const as_texts *texts) {
    return (texts->mask ? (texts->mask + 1) * 8 : 0) + texts->count * sizeof *texts->place + texts->used * UNIT;
}

AS_INLINE uint64_t hash_of(bytes_view text) {
    return mix(bytes_before_mix(text.data, text.length, &as_hash_secret));
}

/* Puts a reference into the first empty slot for its hash. */
AS_INLINE void put(uint64_t *slots, uint64_t mask, uint64_t hash, uint64_t reference) {
    uint64_t at = hash * SLOTS & mask;
    while (slots[at])
        at = (at + 1) & mask;
    slots[at] = hash >> 32 << 32 | reference;
}

/* Slots for `slots` (a power of two) texts, filled again. */
static int rehash(as_texts *texts, uint64_t slots) {
    uint64_t hash[BLOCK], *made = as_zeroed_grow(NULL, 0, slots * 8);
    if (made == NULL)
        return AS_E_MEMORY;
    as_zeroed_free(texts->slots, texts->mask ? (texts->mask + 1) * 8 : 0);
    texts->slots = made;
    texts->mask = slots - 1;
    for (uint64_t done = 0; done < texts->count; done += BLOCK) {
        const uint64_t block = texts->count - done < BLOCK ? texts->count - done : BLOCK;
        for (uint64_t i = 0; i < block; i++) {
            hash[i] = hash_of(as_texts_at(texts, done + i));
            __builtin_prefetch(&made[hash[i] * SLOTS & texts->mask], 1);
        }
        for (uint64_t i = 0; i < block; i++)
            put(made, texts->mask, hash[i], (uint64_t)texts->place[done + i] + 1);
    }
    return AS_OK;
}

/* Room for one more text whose record takes `units`. */
static int reserve(as_texts *texts, uint64_t units) {
    if ((texts->count + 1) * 4 > (texts->mask ? texts->mask + 1 : 0) * 3) {
        const int status = rehash(texts, texts->mask ? (texts->mask + 1) * 2 : FIRST_SLOTS);
        if (status != AS_OK)
            return status;
    }
    if (texts->count == texts->room) {
        const uint64_t room = texts->room ? texts->room * 2 : FIRST_SLOTS;
        uint32_t *place = as_zeroed_grow(texts->place, texts->room * sizeof *place, room * sizeof *place);
        if (place == NULL)
            return AS_E_MEMORY;
        texts->place = place;
        texts->room = room;
    }
    if (texts->used + units > texts->data_room) {
        uint64_t room = texts->data_room ? texts->data_room * 2 : 128;
        while (room < texts->used + units)
            room *= 2;
        uint64_t *data = as_zeroed_grow(texts->data, texts->data_room * UNIT, room * UNIT);
        if (data == NULL)
            return AS_E_MEMORY;
        texts->data = data;
        texts->data_room = room;
    }
    return AS_OK;
}

static uint64_t add(as_texts *texts, bytes_view text, uint64_t hash) {
    const uint64_t units = (sizeof(record) + text.length + UNIT - 1) / UNIT, at = texts->used;
    if (texts->count >= UINT32_MAX - 1 || text.length > UINT32_MAX || at + units > MOST_UNITS ||
        reserve(texts, units) != AS_OK)
        return UINT64_MAX;
    record *made = (record *)(texts->data + at);
    *made = (record){(uint32_t)texts->count, (uint32_t)text.length};
    if (text.length)
        memcpy(made->bytes, text.data, text.length);
    texts->place[texts->count] = (uint32_t)at;
    texts->used += units;
    put(texts->slots, texts->mask, hash, at + 1);
    return texts->count++;
}

/* Whether a reference, which is not 0, is that of a text. */
AS_INLINE bool refers(const as_texts *texts, uint64_t reference, bytes_view text, uint32_t *number) {
    const record *own = (const record *)(texts->data + (reference - 1));
    *number = own->number;
    return own->length == text.length && same_bytes(own->bytes, text.data, text.length);
}

static uint64_t find(as_texts *texts, bytes_view text, uint64_t hash) {
    uint32_t number;
    if (texts->mask) {
        for (uint64_t at = hash * SLOTS & texts->mask; texts->slots[at]; at = (at + 1) & texts->mask) {
            const uint64_t slot = texts->slots[at];
            if (slot >> 32 == hash >> 32 && refers(texts, (uint32_t)slot, text, &number))
                return number;
        }
    }
    return add(texts, text, hash);
}

/* The first reference with the tag of each hash in its bucket; 0: none. */
static void match_plain(const as_texts *texts, const uint64_t *hash, int64_t rows, uint32_t *reference) {
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t *slot = texts->slots + (hash[i] * SLOTS & texts->mask);
        const uint32_t match = tags_of(slot, hash[i]);
        reference[i] = match ? (uint32_t)slot[__builtin_ctz(match)] : 0;
    }
}

#ifdef AS_AVX512
AS_TARGET_AVX512 static void match_avx512(const as_texts *texts, const uint64_t *hash, int64_t rows,
                                          uint32_t *reference) {
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t *slot = texts->slots + (hash[i] * SLOTS & texts->mask);
        const uint32_t match = tags_avx512(slot, hash[i]);
        reference[i] = match ? (uint32_t)slot[__builtin_ctz(match)] : 0;
    }
}
#endif

static void match(const as_texts *texts, const uint64_t *hash, int64_t rows, uint32_t *reference) {
#ifdef AS_AVX512
    if (cpu_has_avx512()) {
        match_avx512(texts, hash, rows, reference);
        return;
    }
#endif
    match_plain(texts, hash, rows, reference);
}

/* Forgets what is known of a column; room for what will be of one of `rows` rows. */
static int know(as_texts *texts, uint64_t rows) {
    if (rows > texts->known_room) {
        uint32_t *made = realloc(texts->known, rows * sizeof *made);
        if (made == NULL)
            return AS_E_MEMORY;
        texts->known = made;
        texts->known_room = rows;
    }
    memset(texts->known, 0, rows * sizeof *texts->known);
    texts->known_rows = rows;
    return AS_OK;
}

AS_INLINE void known_numbers_body(const uint32_t *known, const uint32_t *index, int64_t rows, uint64_t *number,
                                  bool *all) {
    uint32_t missing = 0;
    for (int64_t i = 0; i < rows; i++) {
        const uint32_t own = known[index[i]];
        missing |= own == 0;
        number[i] = (uint64_t)own - 1;
    }
    *all = missing == 0;
}
AS_VERSIONS(known_numbers, (const uint32_t *known, const uint32_t *index, int64_t rows, uint64_t *number, bool *all),
            (known, index, rows, number, all))

/* 1 ns a row that has no null, where hashing and comparing a text of 36 bytes takes 15. */
static int find_few(as_texts *texts, const as_operand *operand, int64_t row, int64_t rows, uint64_t *number) {
    if ((row == 0 || texts->known_rows != operand->few) && know(texts, operand->few) != AS_OK)
        return AS_E_MEMORY;
    bool all;
    known_numbers(texts->known, operand->index + row, rows, number, &all);
    if (all)
        return AS_OK;
    for (int64_t i = 0; i < rows; i++) {
        uint32_t *known = &texts->known[operand->index[row + i]];
        if (*known == 0) {
            if (operand_null(operand, row + i)) {
                number[i] = 0;
                continue;
            }
            const bytes_view text = operand_bytes(operand, row + i);
            const uint64_t found = find(texts, text, hash_of(text));
            if (found == UINT64_MAX)
                return AS_E_MEMORY;
            *known = (uint32_t)found + 1;
        }
        number[i] = (uint64_t)*known - 1;
    }
    return AS_OK;
}

int as_texts_find(as_texts *texts, const as_operand *operand, int64_t row, int64_t rows, uint64_t *number) {
    if (operand->few && operand->index != NULL)
        return find_few(texts, operand, row, rows, number);
    uint64_t hash[BLOCK];
    bytes_view text[BLOCK];
    uint32_t reference[BLOCK], found;
    if (texts->mask == 0 && rehash(texts, FIRST_SLOTS) != AS_OK)
        return AS_E_MEMORY;
    for (int64_t done = 0; done < rows; done += BLOCK) {
        const int64_t block = rows - done < BLOCK ? rows - done : BLOCK;
        for (int64_t i = 0; i < block; i++) {
            text[i] = operand_bytes(operand, row + done + i);
            hash[i] = bytes_before_mix(text[i].data, text[i].length, &as_hash_secret);
        }
        mix_all(hash, block);
        for (int64_t i = 0; i < block; i++)
            __builtin_prefetch(&texts->slots[hash[i] * SLOTS & texts->mask]);
        match(texts, hash, block, reference);
        for (int64_t i = 0; i < block; i++) {
            const uint8_t *own = (const uint8_t *)(texts->data + (reference[i] ? reference[i] - 1 : 0));
            __builtin_prefetch(own);
            __builtin_prefetch(own + sizeof(record) + text[i].length - 1);
        }
        for (int64_t i = 0; i < block; i++) {
            if (operand_null(operand, row + done + i))
                number[done + i] = 0;
            else if (reference[i] && refers(texts, reference[i], text[i], &found))
                number[done + i] = found;
            else
                number[done + i] = find(texts, text[i], hash[i]);
            if (number[done + i] == UINT64_MAX)
                return AS_E_MEMORY;
        }
    }
    return AS_OK;
}

int as_texts_put(as_texts *texts, const as_operand *text, int64_t rows) {
    for (int64_t row = 0; row < rows; row++) {
        const bytes_view own = operand_bytes(text, row);
        if (find(texts, own, hash_of(own)) == UINT64_MAX)
            return AS_E_MEMORY;
    }
    return AS_OK;
}

int as_texts_keep(as_texts *texts, uint32_t *keep) {
    as_texts made = {0};
    for (uint64_t number = 0; number < texts->count; number++) {
        if (!keep[number]) {
            keep[number] = UINT32_MAX;
            continue;
        }
        const bytes_view text = as_texts_at(texts, number);
        const uint64_t now = add(&made, text, hash_of(text));
        if (now == UINT64_MAX) {
            as_texts_clear(&made);
            return AS_E_MEMORY;
        }
        keep[number] = (uint32_t)now;
    }
    as_texts_clear(texts);
    *texts = made;
    return AS_OK;
}

int as_texts_prune(as_texts *texts, uint32_t *keep, uint64_t places, bool *dropped) {
    uint64_t kept = 0;
    for (uint64_t number = 0; number < texts->count; number++)
        kept += keep[number];
    *dropped = 2 * kept <= texts->count;
    const int status = *dropped ? as_texts_keep(texts, keep) : AS_OK;
    texts->settled = texts->count > places / 2 ? texts->count : places / 2;
    return status;
}

static int compare(const void *a, const void *b, void *context) {
    const bytes_view first = as_texts_at(context, *(const uint32_t *)a),
                     second = as_texts_at(context, *(const uint32_t *)b);
    const uint64_t both = first.length < second.length ? first.length : second.length;
    const int order = both ? memcmp(first.data, second.data, both) : 0;
    return order ? order : (first.length > second.length) - (first.length < second.length);
}

/* How many bytes all texts begin with. */
static uint64_t shared_bytes(const as_texts *texts) {
    if (texts->count == 0)
        return 0;
    const bytes_view first = as_texts_at(texts, 0);
    uint64_t shared = first.length;
    for (uint64_t number = 1; number < texts->count && shared; number++) {
        const bytes_view text = as_texts_at(texts, number);
        uint64_t at = 0;
        while (at < shared && at < text.length && text.data[at] == first.data[at])
            at++;
        shared = at;
    }
    return shared;
}

/* 8 bytes behind the first `skip` as a number that orders like them; what a text lacks is zero. */
static uint64_t word_behind(bytes_view text, uint64_t skip) {
    const uint64_t left = text.length - skip;
    const uint8_t *data = text.data + skip;
    return __builtin_bswap64(left >= 8 ? *(const u64_any *)data : word_exact(data, left));
}

int as_texts_places(const as_texts *texts, uint32_t *place) {
    const uint64_t count = texts->count, shared = shared_bytes(texts);
    uint32_t *order = malloc((count + 1) * sizeof *order);
    uint64_t *prefix = malloc((count + 1) * sizeof *prefix);
    int status = order == NULL || prefix == NULL ? AS_E_MEMORY : AS_OK;
    for (uint64_t number = 0; status == AS_OK && number < count; number++) {
        order[number] = (uint32_t)number;
        prefix[number] = word_behind(as_texts_at(texts, number), shared);
    }
    if (status == AS_OK)
        status = as_order_by(order, count, prefix, 1, 0);
    for (uint64_t begin = 0, end; status == AS_OK && begin < count; begin = end) {
        for (end = begin + 1; end < count && prefix[order[end]] == prefix[order[begin]]; end++)
            ;
        if (end - begin > 1)
            qsort_r(order + begin, end - begin, sizeof *order, compare, (void *)texts);
    }
    for (uint64_t at = 0; status == AS_OK && at < count; at++)
        place[order[at]] = (uint32_t)at;
    free(prefix);
    free(order);
    return status;
}
