/*
 * Random programs over random columns against one row after the other. Every buffer has exactly its size, so that
 * AddressSanitizer sees an access of one byte too many. Usage: expression_random SEED ROUNDS
 */
#define _GNU_SOURCE
#include "expression_rows.h"

/* What an operation reads as a and b, and writes: v, m, c a column of numbers, t of text, k of codes, - nothing. */
static const struct {
    uint16_t op;
    char a, b, out, sort; /* sort: i or f, what the vectors hold */
} SHAPES[] = {
    {AS_X_LOAD, 'c', '-', 'v', '-'},
    {AS_X_ADD_I, 'v', 'v', 'v', 'i'},
    {AS_X_SUBTRACT_I, 'v', 'v', 'v', 'i'},
    {AS_X_MULTIPLY_I, 'v', 'v', 'v', 'i'},
    {AS_X_SCALE_I, 'v', '-', 'v', 'i'},
    {AS_X_NEGATE_I, 'v', '-', 'v', 'i'},
    {AS_X_ABS_I, 'v', '-', 'v', 'i'},
    {AS_X_FLOOR_DIVIDE_I, 'v', 'v', 'v', 'i'},
    {AS_X_REMAINDER_I, 'v', 'v', 'v', 'i'},
    {AS_X_MIN_I, 'v', 'v', 'v', 'i'},
    {AS_X_MAX_I, 'v', 'v', 'v', 'i'},
    {AS_X_FITS, 'v', '-', 'v', 'i'},
    {AS_X_F_TO_I, 'v', '-', 'v', 'f'},
    {AS_X_M_TO_I, 'm', '-', 'v', '-'},
    {AS_X_SELECT, 'v', 'v', 'v', 'i'},
    {AS_X_TEXT_LENGTH, 't', '-', 'v', '-'},
    {AS_X_BYTES_LENGTH, 't', '-', 'v', '-'},
    {AS_X_TEXT_TO_I, 't', '-', 'v', '-'},
    {AS_X_TEXT_TO_F, 't', '-', 'v', '-'},
    {AS_X_TEXT_TO_BOOL, 't', '-', 'v', '-'},
    {AS_X_ADD_F, 'v', 'v', 'v', 'f'},
    {AS_X_SUBTRACT_F, 'v', 'v', 'v', 'f'},
    {AS_X_MULTIPLY_F, 'v', 'v', 'v', 'f'},
    {AS_X_DIVIDE_F, 'v', 'v', 'v', 'f'},
    {AS_X_NEGATE_F, 'v', '-', 'v', 'f'},
    {AS_X_ABS_F, 'v', '-', 'v', 'f'},
    {AS_X_MIN_F, 'v', 'v', 'v', 'f'},
    {AS_X_MAX_F, 'v', 'v', 'v', 'f'},
    {AS_X_SINGLE_F, 'v', '-', 'v', 'f'},
    {AS_X_FLOOR_F, 'v', '-', 'v', 'f'},
    {AS_X_CEIL_F, 'v', '-', 'v', 'f'},
    {AS_X_I_TO_F, 'v', '-', 'v', 'i'},
    {AS_X_LOOK_UP, 'k', '-', 'v', '-'},
    {AS_X_TEST_CODES, 'k', '-', 'm', '-'},
    {AS_X_VALID, 'c', '-', 'm', '-'},
    {AS_X_TEST, 'c', '-', 'm', '-'},
    {AS_X_EQUAL_I, 'v', 'v', 'm', 'i'},
    {AS_X_LESS_I, 'v', 'v', 'm', 'i'},
    {AS_X_LESS_EQUAL_I, 'v', 'v', 'm', 'i'},
    {AS_X_EQUAL_F, 'v', 'v', 'm', 'f'},
    {AS_X_LESS_F, 'v', 'v', 'm', 'f'},
    {AS_X_LESS_EQUAL_F, 'v', 'v', 'm', 'f'},
    {AS_X_TEST_I, 'v', '-', 'm', 'i'},
    {AS_X_TEST_F, 'v', '-', 'm', 'f'},
    {AS_X_IN_I, 'v', '-', 'm', 'i'},
    {AS_X_AND, 'm', 'm', 'm', '-'},
    {AS_X_OR, 'm', 'm', 'm', '-'},
    {AS_X_AND_NOT, 'm', 'm', 'm', '-'},
    {AS_X_NOT, 'm', '-', 'm', '-'},
    {AS_X_TEXT_EQUAL, 't', 't', 'm', '-'},
    {AS_X_TEXT_LESS, 't', 't', 'm', '-'},
    {AS_X_TEXT_LESS_EQUAL, 't', 't', 'm', '-'},
    {AS_X_TEXT_STARTS, 't', 't', 'm', '-'},
    {AS_X_TEXT_ENDS, 't', 't', 'm', '-'},
    {AS_X_TEXT_CONTAINS, 't', 't', 'm', '-'},
};
enum { SETUP = 2, SHAPE_COUNT = sizeof SHAPES / sizeof SHAPES[0] };

