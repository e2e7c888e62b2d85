/*
 * Loops of expressions that make vectors, and that store them. Included by expression.c once for each instruction set,
 * after expression_masks.h. A vector that an instruction writes is never one it reads, which `restrict` tells the
 * compiler.
 */

/* A column as 8-byte values; those that are so already are not copied. */
VM_TARGET static void VM(load)(const as_block *block, const as_instruction *step) {
    const int64_t rows = block->rows;
    switch (step->kind) {
#define LOAD(name, type, value)                                                                                        \
    case name: {                                                                                                       \
        const type *from = values(block, step, sizeof(type));                                                          \
        value *restrict out = target(block, step);                                                                     \
        LOOP(out[i] = from[i])                                                                                         \
        break;                                                                                                         \
    }
        LOAD(AS_I8, int8_t, int64_t)
        LOAD(AS_I16, i16_any, int64_t)
        LOAD(AS_I32, i32_any, int64_t)
        LOAD(AS_U8, uint8_t, int64_t)
        LOAD(AS_U16, u16_any, int64_t)
        LOAD(AS_U32, u32_any, int64_t)
        LOAD(AS_F32, f32_any, double)
#undef LOAD
    default: block->at[step->out] = values(block, step, 8);
    }
}

VM_TARGET static void VM(look_up)(const as_block *block, const as_instruction *step) {
    const void *from = values(block, step, step->kind == AS_I8 ? 1 : step->kind == AS_I16 ? 2 : 4);
    const int64_t rows = block->rows, *table = step->table;
    int64_t *restrict out = target(block, step);
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t code = VM(code)(from, step->kind, i);
        out[i] = table[code < step->size ? code : 0];
    }
}

/* Vector passes that may fail answer whether a lane might have; then the careful loop decides. */
#define WATCHED(name, type, statement)                                                                                 \
    VM_TARGET static bool VM(name)(const type *a, const i64_any *b, const as_instruction *step, int64_t *restrict out, \
                                   int64_t rows) {                                                                     \
        int64_t seen = 0;                                                                                              \
        (void)b, (void)step;                                                                                           \
        LOOP(statement)                                                                                                \
        return seen != 0;                                                                                              \
    }
#define WRAP(operation) (int64_t)((uint64_t)a[i] operation(uint64_t) b[i])
WATCHED(add, i64_any, {
    out[i] = WRAP(+);
    seen |= ((a[i] ^ out[i]) & (b[i] ^ out[i])) >> 63;
})
WATCHED(subtract, i64_any, {
    out[i] = WRAP(-);
    seen |= ((a[i] ^ b[i]) & (a[i] ^ out[i])) >> 63;
})
WATCHED(multiply, i64_any, { /* the product as a double tells, far enough from the limits */
                             const double product = (double)a[i] * (double)b[i];
                             out[i] = WRAP(*);
                             seen |= !((product < 0x1p62) & (product > -0x1p62));
})
WATCHED(scale, i64_any, {
    out[i] = (int64_t)((uint64_t)a[i] * (uint64_t)step->x);
    seen |= (a[i] < step->y) | (a[i] > (int64_t)step->size);
})
WATCHED(negate, i64_any, {
    out[i] = (int64_t)(0 - (uint64_t)a[i]);
    seen |= a[i] == INT64_MIN;
})
WATCHED(absolute, i64_any, {
    const int64_t sign = a[i] >> 63;
    out[i] = (int64_t)(((uint64_t)a[i] ^ (uint64_t)sign) - (uint64_t)sign);
    seen |= a[i] == INT64_MIN;
})
WATCHED(fits, i64_any, {
    out[i] = a[i];
    seen |= (a[i] < step->x) | (a[i] > step->y);
})
WATCHED(float_to_int, f64_any, {
    const double fit = ((a[i] >= -0x1p63) & (a[i] < 0x1p63)) ? a[i] : 0.0;
    out[i] = (int64_t)fit;
    seen |= !((a[i] >= -0x1p63) & (a[i] < 0x1p63));
})

/* Quotients of integers of up to 53 bits by double division: its truncation is exact (a quotient that is no integer
   is farther from the next one than the rounding). 64-bit division takes 5 times as long. */
#define IS_WIDE(value) ((uint64_t)(value) + (UINT64_C(1) << 52) > UINT64_C(1) << 53)
#define QUOTIENT                                                                                                       \
    const int64_t odd = -(int64_t)(IS_WIDE(a[i]) | IS_WIDE(b[i]) | (b[i] == 0));                                       \
    const int64_t divisor = (b[i] & ~odd) | (odd & 1), value = a[i] & ~odd;                                            \
    const int64_t quotient = (int64_t)((double)value / (double)divisor), rest = value - quotient * divisor;            \
    const int64_t down = (rest ^ divisor) >> 63 & -(int64_t)(rest != 0);                                               \
    seen |= odd;
WATCHED(floor_divide, i64_any, { QUOTIENT out[i] = quotient + down; })
WATCHED(remainder, i64_any, { QUOTIENT out[i] = rest + (divisor & down); })

