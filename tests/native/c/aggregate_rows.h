/*
 * Random columns as operands, and their values read in the plainest way: by the definition of the layout. Every buffer
 * has exactly its size, so that AddressSanitizer sees an access of one byte too many, and begins at any address.
 */
#ifndef AGGREGATE_ROWS_H
#define AGGREGATE_ROWS_H
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "kernels.h"
#include "operand.h"
#include "status.h"
#include "seeded.h"

typedef struct value { /* of one row */
    bool null;
    uint32_t how;
    int64_t number; /* of integers; unsigned ones by their bits */
    double real;
    const uint8_t *text;
    uint64_t length;
} value;

typedef struct column {
    as_operand operand;
    void *validity, *data, *offsets; /* what was allocated */
    uint32_t *index;
    int64_t rows;
} column;

static inline void random_bits(column *made, int64_t values) {
    uint8_t *bits = malloc((size_t)(values + 7) / 8);
    for (int64_t i = 0; i < (values + 7) / 8; i++)
        bits[i] = (uint8_t)(below(256) | below(256));
    made->validity = bits;
    made->operand.column.validity = bits;
}

static inline void random_texts(column *made, int64_t values, uint64_t spread) {
    as_column *to = &made->operand.column;
    to->wide = (uint32_t)below(2);
    uint8_t *bytes = malloc((size_t)values * 40 + 1);
    uint8_t *offsets = malloc((size_t)(values + 1) * (to->wide ? 8 : 4) + 1);
    int64_t at = 0;
    for (int64_t i = 0; i <= values; i++) {
        const int32_t narrow = (int32_t)at;
        memcpy(offsets + 1 + (size_t)i * (to->wide ? 8 : 4), to->wide ? (void *)&at : (void *)&narrow,
               to->wide ? 8 : 4);
        const uint64_t picked = below(spread), length = i < values ? picked % 3 * (picked % 20) : 0;
        for (uint64_t k = 0; k < length; k++)
            bytes[at++] = (uint8_t)(k + 1 < length ? 'a' + k % 3 : picked);
    }
    uint8_t *exact = malloc((size_t)at + 1);
    memcpy(exact + 1, bytes, (size_t)at);
    free(bytes);
    made->data = exact;
    made->offsets = offsets;
    to->data = exact + 1;
    to->offsets = offsets + 1;
}

/* Values of `how`, `width` bytes each; about `spread` different ones, `far` from each other. */
static inline column random_column(uint32_t how, uint32_t width, bool nullable, int64_t rows, uint64_t spread,
                                   uint64_t far) {
    column made = {.rows = rows};
    as_column *to = &made.operand.column;
    made.operand.how = how;
    to->first = (int64_t)below(10);
    to->width = how == AS_HASH_BYTES ? 0 : width;
    const bool indexed = below(2) && rows;
    const int64_t some = indexed && below(2) ? 1 + (int64_t)below((uint64_t)rows / 3 + 1) : rows + (int64_t)below(5);
    const int64_t values = to->first + some;
    if (nullable && below(2))
        random_bits(&made, values);
    if (how == AS_HASH_BYTES) {
        random_texts(&made, values, spread);
    } else {
        uint8_t *data = malloc((size_t)values * width + 1);
        for (int64_t i = 0; i < values; i++) {
            static const double special[] = {-0.0, 0.0, INFINITY, -INFINITY, NAN};
            const uint64_t number = below(spread) * far;
            const double near = ((double)below(spread) - 5) / 4;
            const double real = below(far == 1 ? 8 : 200) == 0 ? special[below(5)]
                                : far == 1                     ? near
                                                               : ldexp(near, 60 * ((int)below(34) - 17));
            const float narrow = (float)real;
            const void *from = how != AS_HASH_FLOAT ? (const void *)&number
                               : width == 4         ? (const void *)&narrow
                                                    : &real;
            memcpy(data + 1 + (size_t)i * width, from, width);
        }
        made.data = data;
        to->data = data + 1;
    }
    if (indexed) {
        made.index = malloc((size_t)rows * sizeof *made.index);
        for (int64_t i = 0; i < rows; i++)
            made.index[i] = (uint32_t)below((uint64_t)(values - to->first));
        made.operand.index = made.index;
        made.operand.few = below(2) ? (uint32_t)(values - to->first) : 0;
    }
    return made;
}