static as_instruction program[STEPS + OUTPUTS];
static uint32_t steps;
static bool real[REGISTERS]; /* what the vectors hold where the next step is */
static bool written[2][REGISTERS]; /* vectors and masks that have a value there: in the setup, or for these rows */
static const int64_t TABLE[] = {-9, -1, 0, 1, 5, 6, 9, 1000};

/* A column for a shape's letter; -1: there is none. */
static int column_for(char letter) {
    for (int tries = 0; tries < 20; tries++) {
        const int number = (int)below(COLUMNS);
        const bool code = kinds[number] == AS_I8 || kinds[number] == AS_I16 || kinds[number] == AS_I32;
        if (letter == 't' ? kinds[number] < 0 : letter == 'k' ? code : kinds[number] >= 0)
            return number;
    }
    return -1;
}

/* A register to read that is not `out`, holding what `sort` says; -1: there is none. */
static int register_for(char letter, char sort, int out, char out_letter) {
    for (int tries = 0; tries < 20; tries++) {
        const int number = (int)below(REGISTERS);
        if ((letter == out_letter && number == out) || !written[letter == 'm'][number])
            continue;
        if (letter == 'm' || real[number] == (sort == 'f'))
            return number;
    }
    return letter == 'm' && out_letter != 'm' ? 0 : -1;
}

static void random_constants(as_instruction *step) {
    if (step->op == AS_X_TEST_F || (step->op == AS_X_TEST && kinds[step->a] >= AS_F32)) {
        const float least = (float)random_float(), most = (float)random_float();
        step->x = as_bits(least), step->y = as_bits(most);
    } else if (step->op == AS_X_TEST) {
        const int64_t least = (int64_t)below(100), most = least + (int64_t)below(28);
        step->x = least, step->y = most; /* within every type */
    } else if (step->op == AS_X_SCALE_I) {
        step->x = (int64_t)below(5) + 1;
        step->y = -(INT64_MAX / step->x) - (step->x == 1), step->size = (uint64_t)(INT64_MAX / step->x);
        if (step->x == 2)
            step->y = INT64_MIN / 2;
        if (step->x == 4)
            step->y = INT64_MIN / 4;
    } else if (step->op == AS_X_TEST_I || step->op == AS_X_FITS) {
        const int64_t a = random_int(), b = random_int();
        step->x = a < b ? a : b, step->y = a < b ? b : a;
    } else if (step->op == AS_X_IN_I) {
        step->table = TABLE, step->size = below(9);
    } else if (step->op == AS_X_LOOK_UP || step->op == AS_X_TEST_CODES) {
        step->table = TABLE, step->size = 1 + below(8);
    }
}

static void random_step(void) {
    const int shape = (int)below(SHAPE_COUNT);
    as_instruction step = {.op = SHAPES[shape].op, .active = AS_X_NONE, .to = AS_X_NONE};
    const char letters[2] = {SHAPES[shape].a, SHAPES[shape].b}, out = SHAPES[shape].out;
    step.out = (uint16_t)(1 + below(REGISTERS - 1)); /* register 0 is of the setup */
    int chosen[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        if (letters[i] == '-')
            continue;
        chosen[i] = letters[i] == 'v' || letters[i] == 'm' ? register_for(letters[i], SHAPES[shape].sort, step.out, out)
                                                           : column_for(letters[i]);
        if (chosen[i] < 0)
            return;
    }
    step.a = (uint16_t)chosen[0], step.b = (uint16_t)chosen[1];
    if (letters[1] == 't' && below(2)) {
        step.b = AS_X_NONE, step.table = "ab", step.size = below(3);
    }
    if (letters[0] == 'c' || letters[0] == 'k')
        step.kind = (uint16_t)kinds[step.a];
    step.c = (uint16_t)register_for('m', '-', -1, '-');
    if (below(2))
        step.active = (uint16_t)register_for('m', '-', -1, '-');
    random_constants(&step);
    if (out == 'v')
        real[step.out] = step.op == AS_X_LOAD
                             ? step.kind >= AS_F32
                             : step.op == AS_X_TEXT_TO_F || (step.op >= AS_X_ADD_F && step.op <= AS_X_I_TO_F);
    written[out == 'm'][step.out] = true;
    program[steps++] = step;
}

