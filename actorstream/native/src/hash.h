/* The key hash that kernels.h defines, and the same with secret constants for hash tables: single values, and loops over
 * columns. Private to src/. */
#ifndef ACTORSTREAM_HASH_H
#define ACTORSTREAM_HASH_H
#include <stdbool.h>
#include "bits.h"
#include "kernels.h"
#include "simd.h"

#define R2 UINT64_C(0x6a09e667f3bcc909)
#define R3 UINT64_C(0xbb67ae8584caa73b)
#define R5 UINT64_C(0x3c6ef372fe94f82b)
#define R7 UINT64_C(0xa54ff53a5f1d36f1)
#define R11 UINT64_C(0x510e527fade682d1)
#define R13 UINT64_C(0x9b05688c2b3e6c1f)
#define R17 UINT64_C(0x1f83d9abfb41bd6b)
#define R19 UINT64_C(0x5be0cd19137e2179)

/* What hashes begin with. `length` is odd. */
typedef struct hash_start {
    uint64_t word, text, length;
} hash_start;

/* Of the hash that kernels.h defines: every process sends a key to the same place. */
static const hash_start STABLE = {R2, R3, R11};
/* Of tables in this process, drawn when it starts (seed.c): nobody can choose keys that share a place in a table, so that
   each search would go through all of them. Never used for routing. */
extern hash_start as_hash_secret;

AS_INLINE uint64_t mix(uint64_t x) {
    x ^= x >> 32;
    x *= R5;
    x ^= x >> 29;
    x *= R7;
    return x ^ (x >> 32);
}

AS_INLINE uint64_t combine_two(uint64_t hash, uint64_t next) {
    uint64_t c = ((hash << 31) | (hash >> 33)) * R17 + next;
    return c ^ (c >> 32);
}

AS_INLINE uint64_t float_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (value == 0.0)
        bits = 0;
    return value != value ? UINT64_C(0x7ff8000000000000) : bits;
}

/* `bytes` (0 .. 8) bytes as a little-endian word, zero-padded, reading nothing else. */
AS_INLINE uint64_t word_exact(const uint8_t *data, uint64_t bytes) {
    if (bytes >= 4) {
        uint64_t low = *(const u32_any *)data, high = *(const u32_any *)(data + bytes - 4);
        return low | high << (8 * (bytes - 4));
    }
    if (bytes == 0)
        return 0;
    return (uint64_t)data[0] | (uint64_t)data[bytes / 2] << (8 * (bytes / 2)) |
           (uint64_t)data[bytes - 1] << (8 * (bytes - 1));
}

/* Whether two runs of `bytes` bytes are the same. Reads nothing else. */
AS_INLINE bool same_bytes(const uint8_t *a, const uint8_t *b, uint64_t bytes) {
    if (bytes < 8)
        return word_exact(a, bytes) == word_exact(b, bytes);
    for (uint64_t at = 0; at + 8 < bytes; at += 8)
        if (*(const u64_any *)(a + at) !=
            *(const u64_any *)(b + at)) /* a vector loop takes longer for texts of 20 bytes */
            return false;
    return *(const u64_any *)(a + bytes - 8) == *(const u64_any *)(b + bytes - 8);
}

