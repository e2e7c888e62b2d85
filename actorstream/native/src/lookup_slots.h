/* What building and reading a lookup share: slots, key values, and equality. Private to lookup_build.c and
 * lookup_find.c. */
#ifndef ACTORSTREAM_LOOKUP_SLOTS_H
#define ACTORSTREAM_LOOKUP_SLOTS_H
#include <stdbool.h>
#include "lookup.h"
#include "hash.h"

#define NONE UINT32_MAX
#define MORE (UINT32_MAX - 1)
#define BLOCK 256 /* rows looked up at a time: their buckets, prefetched, take 16 KiB of the first-level cache */
#define SLOTS 5   /* of a bucket */

/*
 * One cache line. Slots fill from the first on; an empty one has the row NONE and any word. A word that finds its
 * bucket full goes to the next one that is not, and `next` of all it passes says MORE. So the place of a hit is the
 * lowest slot with the word, and without one `next` itself is the answer: no branch that depends on the key.
 *
 *   0        8                  40       44            60     64
 *   | word 0 | word 1 .. word 4 | row 0  | row 1 .. 4  | next |
 */
typedef struct bucket {
    uint64_t word[SLOTS];
    uint32_t row[SLOTS];
    uint32_t next; /* NONE | MORE */
} bucket;
_Static_assert(sizeof(bucket) == 64, "a bucket is a cache line");

/* The bucket in which a word is looked for first. `start`: as_hash_secret.word. */
AS_INLINE uint32_t home(uint64_t word, uint64_t start, uint32_t buckets) {
    return (uint32_t)(((mix(word ^ start) >> 32) * buckets) >> 32);
}

#define NUMBER_LOOP(type, expression)                                                                                  \
    do {                                                                                                               \
        const type *from = (const type *)data;                                                                         \
        for (int64_t i = 0; i < rows; i++)                                                                             \
            out[i] = (uint64_t)(expression);                                                                           \
    } while (0)

/* Integers as 64 bits, by sign or zero extension; floats as the bits of their float64. */
AS_INLINE void numbers_body(const void *data, uint32_t width, uint32_t how, int64_t rows, uint64_t *out) {
    if (how == AS_HASH_FLOAT) {
        if (width == 4)
            NUMBER_LOOP(f32_any, float_bits((double)from[i]));
        else
            NUMBER_LOOP(f64_any, float_bits(from[i]));
        return;
    }
    const bool is_signed = how == AS_HASH_SIGNED;
    switch (width) {
    case 1:
        if (is_signed)
            NUMBER_LOOP(int8_t, (int64_t)from[i]);
        else
            NUMBER_LOOP(uint8_t, from[i]);
        break;
    case 2:
        if (is_signed)
            NUMBER_LOOP(i16_any, (int64_t)from[i]);
        else
            NUMBER_LOOP(u16_any, from[i]);
        break;
    case 4:
        if (is_signed)
            NUMBER_LOOP(i32_any, (int64_t)from[i]);
        else
            NUMBER_LOOP(u32_any, from[i]);
        break;
    default: NUMBER_LOOP(u64_any, from[i]);
    }
}
AS_VERSIONS(numbers, (const void *data, uint32_t width, uint32_t how, int64_t rows, uint64_t *out),
            (data, width, how, rows, out))
#undef NUMBER_LOOP

#define NUMBER_LOOP(type, expression)                                                                                  \
    do {                                                                                                               \
        const type *from = (const type *)data;                                                                         \
        for (int64_t i = 0; i < rows; i++) {                                                                           \
            const uint32_t at = index[i];                                                                              \
            out[i] = (uint64_t)(expression);                                                                           \
        }                                                                                                              \
    } while (0)

/* The same for rows at `index`. Not compiled for AVX: vector gathers are slower than loads here (kernels.c). */
static inline void numbers_at(const void *data, uint32_t width, uint32_t how, const uint32_t *index, int64_t rows,
                              uint64_t *out) {
    if (how == AS_HASH_FLOAT) {
        if (width == 4)
            NUMBER_LOOP(f32_any, float_bits((double)from[at]));
        else
            NUMBER_LOOP(f64_any, float_bits(from[at]));
        return;
    }
    const bool is_signed = how == AS_HASH_SIGNED;
    switch (width) {
    case 1:
        if (is_signed)
            NUMBER_LOOP(int8_t, (int64_t)from[at]);
        else
            NUMBER_LOOP(uint8_t, from[at]);
        break;
    case 2:
        if (is_signed)
            NUMBER_LOOP(i16_any, (int64_t)from[at]);
        else
            NUMBER_LOOP(u16_any, from[at]);
        break;
    case 4:
        if (is_signed)
            NUMBER_LOOP(i32_any, (int64_t)from[at]);
        else
            NUMBER_LOOP(u32_any, from[at]);
        break;
    default: NUMBER_LOOP(u64_any, from[at]);
    }
}
#undef NUMBER_LOOP

AS_INLINE bool is_null(const as_column *column, int64_t row) {
    return column->validity != NULL && !bit_at(column->validity, column->first + row);
}

AS_INLINE uint64_t number_at(const as_column *column, uint32_t how, int64_t row) {
    uint64_t value;
    numbers_body((const uint8_t *)column->data + (column->first + row) * column->width, column->width, how, 1, &value);
    return value;
}

typedef struct text {
    const uint8_t *data;
    uint64_t length;
} text;

AS_INLINE text text_at(const as_column *column, int64_t row) {
    const int64_t at = column->first + row, from = start_at(column->offsets, column->wide, at);
    return (text){(const uint8_t *)column->data + from,
                  (uint64_t)(start_at(column->offsets, column->wide, at + 1) - from)};
}

/* Whether the key of table row `row` is that of row `other` of `key`; neither has a null. */
AS_INLINE bool same_key(const as_lookup *lookup, uint32_t row, const as_column *key, const uint32_t *how,
                        int64_t other) {
    for (uint32_t column = 0; column < lookup->columns; column++) {
        if (how[column] == AS_HASH_BYTES) {
            const text a = text_at(&lookup->key[column], row), b = text_at(&key[column], other);
            if (a.length != b.length || !same_bytes(a.data, b.data, a.length))
                return false;
        } else if (number_at(&lookup->key[column], lookup->how[column] & 15, row) !=
                   number_at(&key[column], how[column], other)) {
            return false;
        }
    }
    return true;
}

/* What a key of bytes is found by: 8 bytes of it, or its hash. `at`: as_lookup.word_at; keys shorter than at + 8 are
   not in the table, and are not asked for. */
AS_INLINE uint64_t text_word(text key, uint32_t at) {
    return at == NONE ? mix(bytes_before_mix(key.data, key.length, &as_hash_secret))
                      : *(const u64_any *)(key.data + at);
}

AS_INLINE bool readable_as(uint32_t how, const as_column *column, int64_t rows) {
    const uint32_t width = column->width;
    if (column->first < 0 || (column->data == NULL && rows && how != AS_HASH_BYTES))
        return false;
    switch (how) {
    case AS_HASH_SIGNED:
    case AS_HASH_UNSIGNED: return width == 1 || width == 2 || width == 4 || width == 8;
    case AS_HASH_FLOAT: return width == 4 || width == 8;
    case AS_HASH_BYTES: return width == 0 && (column->offsets != NULL || rows == 0);
    default: return false;
    }
}
#endif
