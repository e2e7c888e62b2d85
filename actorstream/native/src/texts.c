/* Byte strings to dense numbers: see texts.h. */
#define _GNU_SOURCE
#include "texts.h"
#include <stdlib.h>
#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-function" /* of hash.h only the hash of one value is used here */
#include "hash.h"
#include "order.h"
#include "simd.h"
#include "zeroed.h"

#define FIRST_SLOTS 64
#define BLOCK 128 /* rows whose slots are fetched ahead */

void as_texts_clear(as_texts *texts)
{
    as_zeroed_free(texts->slots, texts->mask ? (texts->mask + 1) * 8 : 0);
    as_zeroed_free(texts->ends, texts->room * 8);
    as_zeroed_free(texts->data, texts->data_room);
    free(texts->known);
    memset(texts, 0, sizeof *texts);
}

bytes_view as_texts_at(const as_texts *texts, uint64_t number)
{
    const uint64_t from = number ? texts->ends[number - 1] : 0;
    return (bytes_view){texts->data + from, texts->ends[number] - from};
}

int64_t as_texts_read(const as_texts *texts, const uint64_t *number, int64_t rows, int64_t *offsets,
                      uint8_t *data)
{
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        const bytes_view text =
            number[i] < texts->count ? as_texts_at(texts, number[i]) : (bytes_view){NULL, 0};
        if (data != NULL && text.length)
            memcpy(data + at, text.data, text.length);
        at += (int64_t)text.length;
        offsets[i + 1] = at;
    }
    return at;
}

uint64_t as_texts_bytes(const as_texts *texts)
{
    return (texts->mask ? (texts->mask + 1) * 8 : 0) + texts->count * 8 +
           (texts->count ? texts->ends[texts->count - 1] : 0);
}

static uint64_t hash_of(bytes_view text)
{
    return mix(bytes_before_mix(text.data, text.length, &as_hash_secret));
}

/* Slots for `slots` (a power of two) texts, filled again. */
static int rehash(as_texts *texts, uint64_t slots)
{
    uint64_t *made = as_zeroed_grow(NULL, 0, slots * 8);
    if (made == NULL)
        return AS_E_MEMORY;
    as_zeroed_free(texts->slots, texts->mask ? (texts->mask + 1) * 8 : 0);
    texts->slots = made;
    texts->mask = slots - 1;
    for (uint64_t number = 0; number < texts->count; number++) {
        const uint64_t hash = hash_of(as_texts_at(texts, number));
        uint64_t at = hash & texts->mask;
        while (made[at])
            at = (at + 1) & texts->mask;
        made[at] = (hash >> 32) << 32 | (number + 1);
    }
    return AS_OK;
}

/* Room for one more text of `length` bytes. */
static int reserve(as_texts *texts, uint64_t length)
{
    if ((texts->count + 1) * 4 > (texts->mask ? texts->mask + 1 : 0) * 3) {
        int status = rehash(texts, texts->mask ? (texts->mask + 1) * 2 : FIRST_SLOTS);
        if (status != AS_OK)
            return status;
    }
    if (texts->count == texts->room) {
        const uint64_t room = texts->room ? texts->room * 2 : FIRST_SLOTS;
        uint64_t *ends = as_zeroed_grow(texts->ends, texts->room * 8, room * 8);
        if (ends == NULL)
            return AS_E_MEMORY;
        texts->ends = ends;
        texts->room = room;
    }
    const uint64_t used = texts->count ? texts->ends[texts->count - 1] : 0;
    if (used + length > texts->data_room) {
        uint64_t room = texts->data_room ? texts->data_room * 2 : 1024;
        while (room < used + length)
            room *= 2;
        uint8_t *data = as_zeroed_grow(texts->data, texts->data_room, room);
        if (data == NULL)
            return AS_E_MEMORY;
        texts->data = data;
        texts->data_room = room;
    }
    return AS_OK;
}