/* round_at of all lanes whose product is no half and below 2^53; answers whether there are others. */
VM_TARGET static bool VM(round_most)(const f64_any *a, double power, double *restrict out, int64_t rows) {
    int64_t seen = 0;
    LOOP({
        const double product = a[i] * power, whole = rint(product);
        out[i] = whole / power;
        seen |= (whole + 0.5 == product) | (whole - 0.5 == product) | !(fabs(product) < 0x1p53);
    })
    return seen != 0;
}

VM_TARGET static void VM(select)(const uint64_t *bits, const i64_any *a, const i64_any *b, int64_t *restrict out,
                                 int64_t rows) {
#if VM_LEVEL == 2
    for (int64_t i = 0; i < rows; i += 8) {
        const __mmask8 in_use = rows - i >= 8 ? 0xFF : (__mmask8)((1u << (rows - i)) - 1);
        const __mmask8 these = (__mmask8)(bits[i >> 6] >> (i & 63));
        const __m512i other = _mm512_maskz_loadu_epi64(in_use, b + i);
        _mm512_mask_storeu_epi64(out + i, in_use, _mm512_mask_loadu_epi64(other, these & in_use, a + i));
    }
#else
    LOOP(out[i] = bits[i >> 6] >> (i & 63) & 1 ? a[i] : b[i])
#endif
}

/* Units into seconds or days; division by a constant is a multiplication. */
VM_TARGET static void VM(whole_units)(const i64_any *a, int64_t unit, int64_t *restrict out, int64_t rows) {
    switch (unit) {
#define UNIT(constant)                                                                                                 \
    case constant: LOOP(out[i] = floor_divide(a[i], constant)) break;
        UNIT(INT64_C(1000))
        UNIT(INT64_C(1000000))
        UNIT(INT64_C(1000000000))
        UNIT(INT64_C(86400))
        UNIT(INT64_C(86400000))
        UNIT(INT64_C(86400000000))
        UNIT(INT64_C(86400000000000))
#undef UNIT
    default: memcpy(out, a, (size_t)rows * 8);
    }
}

/* Part of day numbers since 1970, in place: 32-bit arithmetic (Neri and Schneider 2022, section 5) while all lie within
   the years -400000 to 400000, the general way otherwise. */
VM_TARGET static void VM(day_parts)(int64_t *out, int64_t part, int64_t rows) {
    const int64_t before = 719468 + 146097 * INT64_C(1000); /* days from 1 March of year -400000 to 1970 */
    uint64_t far = 0;
    LOOP(far |= (uint64_t)(out[i] + before) >> 29)
    if (far != 0) {
        LOOP(out[i] = part_of_day_number(out[i], part))
        return;
    }
#define CIVIL(result)                                                                                                  \
    LOOP({                                                                                                             \
        const uint32_t n1 = 4 * (uint32_t)(out[i] + before) + 3, century = n1 / 146097;                                \
        const uint64_t p2 = UINT64_C(2939745) * ((n1 % 146097) | 3);                                                   \
        const uint32_t of_century = (uint32_t)(p2 >> 32), of_year = (uint32_t)p2 / 2939745 / 4;                        \
        const uint32_t n3 = 2141 * of_year + 197913, after = of_year >= 306;                                           \
        (void)century, (void)of_century, (void)n3, (void)after;                                                        \
        out[i] = result;                                                                                               \
    })
    switch (part) {
    case AS_YEAR: CIVIL((int64_t)(100 * century + of_century + after) - 400000) break;
    case AS_MONTH: CIVIL((n3 >> 16) - 12 * after) break;
    default: CIVIL((n3 & 0xFFFF) / 2141 + 1)
    }
#undef CIVIL
}

VM_TARGET static void VM(date_parts)(const i64_any *a, int64_t part, int64_t per_second, int64_t *restrict out,
                                     int64_t rows) {
    const bool of_day = part == AS_HOUR || part == AS_MINUTE || part == AS_SECOND;
    VM(whole_units)(a, of_day ? per_second : per_second * 86400, out, rows);
    switch (part) {
    case AS_SECOND: LOOP(out[i] = floor_remainder(out[i], 60)) break;
    case AS_MINUTE: LOOP(out[i] = floor_remainder(out[i], 3600) / 60) break;
    case AS_HOUR: LOOP(out[i] = floor_remainder(out[i], 86400) / 3600) break;
    case AS_WEEKDAY: LOOP(out[i] = part_of_day_number(out[i], AS_WEEKDAY)) break;
    default: VM(day_parts)(out, part, rows);
    }
}

VM_TARGET static void VM(store)(const as_block *block, const as_instruction *step) {
    const int64_t rows = block->rows;
    const i64_any *from = vector(block, step->a);
    const f64_any *reals = block->at[step->a];
    char *to = block->outs[step->out];
    switch (step->kind) {
#define STORE(name, type, value)                                                                                       \
    case name: {                                                                                                       \
        type *restrict out = (type *)to + block->first;                                                                \
        LOOP(out[i] = (type)value[i])                                                                                  \
        break;                                                                                                         \
    }
        STORE(AS_I8, int8_t, from)
        STORE(AS_U8, uint8_t, from)
        STORE(AS_I16, int16_t, from)
        STORE(AS_U16, uint16_t, from)
        STORE(AS_I32, int32_t, from)
        STORE(AS_U32, uint32_t, from)
        STORE(AS_F32, float, reals)
#undef STORE
    default: memcpy((int64_t *)to + block->first, from, (size_t)rows * 8);
    }
}
