/*
 * The instructions, and the loop over blocks of rows that runs them. Included by expression.c once for each instruction
 * set, after expression_vectors.h. Registers that an instruction does not read are number 0, which always exists.
 */

#define V(number) vector(block, step->number)
#define F(number) ((const f64_any *)vector(block, step->number))
#define M(number) mask(block, step->number)

#define MASKS(expression)                                                                                              \
    {                                                                                                                  \
        const uint64_t *a = M(a), *b = M(b);                                                                           \
        uint64_t *out = M(out);                                                                                        \
        (void)b;                                                                                                       \
        for (int word = 0; word < WORDS; word++)                                                                       \
            out[word] = expression;                                                                                    \
        break;                                                                                                         \
    }
#define FLOATS(expression)                                                                                             \
    {                                                                                                                  \
        const f64_any *a = F(a), *b = F(b);                                                                            \
        double *restrict out = target(block, step);                                                                    \
        (void)a, (void)b;                                                                                              \
        LOOP(out[i] = expression)                                                                                      \
        break;                                                                                                         \
    }
#define INTEGERS(expression)                                                                                           \
    {                                                                                                                  \
        const i64_any *a = V(a), *b = V(b);                                                                            \
        int64_t *restrict out = target(block, step);                                                                   \
        LOOP(out[i] = expression)                                                                                      \
        break;                                                                                                         \
    }
#define CHECKED(fast, type, careful)                                                                                   \
    {                                                                                                                  \
        const type *a = (const type *)V(a);                                                                            \
        const i64_any *b = V(b);                                                                                       \
        int64_t *out = target(block, step);                                                                            \
        if (VM(fast)(a, b, step, out, rows))                                                                           \
            careful(block, step, a, b, out);                                                                           \
        break;                                                                                                         \
    }

VM_TARGET static void VM(do_mask)(as_block *block, const as_instruction *step) {
    const int64_t rows = block->rows;
    uint64_t *const out_mask = M(out);
    switch (step->op) {
    case AS_X_ALL: memset(out_mask, step->x ? 0xFF : 0, WORDS * sizeof(uint64_t)); break;
    case AS_X_VALID: valid(block, block->columns + step->a, out_mask); break;
    case AS_X_TEST: VM(test)(block, step, out_mask); break;
    case AS_X_TEST_CODES: VM(test_codes)(block, step, out_mask); break;
    case AS_X_EQUAL_I: VM(equal_i)(V(a), V(b), out_mask, rows); break;
    case AS_X_LESS_I: VM(less_i)(V(a), V(b), out_mask, rows); break;
    case AS_X_LESS_EQUAL_I: VM(less_equal_i)(V(a), V(b), out_mask, rows); break;
    case AS_X_EQUAL_F: VM(equal_f)(F(a), F(b), out_mask, rows); break;
    case AS_X_LESS_F: VM(less_f)(F(a), F(b), out_mask, rows); break;
    case AS_X_LESS_EQUAL_F: VM(less_equal_f)(F(a), F(b), out_mask, rows); break;
    case AS_X_TEST_I: VM(test_64)((const u64_any *)V(a), step->x, step->y, out_mask, rows); break;
    case AS_X_TEST_F: VM(test_f64)(F(a), double_of(step->x), double_of(step->y), out_mask, rows); break;
    case AS_X_IN_I: VM(is_in)(V(a), step->table, step->size, out_mask, rows); break;
    case AS_X_AND: MASKS(a[word] & b[word])
    case AS_X_OR: MASKS(a[word] | b[word])
    case AS_X_AND_NOT: MASKS(a[word] & ~b[word])
    case AS_X_NOT: MASKS(~a[word])
    case AS_X_TEXT_EQUAL: VM(texts_equal)(block, step, out_mask); break;
    case AS_X_TEXT_LESS: texts_less(block, step, out_mask); break;
    case AS_X_TEXT_LESS_EQUAL: texts_less_equal(block, step, out_mask); break;
    case AS_X_TEXT_STARTS: texts_start(block, step, out_mask); break;
    case AS_X_TEXT_ENDS: texts_end(block, step, out_mask); break;
    case AS_X_TEXT_CONTAINS: texts_contain(block, step, out_mask); break;
    default: break;
    }
}