static uint64_t add(as_texts *texts, bytes_view text, uint64_t hash)
{
    if (texts->count >= UINT32_MAX - 1 || reserve(texts, text.length) != AS_OK)
        return UINT64_MAX;
    uint64_t at = hash & texts->mask;
    while (texts->slots[at])
        at = (at + 1) & texts->mask;
    const uint64_t number = texts->count, from = number ? texts->ends[number - 1] : 0;
    if (text.length)
        memcpy(texts->data + from, text.data, text.length);
    texts->ends[number] = from + text.length;
    texts->count = number + 1;
    texts->slots[at] = (hash >> 32) << 32 | (number + 1);
    return number;
}

AS_INLINE uint64_t find(as_texts *texts, bytes_view text, uint64_t hash)
{
    if (texts->mask) {
        for (uint64_t at = hash & texts->mask; texts->slots[at]; at = (at + 1) & texts->mask) {
            const uint64_t slot = texts->slots[at];
            if (slot >> 32 != hash >> 32)
                continue;
            const bytes_view other = as_texts_at(texts, (uint32_t)slot - 1);
            if (other.length == text.length && same_bytes(other.data, text.data, text.length))
                return (uint32_t)slot - 1;
        }
    }
    return add(texts, text, hash);
}

/* Forgets what is known of a column; room for what will be of one of `rows` rows. */
static int know(as_texts *texts, uint64_t rows)
{
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
                                  bool *all)
{
    uint32_t missing = 0;
    for (int64_t i = 0; i < rows; i++) {
        const uint32_t own = known[index[i]];
        missing |= own == 0;
        number[i] = (uint64_t)own - 1;
    }
    *all = missing == 0;
}
AS_VERSIONS(known_numbers,
            (const uint32_t *known, const uint32_t *index, int64_t rows, uint64_t *number, bool *all),
            (known, index, rows, number, all))

/* 1 ns a row that has no null, where hashing and comparing a text of 36 bytes takes 15. */
static int find_few(as_texts *texts, const as_operand *operand, int64_t row, int64_t rows, uint64_t *number)
{
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

int as_texts_find(as_texts *texts, const as_operand *operand, int64_t row, int64_t rows, uint64_t *number)
{
    if (operand->few && operand->index != NULL)
        return find_few(texts, operand, row, rows, number);
    uint64_t hash[BLOCK];
    bytes_view text[BLOCK];
    for (int64_t done = 0; done < rows; done += BLOCK) {
        const int64_t block = rows - done < BLOCK ? rows - done : BLOCK;
        for (int64_t i = 0; i < block; i++) {
            text[i] = operand_bytes(operand, row + done + i);
            hash[i] = hash_of(text[i]);
            if (texts->mask)
                __builtin_prefetch(&texts->slots[hash[i] & texts->mask]);
        }
        for (int64_t i = 0; i < block; i++) {
            const bool null = operand_null(operand, row + done + i);
            number[done + i] = null ? 0 : find(texts, text[i], hash[i]);
            if (number[done + i] == UINT64_MAX)
                return AS_E_MEMORY;
        }
    }
    return AS_OK;
}

int as_texts_put(as_texts *texts, const as_operand *text, int64_t rows)
{
    for (int64_t row = 0; row < rows; row++) {
        const bytes_view own = operand_bytes(text, row);
        if (find(texts, own, hash_of(own)) == UINT64_MAX)
            return AS_E_MEMORY;
    }
    return AS_OK;
}

int as_texts_keep(as_texts *texts, uint32_t *keep)
{
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
    texts->settled = made.count;
    return AS_OK;
}

static int compare(const void *a, const void *b, void *context)
{
    const bytes_view first = as_texts_at(context, *(const uint32_t *)a),
                     second = as_texts_at(context, *(const uint32_t *)b);
    const uint64_t both = first.length < second.length ? first.length : second.length;
    const int order = both ? memcmp(first.data, second.data, both) : 0;
    return order ? order : (first.length > second.length) - (first.length < second.length);
}

/* How many bytes all texts begin with. */
static uint64_t shared_bytes(const as_texts *texts)
{
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
static uint64_t word_behind(bytes_view text, uint64_t skip)
{
    const uint64_t left = text.length - skip;
    const uint8_t *data = text.data + skip;
    return __builtin_bswap64(left >= 8 ? *(const u64_any *)data : word_exact(data, left));
}

int as_texts_places(const as_texts *texts, uint32_t *place)
{
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
