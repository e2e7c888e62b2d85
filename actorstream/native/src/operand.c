/* Reading operands as words, a run or a selection of rows at a time. */
#include "operand.h"
#include <string.h>
#include "simd.h"

#define SPARSE 8 /* a selection is sparse if it takes fewer than one row of so many */

bool as_operand_readable(const as_operand *operand, int64_t rows) {
    const as_column *column = &operand->column;
    const uint32_t width = column->width;
    if (column->first < 0 || rows < 0)
        return false;
    if (operand->how == AS_HASH_BYTES)
        return width == 0 && (column->offsets != NULL || rows == 0);
    if (column->data == NULL && rows)
        return false;
    if (operand->how == AS_HASH_FLOAT)
        return width == 4 || width == 8;
    return (operand->how == AS_HASH_SIGNED || operand->how == AS_HASH_UNSIGNED) &&
           (width == 1 || width == 2 || width == 4 || width == 8);
}

AS_INLINE uint64_t double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* `each(type, expression of from[at])` for the type of the column. */
#define BY_TYPE(each)                                                                                                  \
    do {                                                                                                               \
        if (how == AS_HASH_FLOAT) {                                                                                    \
            if (width == 4)                                                                                            \
                each(f32_any, double_bits((double)from[at]));                                                          \
            else                                                                                                       \
                each(u64_any, from[at]);                                                                               \
        } else if (how == AS_HASH_SIGNED) {                                                                            \
            if (width == 8)                                                                                            \
                each(u64_any, from[at]);                                                                               \
            else if (width == 4)                                                                                       \
                each(i32_any, (int64_t)from[at]);                                                                      \
            else if (width == 2)                                                                                       \
                each(i16_any, (int64_t)from[at]);                                                                      \
            else                                                                                                       \
                each(int8_t, (int64_t)from[at]);                                                                       \
        } else {                                                                                                       \
            if (width == 8)                                                                                            \
                each(u64_any, from[at]);                                                                               \
            else if (width == 4)                                                                                       \
                each(u32_any, from[at]);                                                                               \
            else if (width == 2)                                                                                       \
                each(u16_any, from[at]);                                                                               \
            else                                                                                                       \
                each(uint8_t, from[at]);                                                                               \
        }                                                                                                              \
    } while (0)

#define RUN(type, expression)                                                                                          \
    do {                                                                                                               \
        const type *from = (const type *)data;                                                                         \
        for (int64_t at = 0; at < rows; at++)                                                                          \
            out[at] = (uint64_t)(expression);                                                                          \
    } while (0)

AS_INLINE void run_body(const void *data, uint32_t width, uint32_t how, int64_t rows, uint64_t *out) {
    BY_TYPE(RUN);
}
AS_VERSIONS(run, (const void *data, uint32_t width, uint32_t how, int64_t rows, uint64_t *out),
            (data, width, how, rows, out))

#define GATHER(type, expression)                                                                                       \
    do {                                                                                                               \
        const type *from = (const type *)data;                                                                         \
        for (int64_t i = 0; i < rows; i++) {                                                                           \
            const uint32_t at = index[i];                                                                              \
            out[i] = (uint64_t)(expression);                                                                           \
        }                                                                                                              \
    } while (0)

/* Not compiled for AVX: vector gathers are slower than loads (kernels.c). */
static void gather(const void *data, uint32_t width, uint32_t how, const uint32_t *index, int64_t rows, uint64_t *out) {
    BY_TYPE(GATHER);
}

void as_operand_words(const as_operand *operand, int64_t row, int64_t rows, uint64_t *out) {
    const as_column *column = &operand->column;
    const uint8_t *data = (const uint8_t *)column->data + (size_t)column->first * column->width;
    if (operand->index)
        gather(data, column->width, operand->how, operand->index + row, rows, out);
    else
        run(data + (size_t)row * column->width, column->width, operand->how, rows, out);
}

