/* What one block of rows of a running expression is made of, and rows that fail. Private to expression.c. */
#ifndef ACTORSTREAM_EXPRESSION_STATE_H
#define ACTORSTREAM_EXPRESSION_STATE_H
#include "expression_scalar.h"

#define LANES AS_X_LANES
#define WORDS (LANES / 64)

typedef struct as_block {
    const as_instruction *program;
    const as_column *columns;
    void *const *outs;
    int64_t *counts;
    uint32_t *failures;
    int64_t first;      /* number of the row in lane 0 */
    int64_t rows;       /* lanes in use, at least 1 */
    int64_t *lanes;     /* memory of the vectors, LANES each */
    const void **at;    /* where each vector is: there, in a column, or in an output */
    uint64_t *masks;    /* WORDS each; lanes that are not in use have any bit */
    locale_t plain;     /* numbers with a point, whatever the program's locale; while texts become floats */
    int failed;
} as_block;

/* Bits of the lanes in use, in word `word` of a mask. */
AS_INLINE uint64_t lanes_in_use(const as_block *block, int64_t word) {
    const int64_t rest = block->rows - 64 * word;
    return rest >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << rest) - 1;
}

AS_INLINE const i64_any *vector(const as_block *block, unsigned number) {
    return block->at[number];
}