AS_INLINE uint64_t fold(uint64_t x) {
    unsigned __int128 product = (unsigned __int128)x * R13;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* All of the hash of bytes but the last mix, which is done for many rows at once. */
AS_INLINE uint64_t bytes_before_mix(const uint8_t *data, uint64_t bytes, const hash_start *start) {
    uint64_t hash = start->text ^ (bytes * start->length);
    while (bytes > 8) {
        hash = fold(hash ^ *(const u64_any *)data);
        data += 8;
        bytes -= 8;
    }
    return hash ^ word_exact(data, bytes);
}

#define EACH_ROW(type, expression)                                                                                     \
    do {                                                                                                               \
        const type *from = (const type *)data;                                                                         \
        for (int64_t i = 0; i < rows; i++)                                                                             \
            hash[i] = mix((uint64_t)(expression) ^ start);                                                             \
    } while (0)

AS_INLINE void hash_integers_body(const void *data, uint32_t width, bool is_signed, int64_t rows, uint64_t start,
                                  uint64_t *hash) {
    switch (width) {
    case 1:
        if (is_signed)
            EACH_ROW(int8_t, (int64_t)from[i]);
        else
            EACH_ROW(uint8_t, from[i]);
        break;
    case 2:
        if (is_signed)
            EACH_ROW(i16_any, (int64_t)from[i]);
        else
            EACH_ROW(u16_any, from[i]);
        break;
    case 4:
        if (is_signed)
            EACH_ROW(i32_any, (int64_t)from[i]);
        else
            EACH_ROW(u32_any, from[i]);
        break;
    default: EACH_ROW(u64_any, from[i]);
    }
}

AS_INLINE void hash_floats_body(const void *data, uint32_t width, int64_t rows, uint64_t start, uint64_t *hash) {
    if (width == 4)
        EACH_ROW(f32_any, float_bits((double)from[i]));
    else
        EACH_ROW(f64_any, float_bits(from[i]));
}
#undef EACH_ROW

AS_INLINE void mix_all_body(uint64_t *hash, int64_t rows) {
    for (int64_t i = 0; i < rows; i++)
        hash[i] = mix(hash[i]);
}

AS_INLINE void combine_all_body(uint64_t *hash, const uint64_t *next, int64_t rows) {
    for (int64_t i = 0; i < rows; i++)
        hash[i] = combine_two(hash[i], next[i]);
}

AS_VERSIONS(hash_integers,
            (const void *data, uint32_t width, bool is_signed, int64_t rows, uint64_t start, uint64_t *hash),
            (data, width, is_signed, rows, start, hash))
AS_VERSIONS(hash_floats, (const void *data, uint32_t width, int64_t rows, uint64_t start, uint64_t *hash),
            (data, width, rows, start, hash))
AS_VERSIONS(mix_all, (uint64_t *hash, int64_t rows), (hash, rows))
AS_VERSIONS(combine_all, (uint64_t *hash, const uint64_t *next, int64_t rows), (hash, next, rows))

AS_INLINE int64_t start_at(const void *offsets, bool wide, int64_t at) {
    return wide ? ((const i64_any *)offsets)[at] : (int64_t)((const i32_any *)offsets)[at];
}

/* Values of 1 .. 16 bytes take no branch on their length where 16 bytes are readable: short words are the
   usual key, and their lengths are what a branch predictor cannot guess. */
AS_INLINE void premix_strings(const uint8_t *data, const void *offsets, bool wide, int64_t first, int64_t rows,
                              const hash_start *start, uint64_t *hash) {
    const int64_t readable = start_at(offsets, wide, first + rows);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t from = start_at(offsets, wide, first + i);
        const uint64_t bytes = (uint64_t)(start_at(offsets, wide, first + i + 1) - from);
        if (__builtin_expect(bytes - 1 < 16 && from + 16 <= readable, 1)) {
            const uint64_t low = *(const u64_any *)(data + from), high = *(const u64_any *)(data + from + 8);
            const uint64_t begun = start->text ^ (bytes * start->length), two = bytes > 8 ? ~UINT64_C(0) : 0;
            const uint64_t last = (two & high) | (~two & low), state = (two & fold(begun ^ low)) | (~two & begun);
            hash[i] = state ^ (last & (~UINT64_C(0) >> (-8 * bytes & 63))); /* the last word's 1 .. 8 bytes */
        } else {
            hash[i] = bytes_before_mix(data + from, bytes, start);
        }
    }
}

AS_INLINE void hash_strings(const as_column *column, int64_t row, int64_t rows, const hash_start *start,
                            uint64_t *hash) {
    const int64_t first = column->first + row;
    if (column->width) {
        const uint8_t *data = (const uint8_t *)column->data + (size_t)first * column->width;
        for (int64_t i = 0; i < rows; i++, data += column->width)
            hash[i] = bytes_before_mix(data, column->width, start);
    } else if (column->wide) {
        premix_strings(column->data, column->offsets, true, first, rows, start, hash);
    } else {
        premix_strings(column->data, column->offsets, false, first, rows, start, hash);
    }
    mix_all(hash, rows);
}

/* Hashes of rows row .. row + rows - 1 of one column, nulls included; the column has been checked. */
AS_INLINE void hash_rows(const as_column *column, uint32_t how, int64_t row, int64_t rows, const hash_start *start,
                         uint64_t *hash) {
    const int64_t first = column->first + row;
    if (how == AS_HASH_BYTES)
        hash_strings(column, row, rows, start, hash);
    else if (how == AS_HASH_FLOAT)
        hash_floats((const uint8_t *)column->data + first * column->width, column->width, rows, start->word, hash);
    else
        hash_integers((const uint8_t *)column->data + first * column->width, column->width, how == AS_HASH_SIGNED, rows,
                      start->word, hash);
    if (column->validity == NULL)
        return;
    for (int64_t at = 0; at < rows; at += 64) {
        unsigned count = rows - at < 64 ? (unsigned)(rows - at) : 64;
        uint64_t nulls = ~bits_load(column->validity, first + at, count);
        if (count < 64)
            nulls &= (UINT64_C(1) << count) - 1;
        for (; nulls; nulls &= nulls - 1)
            hash[at + __builtin_ctzll(nulls)] = R19;
    }
}
#endif