#define RUN_NUMBERS(type, expression)                                                                                  \
    do {                                                                                                               \
        const type *from = (const type *)data;                                                                         \
        for (int64_t at = 0; at < rows; at++) {                                                                        \
            const uint64_t number = (uint64_t)(expression) - base;                                                     \
            most = number > most ? number : most;                                                                      \
            out[at] = (uint32_t)number;                                                                                \
        }                                                                                                              \
    } while (0)

AS_INLINE void run_numbers_body(const void *data, uint32_t width, uint32_t how, int64_t rows, uint64_t base,
                                uint32_t *out, uint64_t *greatest) {
    uint64_t most = 0;
    BY_TYPE(RUN_NUMBERS);
    *greatest = most;
}
AS_VERSIONS(run_numbers,
            (const void *data, uint32_t width, uint32_t how, int64_t rows, uint64_t base, uint32_t *out,
             uint64_t *greatest),
            (data, width, how, rows, base, out, greatest))

#define GATHER_NUMBERS(type, expression)                                                                               \
    do {                                                                                                               \
        const type *from = (const type *)data;                                                                         \
        for (int64_t i = 0; i < rows; i++) {                                                                           \
            const uint32_t at = index[i];                                                                              \
            const uint64_t number = (uint64_t)(expression) - base;                                                     \
            most = number > most ? number : most;                                                                      \
            out[i] = (uint32_t)number;                                                                                 \
        }                                                                                                              \
    } while (0)

static uint64_t gather_numbers(const void *data, uint32_t width, uint32_t how, const uint32_t *index, int64_t rows,
                               uint64_t base, uint32_t *out) {
    uint64_t most = 0;
    BY_TYPE(GATHER_NUMBERS);
    return most;
}

uint64_t as_operand_numbers(const as_operand *operand, int64_t row, int64_t rows, uint64_t base, uint32_t *out) {
    const as_column *column = &operand->column;
    const uint8_t *data = (const uint8_t *)column->data + (size_t)column->first * column->width;
    if (operand->index)
        return gather_numbers(data, column->width, operand->how, operand->index + row, rows, base, out);
    uint64_t greatest;
    run_numbers(data + (size_t)row * column->width, column->width, operand->how, rows, base, out, &greatest);
    return greatest;
}

AS_INLINE void bounds_body(const u64_any *value, int64_t rows, int64_t *least, int64_t *greatest) {
    int64_t low = *least, high = *greatest;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t own = (int64_t)value[i];
        low = own < low ? own : low;
        high = own > high ? own : high;
    }
    *least = low;
    *greatest = high;
}
AS_VERSIONS(bounds, (const u64_any *value, int64_t rows, int64_t *least, int64_t *greatest),
            (value, rows, least, greatest))

AS_INLINE void index_bounds_body(const uint32_t *index, int64_t rows, uint32_t *least, uint32_t *greatest) {
    uint32_t low = UINT32_MAX, high = 0;
    for (int64_t i = 0; i < rows; i++) {
        low = index[i] < low ? index[i] : low;
        high = index[i] > high ? index[i] : high;
    }
    *least = low;
    *greatest = high;
}
AS_VERSIONS(index_bounds, (const uint32_t *index, int64_t rows, uint32_t *least, uint32_t *greatest),
            (index, rows, least, greatest))

#define BLOCK 512

void as_operand_bounds(const as_operand *operand, int64_t rows, bool exactly, int64_t *least, int64_t *greatest) {
    uint64_t word[BLOCK];
    as_operand run_of = *operand;
    if (operand->index != NULL && !exactly && rows) {
        uint32_t low, high;
        index_bounds(operand->index, rows, &low, &high);
        if ((int64_t)high - low < SPARSE * rows) {
            run_of.index = NULL;
            run_of.column.first += low;
            rows = (int64_t)high - low + 1;
        }
    }
    if (run_of.index == NULL && run_of.column.width == 8) {
        bounds((const u64_any *)run_of.column.data + run_of.column.first, rows, least, greatest);
        return;
    }
    for (int64_t row = 0; row < rows; row += BLOCK) {
        const int64_t block = rows - row < BLOCK ? rows - row : BLOCK;
        as_operand_words(&run_of, row, block, word);
        bounds(word, block, least, greatest);
    }
}
