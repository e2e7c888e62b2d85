/* Random columns for generators of any schema: see generate.h. */
#include "numbering.h"

/* 64 bits of a row: splitmix64 of a counter. */
AS_INLINE uint64_t bits_of(uint64_t number, uint64_t salt) {
    return splitmix64((number + 1) * GOLDEN + salt * UINT64_C(0xd1342543de82ef95));
}

AS_INLINE double unit_of(uint64_t bits) {
    return (double)(int64_t)(bits >> 11) * 0x1p-53;
}

AS_INLINE uint64_t high_of(uint64_t bits, uint64_t span) {
    return (uint64_t)(((unsigned __int128)bits * span) >> 64);
}

AS_INLINE void draw_bits_body(uint64_t number, uint64_t stride, uint64_t salt, int64_t rows, uint64_t *restrict out) {
    for (int64_t row = 0; row < rows; row++)
        out[row] = bits_of(number + (uint64_t)row * stride, salt);
}
AS_VERSIONS(draw_bits, (uint64_t number, uint64_t stride, uint64_t salt, int64_t rows, uint64_t *restrict out),
            (number, stride, salt, rows, out))

AS_INLINE void draw_units_body(uint64_t number, uint64_t stride, uint64_t salt, int64_t rows, double low, double span,
                               double *restrict out) {
    for (int64_t row = 0; row < rows; row++)
        out[row] = low + unit_of(bits_of(number + (uint64_t)row * stride, salt)) * span;
}
AS_VERSIONS(draw_units,
            (uint64_t number, uint64_t stride, uint64_t salt, int64_t rows, double low, double span,
             double *restrict out),
            (number, stride, salt, rows, low, span, out))

AS_INLINE void draw_below_body(uint64_t number, uint64_t stride, uint64_t salt, int64_t rows, int64_t low,
                               uint64_t span, int64_t *restrict out) {
    if (span <= UINT32_MAX)
        for (int64_t row = 0; row < rows; row++) {
            const uint64_t half = bits_of(number + (uint64_t)row * stride, salt) >> 32;
            out[row] = (int64_t)((uint64_t)low + ((half * span) >> 32));
        }
    else
        for (int64_t row = 0; row < rows; row++) {
            const uint64_t bits = bits_of(number + (uint64_t)row * stride, salt);
            out[row] = (int64_t)((uint64_t)low + high_of(bits, span));
        }
}
AS_VERSIONS(draw_below,
            (uint64_t number, uint64_t stride, uint64_t salt, int64_t rows, int64_t low, uint64_t span,
             int64_t *restrict out),
            (number, stride, salt, rows, low, span, out))

AS_INLINE void draw_ranks_body(uint64_t number, uint64_t stride, uint64_t salt, int64_t rows, const uint32_t *kept,
                               const uint32_t *other, uint32_t ranks, uint32_t *restrict out) {
    for (int64_t row = 0; row < rows; row++) {
        const uint64_t bits = bits_of(number + (uint64_t)row * stride, salt);
        const uint32_t rank = (uint32_t)(((bits >> 32) * ranks) >> 32);
        out[row] = (uint32_t)bits < kept[rank] ? rank : other[rank];
    }
}
AS_VERSIONS(draw_ranks,
            (uint64_t number, uint64_t stride, uint64_t salt, int64_t rows, const uint32_t *kept, const uint32_t *other,
             uint32_t ranks, uint32_t *restrict out),
            (number, stride, salt, rows, kept, other, ranks, out))

AS_INLINE uint64_t number_of(const as_numbering *n, uint64_t made) {
    return n->first + made * n->stride;
}

int as_draw_bits(const as_numbering *n, uint64_t made, int64_t rows, uint64_t salt, uint64_t *out) {
    if (!numbered(n, made, rows))
        return AS_E_ARGUMENT;
    draw_bits(number_of(n, made), n->stride, salt, rows, out);
    return AS_OK;
}

int as_draw_units(const as_numbering *n, uint64_t made, int64_t rows, uint64_t salt, double low, double high,
                  double *out) {
    if (!numbered(n, made, rows))
        return AS_E_ARGUMENT;
    draw_units(number_of(n, made), n->stride, salt, rows, low, high - low, out);
    return AS_OK;
}

int as_draw_integers(const as_numbering *n, uint64_t made, int64_t rows, uint64_t salt, int64_t low, uint64_t span,
                     int64_t *out) {
    if (span == 0 || !numbered(n, made, rows))
        return AS_E_ARGUMENT;
    draw_below(number_of(n, made), n->stride, salt, rows, low, span, out);
    return AS_OK;
}

int as_draw_ranks(const as_numbering *n, uint64_t made, int64_t rows, uint64_t salt, const uint32_t *kept,
                  const uint32_t *other, uint32_t ranks, uint32_t *out) {
    if (ranks == 0 || !numbered(n, made, rows))
        return AS_E_ARGUMENT;
    draw_ranks(number_of(n, made), n->stride, salt, rows, kept, other, ranks, out);
    return AS_OK;
}

void as_draw_table(double *weights, uint32_t ranks, uint32_t *scratch, uint32_t *kept, uint32_t *other) {
    uint32_t poor = 0, rich = ranks; /* scratch[0 .. poor) weigh less than 1, scratch[rich ..) 1 or more */
    for (uint32_t rank = 0; rank < ranks; rank++) {
        other[rank] = rank;
        kept[rank] = UINT32_MAX; /* what is left over by rounding weighs 1 */
        if (weights[rank] < 1.0)
            scratch[poor++] = rank;
        else
            scratch[--rich] = rank;
    }
    while (poor > 0 && rich < ranks) {
        const uint32_t low = scratch[--poor], high = scratch[rich];
        kept[low] = (uint32_t)(weights[low] * 0x1p32);
        other[low] = high;
        weights[high] -= 1.0 - weights[low];
        if (weights[high] < 1.0) {
            rich++;
            scratch[poor++] = high;
        }
    }
}