static void random_program(void) {
    memset(real, 0, sizeof real);
    memset(written, 0, sizeof written);
    written[0][0] = written[1][0] = true;
    program[0] = (as_instruction){.op = AS_X_CONSTANT, .x = random_int(), .to = AS_X_NONE};
    program[1] = (as_instruction){.op = AS_X_ALL, .x = (int64_t)below(2)};
    steps = SETUP;
    while (steps < STEPS)
        random_step();
    uint16_t whole = (uint16_t)below(REGISTERS), mask = (uint16_t)register_for('m', '-', -1, '-');
    whole = written[0][whole] ? whole : 0;
    const uint16_t kind = real[whole] ? (uint16_t)(AS_F32 + below(2)) : (uint16_t)below(AS_F32);
    program[steps++] = (as_instruction){.op = AS_X_STORE, .out = 0, .a = whole, .kind = kind};
    program[steps++] = (as_instruction){.op = AS_X_STORE_BOOLS, .out = 1, .a = mask};
    program[steps++] = (as_instruction){.op = AS_X_STORE_BITS, .out = 2, .a = mask};
    program[steps++] = (as_instruction){.op = AS_X_STORE_ROWS, .out = 3, .a = mask};
}

static bool same_value(const as_instruction *store, const char *out, int64_t row, int64_t value) {
    const uint32_t width = WIDTHS[store->kind];
    if (store->kind == AS_F32 || store->kind == AS_F64) {
        const double expected = store->kind == AS_F32 ? (float)as_double(value) : as_double(value);
        float single;
        double found;
        memcpy(&single, out + row * width, 4);
        if (store->kind == AS_F32)
            found = single;
        else
            memcpy(&found, out + row * width, 8);
        return isnan(expected) ? isnan(found) : found == expected && !signbit(found) == !signbit(expected);
    }
    return memcmp(out + row * width, &value, width) == 0;
}

static void one_round(void) {
    const int64_t rows = (int64_t)below(below(4) ? 200 : 1300) + 1;
    for (int number = 0; number < COLUMNS; number++)
        random_column(number, rows);
    random_program();
    const as_instruction *store = program + STEPS;
    char *values = malloc((size_t)rows * WIDTHS[store->kind]);
    uint8_t *bools = malloc((size_t)rows), *bits = malloc((size_t)(rows + 511) / 512 * 64);
    uint32_t *numbers = malloc((size_t)rows * 4), *failures = calloc((size_t)rows, 4);
    void *outs[OUTPUTS] = {values, bools, bits, numbers};
    int64_t counts[OUTPUTS] = {0};
    const as_expression whole = {program, steps, SETUP, REGISTERS, REGISTERS};
    CHECK(as_expression_run(&whole, columns, rows, outs, counts, failures) == AS_OK);
    int64_t kept = 0;
    bool any = false;
    for (int64_t row = 0; row < rows; row++) {
        row_state at = {0};
        for (uint32_t number = 0; number < STEPS; number++)
            run_step(&at, program + number, number, row);
        CHECK(failures[row] == at.failed);
        any |= at.failed != 0;
        const bool mark = at.m[program[STEPS + 1].a];
        const bool listed = kept < counts[3] && numbers[kept] == (uint32_t)row;
        kept += listed;
        if (at.failed)
            continue;
        CHECK(bools[row] == mark);
        CHECK((bits[row >> 3] >> (row & 7) & 1) == mark);
        CHECK(listed == mark);
        CHECK(same_value(store, values, row, at.v[store->a]));
    }
    CHECK(kept == counts[3]);
    memset(counts, 0, sizeof counts);
    CHECK(as_expression_run(&whole, columns, rows, outs, counts, NULL) == (any ? AS_AGAIN : AS_OK));
    for (int number = 0; number < COLUMNS; number++) {
        free((void *)columns[number].data);
        free((void *)columns[number].offsets);
        free((void *)columns[number].validity);
    }
    free(values), free(bools), free(bits), free(numbers), free(failures);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    seed = strtoull(argv[1], NULL, 10);
    state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    const int rounds = atoi(argv[2]);
    for (round_number = 0; round_number < rounds; round_number++)
        one_round();
    puts("ok");
    return 0;
}