/* int64 values as they are given. */
static inline column column_of(const int64_t *given, int64_t rows) {
    column made = {.rows = rows, .operand = {.how = AS_HASH_SIGNED, .column = {.width = 8}}};
    made.data = malloc((size_t)rows * 8 + 1);
    made.operand.column.data = (uint8_t *)made.data + 1;
    if (rows)
        memcpy((uint8_t *)made.data + 1, given, (size_t)rows * 8);
    return made;
}

static inline void release(column *column) {
    free(column->validity);
    free(column->data);
    free(column->offsets);
    free(column->index);
}

static inline value value_at(const column *column, int64_t row) {
    const as_column *from = &column->operand.column;
    const int64_t at = from->first + (column->index ? (int64_t)column->index[row] : row);
    value found = {.how = column->operand.how};
    found.null = from->validity != NULL && !(((const uint8_t *)from->validity)[at / 8] >> (at % 8) & 1);
    if (found.null)
        return found;
    if (found.how == AS_HASH_BYTES) {
        int64_t bounds[2] = {0, 0};
        for (int end = 0; end < 2; end++) {
            int32_t narrow;
            memcpy(&narrow, (const uint8_t *)from->offsets + (at + end) * (from->wide ? 8 : 4), 4);
            bounds[end] = narrow;
            if (from->wide)
                memcpy(&bounds[end], (const uint8_t *)from->offsets + (at + end) * 8, 8);
        }
        found.text = (const uint8_t *)from->data + bounds[0];
        found.length = (uint64_t)(bounds[1] - bounds[0]);
        return found;
    }
    const uint8_t *own = (const uint8_t *)from->data + at * from->width;
    if (found.how == AS_HASH_FLOAT) {
        float narrow;
        memcpy(&narrow, own, 4);
        found.real = narrow;
        if (from->width == 8)
            memcpy(&found.real, own, 8);
        return found;
    }
    uint64_t number = 0;
    memcpy(&number, own, from->width);
    const int shift = 64 - 8 * (int)from->width;
    found.number = found.how == AS_HASH_SIGNED ? (int64_t)(number << shift) >> shift : (int64_t)number;
    return found;
}

/* As keys are ordered: nulls last, NaN behind all numbers, -0.0 the same as 0.0. */
static inline int compare(value a, value b) {
    if (a.null || b.null)
        return a.null - b.null;
    switch (a.how) {
    case AS_HASH_SIGNED: return (a.number > b.number) - (a.number < b.number);
    case AS_HASH_UNSIGNED: return ((uint64_t)a.number > (uint64_t)b.number) - ((uint64_t)a.number < (uint64_t)b.number);
    case AS_HASH_FLOAT:
        if (isnan(a.real) || isnan(b.real))
            return !!isnan(a.real) - !!isnan(b.real);
        return (a.real > b.real) - (a.real < b.real);
    default: {
        const uint64_t both = a.length < b.length ? a.length : b.length;
        const int order = both ? memcmp(a.text, b.text, both) : 0;
        return order ? order : (a.length > b.length) - (a.length < b.length);
    }
    }
}

/* Runs `round_of` so many times: PROGRAM SEED ROUNDS. */
static inline int run_rounds(int count, char **arguments, void (*round_of)(void)) {
    seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    const int rounds = count > 2 ? atoi(arguments[2]) : 100;
    for (round_number = 0; round_number < rounds; round_number++)
        round_of();
    puts("ok");
    return 0;
}
#endif
