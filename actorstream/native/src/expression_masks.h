/*
 * Loops of expressions that make masks, and that store them. Included by expression.c once for each instruction set,
 * with VM_LEVEL (0 baseline, 1 AVX2, 2 AVX-512), VM(name) and VM_TARGET.
 */
#define LOOP(...)                                                                                                      \
    for (int64_t i = 0; i < rows; i++)                                                                                 \
        __VA_ARGS__;

/* 64 bytes of 0 and 1 as bits. */
VM_TARGET AS_INLINE uint64_t VM(pack)(const uint8_t *bytes) {
#if VM_LEVEL == 2
    return _mm512_test_epi8_mask(_mm512_loadu_si512(bytes), _mm512_loadu_si512(bytes));
#elif VM_LEVEL == 1
    const __m256i low = _mm256_loadu_si256((const __m256i *)bytes),
                  high = _mm256_loadu_si256((const __m256i *)(bytes + 32));
    return (uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(low, 7)) |
           (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(high, 7)) << 32;
#else
    uint64_t word = 0;
    for (int part = 0; part < 8; part++)
        word |= (*(const u64_any *)(bytes + 8 * part) * UINT64_C(0x0102040810204080) >> 56) << (8 * part);
    return word;
#endif
}

/* m[out] of a test of lane i. With AVX-512, `parts` vectors of the same make their bits directly. */
#define MASK_LOOP(test)                                                                                                \
    for (int64_t word = 0; 64 * word < rows; word++) {                                                                 \
        uint8_t hits[64] = {0};                                                                                        \
        const int64_t count = rows - 64 * word < 64 ? rows - 64 * word : 64, base = 64 * word;                         \
        for (int64_t k = 0; k < count; k++) {                                                                          \
            const int64_t i = base + k;                                                                                \
            hits[k] = (uint8_t)(test);                                                                                 \
        }                                                                                                              \
        out[word] = VM(pack)(hits);                                                                                    \
    }

#if VM_LEVEL == 2
/* `per` lanes a vector; `rest` has the bits of the lanes in use, so that none past them is read. */
#define MASK_VECTORS(per, test)                                                                                        \
    for (int64_t word = 0; 64 * word < rows; word++) {                                                                 \
        const int64_t count = rows - 64 * word;                                                                        \
        const uint64_t in_use = count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;                               \
        uint64_t bits = 0;                                                                                             \
        for (int part = 0; part < 64 / (per); part++) {                                                                \
            const uint64_t rest = in_use >> (part * (per)) & (~UINT64_C(0) >> (64 - (per)));                           \
            const int64_t i = 64 * word + part * (per);                                                                \
            bits |= (uint64_t)(test) << (part * (per));                                                                \
        }                                                                                                              \
        out[word] = bits;                                                                                              \
    }
#endif

/* a < b and the like of two vectors. */
#if VM_LEVEL == 2
#define COMPARE(name, type, relation, make, load, number)                                                              \
    VM_TARGET static void VM(name)(const type *a, const type *b, uint64_t *restrict out, int64_t rows) {               \
        MASK_VECTORS(8, make((__mmask8)rest, load((__mmask8)rest, a + i), load((__mmask8)rest, b + i), number))        \
    }
#else
#define COMPARE(name, type, relation, make, load, number)                                                              \
    VM_TARGET static void VM(name)(const type *a, const type *b, uint64_t *restrict out, int64_t rows) {               \
        MASK_LOOP(a[i] relation b[i])                                                                                  \
    }
#endif
COMPARE(equal_i, i64_any, ==, _mm512_mask_cmp_epi64_mask, _mm512_maskz_loadu_epi64, _MM_CMPINT_EQ)
COMPARE(less_i, i64_any, <, _mm512_mask_cmp_epi64_mask, _mm512_maskz_loadu_epi64, _MM_CMPINT_LT)
COMPARE(less_equal_i, i64_any, <=, _mm512_mask_cmp_epi64_mask, _mm512_maskz_loadu_epi64, _MM_CMPINT_LE)
COMPARE(equal_f, f64_any, ==, _mm512_mask_cmp_pd_mask, _mm512_maskz_loadu_pd, _CMP_EQ_OQ)
COMPARE(less_f, f64_any, <, _mm512_mask_cmp_pd_mask, _mm512_maskz_loadu_pd, _CMP_LT_OQ)
COMPARE(less_equal_f, f64_any, <=, _mm512_mask_cmp_pd_mask, _mm512_maskz_loadu_pd, _CMP_LE_OQ)