VM_TARGET static void VM(do_integers)(as_block *block, const as_instruction *step) {
    const int64_t rows = block->rows;
    switch (step->op) {
    case AS_X_LOAD: VM(load)(block, step); break;
    case AS_X_CONSTANT: {
        int64_t *restrict out = target(block, step);
        for (int i = 0; i < LANES; i++)
            out[i] = step->x;
        break;
    }
    case AS_X_LOOK_UP: VM(look_up)(block, step); break;
    case AS_X_ADD_I: CHECKED(add, i64_any, careful_add)
    case AS_X_SUBTRACT_I: CHECKED(subtract, i64_any, careful_subtract)
    case AS_X_MULTIPLY_I: CHECKED(multiply, i64_any, careful_multiply)
    case AS_X_SCALE_I: CHECKED(scale, i64_any, careful_scale)
    case AS_X_NEGATE_I: CHECKED(negate, i64_any, careful_negate)
    case AS_X_ABS_I: CHECKED(absolute, i64_any, careful_abs)
    case AS_X_FLOOR_DIVIDE_I: CHECKED(floor_divide, i64_any, careful_floor_divide)
    case AS_X_REMAINDER_I: CHECKED(remainder, i64_any, careful_remainder)
    case AS_X_FITS: CHECKED(fits, i64_any, careful_fits)
    case AS_X_F_TO_I: CHECKED(float_to_int, f64_any, careful_float_to_int)
    case AS_X_MIN_I: INTEGERS(b[i] < a[i] ? b[i] : a[i])
    case AS_X_MAX_I: INTEGERS(b[i] > a[i] ? b[i] : a[i])
    case AS_X_M_TO_I: {
        const uint64_t *bits = M(a);
        int64_t *restrict out = target(block, step);
        LOOP(out[i] = bits[i >> 6] >> (i & 63) & 1)
        break;
    }
    case AS_X_SELECT: VM(select)(M(c), V(a), V(b), target(block, step), rows); break;
    case AS_X_DATE_PART: VM(date_parts)(V(a), step->x, step->y, target(block, step), rows); break;
    case AS_X_TEXT_LENGTH: text_lengths(block, step, target(block, step)); break;
    case AS_X_BYTES_LENGTH: bytes_lengths(block, step, target(block, step)); break;
    case AS_X_TEXT_TO_I: texts_to_ints(block, step, target(block, step)); break;
    case AS_X_TEXT_TO_F:
        block->plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
        texts_to_floats(block, step, target(block, step));
        freelocale(block->plain);
        break;
    case AS_X_TEXT_TO_BOOL: texts_to_bools(block, step, target(block, step)); break;
    default: break;
    }
}

VM_TARGET static void VM(do_floats)(as_block *block, const as_instruction *step) {
    const int64_t rows = block->rows;
    switch (step->op) {
    case AS_X_ADD_F: FLOATS(a[i] + b[i])
    case AS_X_SUBTRACT_F: FLOATS(a[i] - b[i])
    case AS_X_MULTIPLY_F: FLOATS(a[i] * b[i])
    case AS_X_DIVIDE_F: FLOATS(a[i] / b[i])
    case AS_X_NEGATE_F: FLOATS(-a[i])
    case AS_X_ABS_F: FLOATS(fabs(a[i]))
    case AS_X_FLOOR_DIVIDE_F: FLOATS(float_floor_divide(a[i], b[i]))
    case AS_X_REMAINDER_F: FLOATS(float_remainder(a[i], b[i]))
    case AS_X_MIN_F: FLOATS(a[i] != a[i] ? a[i] : b[i] != b[i] || b[i] < a[i] ? b[i] : a[i])
    case AS_X_MAX_F: FLOATS(a[i] != a[i] ? a[i] : b[i] != b[i] || b[i] > a[i] ? b[i] : a[i])
    case AS_X_ROUND_F: {
        const double power = double_of(step->x);
        const f64_any *a = F(a);
        double *restrict out = target(block, step);
        if (power == 1.0)
            LOOP(out[i] = rint(a[i]))
        else if (VM(round_most)(a, power, out, rows))
            LOOP(out[i] = round_at(a[i], power))
        break;
    }
    case AS_X_SINGLE_F: FLOATS((double)(float)a[i])
    case AS_X_FLOOR_F: FLOATS(floor(a[i]))
    case AS_X_CEIL_F: FLOATS(ceil(a[i]))
    case AS_X_I_TO_F: {
        const i64_any *from = V(a);
        FLOATS((double)from[i])
    }
    default: break;
    }
}

VM_TARGET static void VM(do_output)(as_block *block, const as_instruction *step) {
    void *const out = block->outs[step->out];
    switch (step->op) {
    case AS_X_STORE: VM(store)(block, step); break;
    case AS_X_STORE_BOOLS: VM(store_bools)(M(a), (uint8_t *)out + block->first, block->rows); break;
    case AS_X_STORE_BITS: memcpy((uint8_t *)out + block->first / 8, M(a), LANES / 8); break;
    default: {
        int64_t *count = block->counts + step->out;
        *count += VM(store_rows)(block, M(a), (uint32_t *)out + *count);
    }
    }
}

VM_TARGET static void VM(steps)(as_block *block, const as_instruction *step, const as_instruction *end) {
    for (; step < end; step++) {
        if (step->op >= AS_X_STORE)
            VM(do_output)(block, step);
        else if (step->op >= AS_X_ALL)
            VM(do_mask)(block, step);
        else if (step->op >= AS_X_ADD_F)
            VM(do_floats)(block, step);
        else
            VM(do_integers)(block, step);
    }
}

VM_TARGET static void VM(run)(as_block *block, const as_expression *program, int64_t rows) {
    const as_instruction *first = program->instructions, *end = first + program->count;
    block->rows = LANES;
    VM(steps)(block, first, first + program->setup);
    for (block->first = 0; block->first < rows; block->first += LANES) {
        block->rows = rows - block->first < LANES ? rows - block->first : LANES;
        VM(steps)(block, first + program->setup, end);
        if (block->failed && block->failures == NULL)
            return;
    }
}
#undef V
#undef F
#undef M
#undef MASKS
#undef FLOATS
#undef INTEGERS
#undef CHECKED
#undef LOOP
#undef MASK_LOOP
#undef MASK_VECTORS
#undef COMPARE
#undef TEST_INTEGERS
#undef TEST_FLOATS
#undef WATCHED
#undef WRAP
#undef IS_WIDE
#undef QUOTIENT
