/*
 * What generators and expressions give for fixed input, one line a result: a name, and a hash of the bits. All processors,
 * compilers and C libraries must print the same lines. A NaN counts as one value: its bits show in no result.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "elementary.h"
#include "expression.h"
#include "generate.h"

enum { ROWS = 20000 };

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static void tell(const char *name, int number, const uint64_t *words, int64_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < count; i++)
        hash = (hash ^ words[i]) * UINT64_C(0x100000001b3), hash ^= hash >> 29;
    printf("%s %d %016" PRIx64 "\n", name, number, hash);
}

static void tell_floats(const char *name, int number, const double *values, int64_t count) {
    static uint64_t words[ROWS];
    for (int64_t i = 0; i < count; i++) {
        const double value = values[i] == values[i] ? values[i] : 0x1p-1022;
        memcpy(&words[i], &value, sizeof value);
    }
    tell(name, number, words, count);
}

static void generators(const as_numbering *n) {
    static const double ranges[][2] = {{0, 1}, {0.1, 0.9}, {-1e9, 1e-3}, {1e15, 3e15}, {-0.3, 7.7}};
    static double floats[ROWS], weights[1000];
    static uint64_t words[ROWS];
    static uint32_t ranks[ROWS], kept[1000], other[1000], scratch[1000];
    for (int i = 0; i < 5; i++) {
        CHECK(as_draw_units(n, 5, ROWS, 7, ranges[i][0], ranges[i][1], floats) == AS_OK);
        tell_floats("units", i, floats, ROWS);
    }
    CHECK(as_draw_bits(n, 5, ROWS, 7, words) == AS_OK);
    tell("bits", 0, words, ROWS);
    CHECK(as_draw_integers(n, 5, ROWS, 7, -3, UINT64_C(1) << 40, (int64_t *)words) == AS_OK);
    tell("integers", 0, words, ROWS);
    static double units[ROWS];
    CHECK(as_draw_units(n, 5, ROWS, 9, 0x1p-53, 1, units) == AS_OK);
    as_log(units, ROWS, floats);
    tell_floats("log", 0, floats, ROWS);
    as_exp(floats, ROWS, floats);
    tell_floats("exp", 0, floats, ROWS);
    as_cosine(units, ROWS, floats);
    tell_floats("cosine", 0, floats, ROWS);
    double sum = 0;
    for (int i = 0; i < 1000; i++)
        sum += weights[i] = 1.0 / (i + 1);
    for (int i = 0; i < 1000; i++)
        weights[i] *= 1000 / sum;
    as_draw_table(weights, 1000, scratch, kept, other);
    CHECK(as_draw_ranks(n, 5, ROWS, 7, kept, other, 1000, ranks) == AS_OK);
    for (int i = 0; i < ROWS; i++)
        words[i] = ranks[i];
    tell("ranks", 0, words, ROWS);
}

/* v[1] and v[2] loaded, v[3] of them by the instruction, v[4] = v[3] * v[1], v[0] = v[4] + v[2]: a sum of a product. */
static void expression(const as_numbering *n, uint16_t op, int64_t x) {
    static double a[ROWS], b[ROWS], out[ROWS];
    CHECK(as_draw_units(n, 0, ROWS, 1, -1000, 1000, a) == AS_OK);
    CHECK(as_draw_units(n, 0, ROWS, 2, -3, 3, b) == AS_OK);
    for (int i = 0; i < ROWS; i += 97)
        b[i] = i % 2 ? 0.0 : -0.0;
    const as_column columns[2] = {{.width = 8, .data = a}, {.width = 8, .data = b}};
    const as_instruction program[] = {
        {.op = AS_X_LOAD, .out = 1, .a = 0, .kind = AS_F64, .active = AS_X_NONE, .to = AS_X_NONE},
        {.op = AS_X_LOAD, .out = 2, .a = 1, .kind = AS_F64, .active = AS_X_NONE, .to = AS_X_NONE},
        {.op = op, .out = 3, .a = 1, .b = 2, .x = x, .active = AS_X_NONE, .to = AS_X_NONE},
        {.op = AS_X_MULTIPLY_F, .out = 4, .a = 3, .b = 1, .active = AS_X_NONE, .to = AS_X_NONE},
        {.op = AS_X_ADD_F, .out = 0, .a = 4, .b = 2, .active = AS_X_NONE, .to = AS_X_NONE},
        {.op = AS_X_STORE, .out = 0, .a = 0, .kind = AS_F64, .active = AS_X_NONE, .to = AS_X_NONE},
    };
    const as_expression whole = {program, sizeof program / sizeof program[0], 0, 5, 1};
    void *const outs[] = {out};
    int64_t counts[] = {0};
    CHECK(as_expression_run(&whole, columns, ROWS, outs, counts, NULL) == AS_OK);
    tell_floats("expression", op, out, ROWS);
}

int main(void) {
    const as_numbering n = {.seed = 11, .first = 1, .stride = 3, .units = 1, .rows = 1};
    static const uint16_t operations[] = {
        AS_X_ADD_F,          AS_X_SUBTRACT_F,  AS_X_MULTIPLY_F, AS_X_DIVIDE_F, AS_X_NEGATE_F,
        AS_X_FLOOR_DIVIDE_F, AS_X_REMAINDER_F, AS_X_MIN_F,      AS_X_MAX_F,    AS_X_SINGLE_F,
    };
    const double hundred = 100;
    int64_t bits;
    memcpy(&bits, &hundred, sizeof bits);
    generators(&n);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        expression(&n, operations[i], 0);
    expression(&n, AS_X_ROUND_F, bits);
    return 0;
}