AS_INLINE double double_of(int64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

AS_INLINE uint64_t *mask(const as_block *block, unsigned number) {
    return block->masks + WORDS * (int64_t)number;
}

/* The memory that an instruction writes its vector to. */
AS_INLINE void *target(const as_block *block, const as_instruction *step) {
    void *memory = step->to == AS_X_NONE ? block->lanes + LANES * (int64_t)step->out
                                         : (int64_t *)block->outs[step->to] + block->first;
    block->at[step->out] = memory;
    return memory;
}

AS_INLINE const void *values(const as_block *block, const as_instruction *step, int64_t width) {
    const as_column *column = block->columns + step->a;
    return (const char *)column->data + (column->first + block->first) * width;
}

/* The block's rows that are not null in a column. */
static void valid(const as_block *block, const as_column *column, uint64_t *out) {
    const int64_t first = column->first + block->first;
    for (int64_t row = 0; row < block->rows; row += 64) {
        const unsigned count = block->rows - row < 64 ? (unsigned)(block->rows - row) : 64;
        out[row / 64] = column->validity == NULL ? ~UINT64_C(0) : bits_load(column->validity, first + row, count);
    }
}

/* Rows of `bits` (one word of a mask) fail at `step`, as far as they are active. */
static void fail(as_block *block, const as_instruction *step, int64_t word, uint64_t bits) {
    bits &= lanes_in_use(block, word);
    if (step->active != AS_X_NONE)
        bits &= mask(block, step->active)[word];
    if (bits == 0)
        return;
    block->failed = 1;
    for (; block->failures != NULL && bits != 0; bits &= bits - 1) {
        uint32_t *row = block->failures + block->first + 64 * word + __builtin_ctzll(bits);
        if (*row == 0)
            *row = 1 + (uint32_t)(step - block->program);
    }
}

/* Lane by lane with the failures told: what is done where a vector pass saw that there may be some. `bad` is set by
   `expression` for lane i. */
#define AS_CAREFULLY(name, type, expression)                                                                           \
    static void name(as_block *block, const as_instruction *step, const type *a, const i64_any *b, int64_t *out) {     \
        (void)b;                                                                                                       \
        for (int64_t word = 0; 64 * word < block->rows; word++) {                                                      \
            const int64_t stop = 64 * word + 64 < block->rows ? 64 * word + 64 : block->rows;                          \
            uint64_t bits = 0;                                                                                         \
            for (int64_t i = 64 * word; i < stop; i++) {                                                               \
                bool bad = false;                                                                                      \
                expression;                                                                                            \
                bits |= (uint64_t)bad << (i & 63);                                                                     \
            }                                                                                                          \
            if (bits != 0)                                                                                             \
                fail(block, step, word, bits);                                                                         \
        }                                                                                                              \
    }

AS_CAREFULLY(careful_add, i64_any, bad = __builtin_add_overflow(a[i], b[i], &out[i]))
AS_CAREFULLY(careful_subtract, i64_any, bad = __builtin_sub_overflow(a[i], b[i], &out[i]))
AS_CAREFULLY(careful_multiply, i64_any, bad = __builtin_mul_overflow(a[i], b[i], &out[i]))
AS_CAREFULLY(careful_negate, i64_any, bad = a[i] == INT64_MIN; out[i] = bad ? a[i] : -a[i])
AS_CAREFULLY(careful_abs, i64_any, bad = a[i] == INT64_MIN; out[i] = bad || a[i] >= 0 ? a[i] : -a[i])
AS_CAREFULLY(careful_fits, i64_any, bad = a[i] < step->x || a[i] > step->y; out[i] = a[i])
AS_CAREFULLY(careful_scale, i64_any, bad = a[i] < step->y || a[i] > (int64_t)step->size;
             out[i] = (int64_t)((uint64_t)a[i] * (uint64_t)step->x))
AS_CAREFULLY(careful_floor_divide, i64_any, bad = b[i] == 0 || (b[i] == -1 && a[i] == INT64_MIN);
             out[i] = bad ? 0 : floor_divide(a[i], b[i]))
AS_CAREFULLY(careful_remainder, i64_any, bad = b[i] == 0; out[i] = bad ? 0 : floor_remainder(a[i], b[i]))
AS_CAREFULLY(careful_float_to_int, f64_any, bad = !(a[i] >= -0x1p63 && a[i] < 0x1p63); out[i] = bad ? 0 : (int64_t)a[i])

/* Texts: m[out] of a relation of two columns, or of a column and a constant. */
#define AS_TEXTS(name, relation)                                                                                       \
    static void name(const as_block *block, const as_instruction *step, uint64_t *out) {                               \
        const as_column *column = block->columns + step->a;                                                            \
        const as_column *other = step->b == AS_X_NONE ? NULL : block->columns + step->b;                               \
        text b = {step->table, (int64_t)step->size};                                                                   \
        for (int64_t word = 0; 64 * word < block->rows; word++) {                                                      \
            const int64_t stop = 64 * word + 64 < block->rows ? 64 * word + 64 : block->rows;                          \
            uint64_t bits = 0;                                                                                         \
            for (int64_t i = 64 * word; i < stop; i++) {                                                               \
                const text a = text_at(column, block->first + i);                                                      \
                if (other != NULL)                                                                                     \
                    b = text_at(other, block->first + i);                                                              \
                bits |= (uint64_t)(relation) << (i & 63);                                                              \
            }                                                                                                          \
            out[word] = bits;                                                                                          \
        }                                                                                                              \
    }

AS_TEXTS(texts_same, text_equal(a, b))
AS_TEXTS(texts_less, text_order(a, b) < 0)
AS_TEXTS(texts_less_equal, text_order(a, b) <= 0)
AS_TEXTS(texts_start, text_starts(a, b))
AS_TEXTS(texts_end, text_ends(a, b))
AS_TEXTS(texts_contain, text_contains(a, b))

/* 1 where a text, of as many bytes as `first` was made of, has others among its first 8, else 0. */
AS_INLINE uint64_t other_head(const char *data, int64_t from, int64_t readable, uint64_t first, size_t head) {
    const uint64_t cut = ~UINT64_C(0) >> (64 - 8 * head);
    uint64_t own = 0;
    if (__builtin_expect(from + 8 <= readable, 1))
        own = *(const u64_any *)(data + from);
    else
        memcpy(&own, data + from, head);
    return ((own ^ first) & cut) != 0;
}

#define START(i) (wide ? ((const i64_any *)offsets)[i] : ((const i32_any *)offsets)[i])

/* Which of the texts in `bits`, of at most 64 and each of `size` bytes, 1 or more, equal `wanted`: by their first 8 bytes
   without a branch, then by the rest. `offsets` are those of the first; the bytes before `readable` can be read. */
AS_INLINE uint64_t equal_texts(const char *data, const void *offsets, bool wide, uint64_t bits, int64_t readable,
                               const char *wanted, int64_t size) {
    const size_t head = size < 8 ? (size_t)size : 8;
    uint64_t first = 0, other = 0;
    memcpy(&first, wanted, head);
    if (bits == ~UINT64_C(0)) {
        for (int i = 0; i < 64; i++)
            other |= other_head(data, START(i), readable, first, head) << i;
    } else {
        for (uint64_t left = bits; left != 0; left &= left - 1) {
            const int i = __builtin_ctzll(left);
            other |= other_head(data, START(i), readable, first, head) << i;
        }
    }
    bits &= ~other;
    for (uint64_t left = size > 8 ? bits : 0; left != 0; left &= left - 1) {
        const int i = __builtin_ctzll(left);
        if (memcmp(data + START(i) + 8, wanted + 8, (size_t)size - 8) != 0)
            bits &= ~(UINT64_C(1) << i);
    }
    return bits;
}
#undef START

/* Values of texts: v[out] of a function of one column; `bad` where a row has none. */
#define AS_TEXT_VALUES(name, type, expression)                                                                         \
    static void name(as_block *block, const as_instruction *step, type *out) {                                         \
        const as_column *column = block->columns + step->a;                                                            \
        for (int64_t i = 0; i < block->rows; i++) {                                                                    \
            const text a = text_at(column, block->first + i);                                                          \
            bool bad = false;                                                                                          \
            expression;                                                                                                \
            if (bad) {                                                                                                 \
                out[i] = 0;                                                                                            \
                fail(block, step, i >> 6, UINT64_C(1) << (i & 63));                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }

AS_TEXT_VALUES(text_lengths, int64_t, out[i] = code_points(a))
AS_TEXT_VALUES(bytes_lengths, int64_t, out[i] = a.bytes)
AS_TEXT_VALUES(texts_to_ints, int64_t, bad = !text_to_int(a, out + i))
AS_TEXT_VALUES(texts_to_floats, double, bad = !text_to_float(a, block->plain, out + i))
AS_TEXT_VALUES(texts_to_bools, int64_t, bad = !text_to_bool(a, out + i))
#endif