/* least <= value <= most of integers of one width, as the one unsigned comparison value - least <= most - least. */
#if VM_LEVEL == 2
#define TEST_INTEGERS(name, type, per, bits_, lanes)                                                                   \
    VM_TARGET static void VM(name)(const type *a, int64_t least, int64_t most, uint64_t *restrict out, int64_t rows) { \
        const __m512i low = _mm512_set1_epi##bits_(lanes least),                                                       \
                      span = _mm512_set1_epi##bits_(lanes((uint64_t)most - (uint64_t)least));                          \
        MASK_VECTORS(per,                                                                                              \
                     _mm512_mask_cmple_epu##bits_##_mask(                                                              \
                         (__mmask##per)rest,                                                                           \
                         _mm512_sub_epi##bits_(_mm512_maskz_loadu_epi##bits_((__mmask##per)rest, a + i), low), span))  \
    }
#else
#define TEST_INTEGERS(name, type, per, bits_, lanes)                                                                   \
    VM_TARGET static void VM(name)(const type *a, int64_t least, int64_t most, uint64_t *restrict out, int64_t rows) { \
        const uint##bits_##_t low = (uint##bits_##_t)least,                                                            \
                              span = (uint##bits_##_t)((uint64_t)most - (uint64_t)least);                              \
        MASK_LOOP((uint##bits_##_t)((uint##bits_##_t)a[i] - low) <= span)                                              \
    }
#endif
TEST_INTEGERS(test_8, uint8_t, 64, 8, (char))
TEST_INTEGERS(test_16, u16_any, 32, 16, (short))
TEST_INTEGERS(test_32, u32_any, 16, 32, (int))
TEST_INTEGERS(test_64, u64_any, 8, 64, (long long))

#if VM_LEVEL == 2
#define TEST_FLOATS(name, type, value, per, set, load, make)                                                           \
    VM_TARGET static void VM(name)(const type *a, value least, value most, uint64_t *restrict out, int64_t rows) {     \
        MASK_VECTORS(per, make(make((__mmask##per)rest, load((__mmask##per)rest, a + i), set(least), _CMP_GE_OQ),      \
                               load((__mmask##per)rest, a + i), set(most), _CMP_LE_OQ))                                \
    }
#else
#define TEST_FLOATS(name, type, value, per, set, load, make)                                                           \
    VM_TARGET static void VM(name)(const type *a, value least, value most, uint64_t *restrict out, int64_t rows) {     \
        MASK_LOOP((a[i] >= least) & (a[i] <= most))                                                                    \
    }
#endif
TEST_FLOATS(test_f32, f32_any, float, 16, _mm512_set1_ps, _mm512_maskz_loadu_ps, _mm512_mask_cmp_ps_mask)
TEST_FLOATS(test_f64, f64_any, double, 8, _mm512_set1_pd, _mm512_maskz_loadu_pd, _mm512_mask_cmp_pd_mask)

VM_TARGET static void VM(test)(const as_block *block, const as_instruction *step, uint64_t *restrict out) {
    const int64_t rows = block->rows;
    switch (step->kind) {
    case AS_I8:
    case AS_U8: VM(test_8)(values(block, step, 1), step->x, step->y, out, rows); break;
    case AS_I16:
    case AS_U16: VM(test_16)(values(block, step, 2), step->x, step->y, out, rows); break;
    case AS_I32:
    case AS_U32: VM(test_32)(values(block, step, 4), step->x, step->y, out, rows); break;
    case AS_F32:
        VM(test_f32)(values(block, step, 4), (float)double_of(step->x), (float)double_of(step->y), out, rows);
        break;
    case AS_F64: VM(test_f64)(values(block, step, 8), double_of(step->x), double_of(step->y), out, rows); break;
    default: VM(test_64)(values(block, step, 8), step->x, step->y, out, rows);
    }
}

/* Which texts have `size` bytes, by their offsets. */
VM_TARGET static void VM(have_size)(const i32_any *offsets, int32_t size, uint64_t *restrict out, int64_t rows) {
#if VM_LEVEL == 2
    const __m512i wanted = _mm512_set1_epi32(size);
    MASK_VECTORS(
        16, _mm512_mask_cmpeq_epi32_mask((__mmask16)rest,
                                         _mm512_sub_epi32(_mm512_maskz_loadu_epi32((__mmask16)rest, offsets + i + 1),
                                                          _mm512_maskz_loadu_epi32((__mmask16)rest, offsets + i)),
                                         wanted))
#else
    MASK_LOOP(offsets[i + 1] - offsets[i] == size)
#endif
}

VM_TARGET static void VM(have_size_wide)(const i64_any *offsets, int64_t size, uint64_t *restrict out,
                                         int64_t rows){MASK_LOOP(offsets[i + 1] - offsets[i] == size)}

/* m[out] of texts that equal a constant or another column's: of a constant those of its length first, then their bytes;
   so 0.7 ns a row where a third has it, and 1.3 where all have. */
VM_TARGET static void VM(texts_equal)(const as_block *block, const as_instruction *step, uint64_t *out) {
    const as_column *column = block->columns + step->a;
    if (step->b != AS_X_NONE || step->size == 0 || step->size > INT32_MAX) {
        texts_same(block, step, out);
        return;
    }
    const int64_t first = column->first + block->first, rows = block->rows, size = (int64_t)step->size;
    const i64_any *wide = (const i64_any *)column->offsets + (column->wide ? first : 0);
    const i32_any *narrow = (const i32_any *)column->offsets + (column->wide ? 0 : first);
    if (column->wide)
        VM(have_size_wide)(wide, size, out, rows);
    else
        VM(have_size)(narrow, (int32_t)size, out, rows);
    for (int64_t word = 0; 64 * word < rows; word++) {
        if (column->wide)
            out[word] = equal_texts(column->data, wide + 64 * word, true, out[word], wide[rows], step->table, size);
        else
            out[word] =
                equal_texts(column->data, narrow + 64 * word, false, out[word], narrow[rows], step->table, size);
    }
}

/* The code of a dictionary column in row i of the block. */
VM_TARGET AS_INLINE uint64_t VM(code)(const void *from, unsigned kind, int64_t i) {
    switch (kind) {
    case AS_I8: return (uint64_t)((const int8_t *)from)[i];
    case AS_I16: return (uint64_t)((const i16_any *)from)[i];
    default: return (uint64_t)((const i32_any *)from)[i];
    }
}

VM_TARGET static void VM(test_codes)(const as_block *block, const as_instruction *step, uint64_t *restrict out) {
    const void *from = values(block, step, step->kind == AS_I8 ? 1 : step->kind == AS_I16 ? 2 : 4);
    const int64_t rows = block->rows;
    const uint64_t *bitmap = step->table, size = step->size;
    for (int64_t word = 0; 64 * word < rows; word++) {
        const int64_t count = rows - 64 * word < 64 ? rows - 64 * word : 64;
        uint64_t bits = 0;
        for (int64_t k = 0; k < count; k++) {
            const uint64_t code = VM(code)(from, step->kind, 64 * word + k);
            bits |= (code < size ? bitmap[code >> 6] >> (code & 63) & 1 : 0) << k;
        }
        out[word] = bits;
    }
}

VM_TARGET static void VM(is_in)(const i64_any *a, const int64_t *table, uint64_t size, uint64_t *restrict out,
                                int64_t rows) {
    for (int64_t word = 0; 64 * word < rows; word++) {
        const int64_t count = rows - 64 * word < 64 ? rows - 64 * word : 64;
        uint64_t bits = 0;
        for (int64_t k = 0; k < count; k++) {
            const int64_t value = a[64 * word + k], *from = table;
            for (uint64_t left = size; left > 1;) { /* the last entry <= value, without branches */
                const uint64_t half = left / 2;
                from = from[half] <= value ? from + half : from;
                left -= half;
            }
            bits |= (uint64_t)(size > 0 && *from == value) << k;
        }
        out[word] = bits;
    }
}

VM_TARGET static void VM(store_bools)(const uint64_t *bits, uint8_t *restrict out, int64_t rows) {
#if VM_LEVEL == 2
    for (int64_t word = 0; 64 * word < rows; word++) {
        const int64_t count = rows - 64 * word;
        const __mmask64 in_use = count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
        _mm512_mask_storeu_epi8(out + 64 * word, in_use, _mm512_maskz_set1_epi8(bits[word], 1));
    }
#else
    LOOP(out[i] = bits[i >> 6] >> (i & 63) & 1)
#endif
}

/* Numbers of the rows whose bits are set, from `first` on; answers how many. Writes nothing past them. */
VM_TARGET static int64_t VM(store_rows)(const as_block *block, const uint64_t *bits, uint32_t *restrict out) {
    uint32_t *to = out;
    for (int64_t word = 0; 64 * word < block->rows; word++) {
        const uint32_t first = (uint32_t)(block->first + 64 * word);
        uint64_t left = bits[word] & lanes_in_use(block, word);
#if VM_LEVEL == 2
        const __m512i step = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        for (uint32_t part = 0; left != 0; part += 16, left >>= 16) {
            const __mmask16 these = (__mmask16)left;
            const unsigned kept = (unsigned)__builtin_popcount(these);
            const __m512i numbers = _mm512_add_epi32(step, _mm512_set1_epi32((int)(first + part)));
            _mm512_mask_storeu_epi32(to, (__mmask16)((1u << kept) - 1), _mm512_maskz_compress_epi32(these, numbers));
            to += kept;
        }
#else
        if (left == ~UINT64_C(0)) {
            for (uint32_t k = 0; k < 64; k++)
                to[k] = first + k;
            to += 64;
            continue;
        }
        for (; left != 0; left &= left - 1)
            *to++ = first + (uint32_t)__builtin_ctzll(left);
#endif
    }
    return to - out;
}
