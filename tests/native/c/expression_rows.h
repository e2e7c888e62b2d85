/* Random columns, and instructions of expressions on one row after the other: the plainest code that could be right. */
#ifndef EXPRESSION_ROWS_H
#define EXPRESSION_ROWS_H
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "expression.h"
#include "seeded.h"

enum { REGISTERS = 5, COLUMNS = 6, STEPS = 24, OUTPUTS = 4 };
static const uint32_t WIDTHS[] = {1, 2, 4, 8, 1, 2, 4, 8, 4, 8};

/* Small numbers, limits of types, and anything. */
static int64_t random_int(void) {
    static const int64_t special[] = {
        INT64_MIN, INT64_MAX, -1, 0, 1, INT64_C(1) << 31, INT64_C(1) << 52, INT64_C(1) << 53, -(INT64_C(1) << 52) - 1};
    const uint64_t how = below(4);
    return how == 0 ? special[below(9)] : how == 1 ? (int64_t)random64() : (int64_t)below(20) - 10;
}

static double random_float(void) {
    static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 0x1p63, -0x1p63, 0.5, 2.5, 1e300};
    return below(2) ? special[below(10)] : ((double)below(2000) - 1000) / 8;
}

static double as_double(int64_t bits) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

static int64_t as_bits(double value) {
    int64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

/* -- columns: of kind 0 .. 9 (enum as_kind), or -1: text */

static int kinds[COLUMNS];
static as_column columns[COLUMNS];

static void random_text(as_column *column, int64_t values) {
    static const char *words[] = {"",          "a",
                                  "ab",        "true",
                                  "false",     "12",
                                  "-7",        " 8 ",
                                  "1e3",       "9223372036854775808",
                                  "nan",       "abcdefghijklmnopq",
                                  "b\xC3\xA9", "inf",
                                  "1.5x",      "-9223372036854775808"};
    char *data = malloc(1);
    int64_t bytes = 0;
    column->wide = (uint32_t)below(2);
    char *offsets = malloc((size_t)(values + 1) * (column->wide ? 8 : 4));
    for (int64_t i = 0; i <= values; i++) {
        const int32_t narrow = (int32_t)bytes;
        memcpy(offsets + i * (column->wide ? 8 : 4), column->wide ? (void *)&bytes : (void *)&narrow,
               column->wide ? 8 : 4);
        if (i == values)
            break;
        const char *word = words[below(16)];
        data = realloc(data, (size_t)bytes + strlen(word) + (bytes + strlen(word) == 0));
        memcpy(data + bytes, word, strlen(word));
        bytes += (int64_t)strlen(word);
    }
    column->data = data, column->offsets = offsets;
}

static void random_column(int number, int64_t rows) {
    as_column *column = columns + number;
    memset(column, 0, sizeof *column);
    kinds[number] = number == 0 ? AS_I64 : number == 1 ? AS_F64 : number == 2 ? -1 : (int)below(10);
    const bool nullable = below(2);
    column->first = nullable || kinds[number] < 0 ? (int64_t)below(70) : 0;
    const int64_t values = column->first + rows;
    if (nullable) {
        uint8_t *bits = malloc((size_t)(values + 7) / 8);
        for (int64_t i = 0; i < (values + 7) / 8; i++)
            bits[i] = (uint8_t)random64();
        column->validity = bits;
    }
    if (kinds[number] < 0) {
        random_text(column, values);
        return;
    }
    const uint32_t width = column->width = WIDTHS[kinds[number]];
    char *data = malloc((size_t)values * width);
    for (int64_t i = 0; i < values; i++) {
        const int64_t whole = random_int();
        const double real = random_float();
        const float single = (float)real;
        const void *from = kinds[number] == AS_F64   ? (const void *)&real
                           : kinds[number] == AS_F32 ? (const void *)&single
                                                     : (const void *)&whole;
        memcpy(data + i * width, from, width);
    }
    column->data = data;
}

/* -- the plainest way: one row after the other */

static int64_t integer_at(int number, int64_t row) {
    const char *at = (const char *)columns[number].data + (columns[number].first + row) * columns[number].width;
#define READ(name, type)                                                                                               \
    case name: {                                                                                                       \
        type value;                                                                                                    \
        memcpy(&value, at, sizeof value);                                                                              \
        return (int64_t)value;                                                                                         \
    }
    switch (kinds[number]) {
        READ(AS_I8, int8_t)
        READ(AS_I16, int16_t)
        READ(AS_I32, int32_t)
        READ(AS_U8, uint8_t)
        READ(AS_U16, uint16_t)
        READ(AS_U32, uint32_t)
    default: {
        int64_t value;
        memcpy(&value, at, sizeof value);
        return value;
    }
    }
#undef READ
}

static double float_at(int number, int64_t row) {
    const char *at = (const char *)columns[number].data + (columns[number].first + row) * columns[number].width;
    float single;
    double real;
    memcpy(&single, at, 4);
    if (kinds[number] == AS_F32)
        return single;
    memcpy(&real, at, 8);
    return real;
}

static bool valid_at(int number, int64_t row) {
    const int64_t at = columns[number].first + row;
    const uint8_t *bits = columns[number].validity;
    return bits == NULL || (bits[at >> 3] >> (at & 7) & 1);
}

static char *text_of(int number, int64_t row, size_t *bytes) {
    const int64_t at = columns[number].first + row;
    const int64_t begin = columns[number].wide ? ((const int64_t *)columns[number].offsets)[at]
                                               : ((const int32_t *)columns[number].offsets)[at];
    const int64_t end = columns[number].wide ? ((const int64_t *)columns[number].offsets)[at + 1]
                                             : ((const int32_t *)columns[number].offsets)[at + 1];
    char *copy = malloc((size_t)(end - begin) + 1);
    memcpy(copy, (const char *)columns[number].data + begin, (size_t)(end - begin));
    copy[end - begin] = 0;
    *bytes = (size_t)(end - begin);
    return copy;
}

typedef struct row_state {
    int64_t v[REGISTERS];
    bool m[REGISTERS];
    uint32_t failed; /* 1 + the first step that failed */
} row_state;

static int64_t floor_quotient(int64_t a, int64_t b) {
    const __int128 wide = a, quotient = wide / b;
    return (int64_t)(quotient - (wide % b != 0 && (wide < 0) != (b < 0)));
}

static bool is_in(const as_instruction *step, int64_t value) {
    for (uint64_t i = 0; i < step->size; i++)
        if (((const int64_t *)step->table)[i] == value)
            return true;
    return false;
}

static void text_step(row_state *at, const as_instruction *step, int64_t row, bool *bad) {
    size_t bytes, other_bytes = step->size;
    char *a = text_of(step->a, row, &bytes), *end = a;
    char *b = step->b == AS_X_NONE            ? strndup(step->table == NULL ? "" : step->table, step->size)
              : step->op <= AS_X_TEXT_TO_BOOL ? strdup("")
                                              : text_of(step->b, row, &other_bytes);
    switch (step->op) {
    case AS_X_TEXT_EQUAL: at->m[step->out] = strcmp(a, b) == 0; break;
    case AS_X_TEXT_LESS: at->m[step->out] = strcmp(a, b) < 0; break;
    case AS_X_TEXT_LESS_EQUAL: at->m[step->out] = strcmp(a, b) <= 0; break;
    case AS_X_TEXT_STARTS: at->m[step->out] = strncmp(a, b, other_bytes) == 0; break;
    case AS_X_TEXT_ENDS: at->m[step->out] = bytes >= other_bytes && strcmp(a + bytes - other_bytes, b) == 0; break;
    case AS_X_TEXT_CONTAINS: at->m[step->out] = strstr(a, b) != NULL; break;
    case AS_X_BYTES_LENGTH: at->v[step->out] = (int64_t)bytes; break;
    case AS_X_TEXT_LENGTH:
        at->v[step->out] = 0;
        for (size_t i = 0; i < bytes; i++)
            at->v[step->out] += ((unsigned char)a[i] >> 6) != 2;
        break;
    case AS_X_TEXT_TO_BOOL:
        at->v[step->out] = strcmp(a, "true") == 0;
        *bad = strcmp(a, "true") != 0 && strcmp(a, "false") != 0;
        break;
    case AS_X_TEXT_TO_I: {
        const char *digits = a + strspn(a, " +-");
        const long double exact = strtold(a, &end);
        at->v[step->out] = strtoll(a, &end, 10);
        *bad = strspn(digits, "0123456789") == 0 || strspn(end, " ") != strlen(end) || exact >= 0x1p63L ||
               exact < -0x1p63L;
        break;
    }
    default: at->v[step->out] = as_bits(strtod(a, &end)); *bad = end == a || strspn(end, " ") != strlen(end);
    }
    if (*bad)
        at->v[step->out] = 0;
    free(a);
    free(b);
}

static void run_step(row_state *at, const as_instruction *step, uint32_t number, int64_t row) {
    const int64_t a = at->v[step->a % REGISTERS], b = at->v[step->b % REGISTERS];
    const double fa = as_double(a), fb = as_double(b);
    const bool ma = at->m[step->a % REGISTERS], mb = at->m[step->b % REGISTERS];
    int64_t *out = at->v + step->out;
    bool *mark = at->m + step->out, bad = false;
    __int128 wide = 0;
    double real = 0.0;
    if ((step->op >= AS_X_TEXT_LENGTH && step->op <= AS_X_TEXT_TO_BOOL) ||
        (step->op >= AS_X_TEXT_EQUAL && step->op <= AS_X_TEXT_CONTAINS)) {
        text_step(at, step, row, &bad);
    } else if (step->op >= AS_X_ADD_F && step->op <= AS_X_I_TO_F) {
        switch (step->op) {
        case AS_X_ADD_F: real = fa + fb; break;
        case AS_X_SUBTRACT_F: real = fa - fb; break;
        case AS_X_MULTIPLY_F: real = fa * fb; break;
        case AS_X_DIVIDE_F: real = fa / fb; break;
        case AS_X_NEGATE_F: real = -fa; break;
        case AS_X_ABS_F: real = fabs(fa); break;
        case AS_X_MIN_F: real = isnan(fa) || isnan(fb) ? NAN : fb < fa ? fb : fa; break;
        case AS_X_MAX_F: real = isnan(fa) || isnan(fb) ? NAN : fb > fa ? fb : fa; break;
        case AS_X_SINGLE_F: real = (float)fa; break;
        case AS_X_FLOOR_F: real = floor(fa); break;
        case AS_X_CEIL_F: real = ceil(fa); break;
        default: real = (double)a;
        }
        *out = as_bits(real);
    } else {
        switch (step->op) {
        case AS_X_LOAD:
            *out = kinds[step->a] >= AS_F32 ? as_bits(float_at(step->a, row)) : integer_at(step->a, row);
            break;
        case AS_X_CONSTANT: *out = step->x; break;
        case AS_X_ADD_I: wide = (__int128)a + b; break;
        case AS_X_SUBTRACT_I: wide = (__int128)a - b; break;
        case AS_X_MULTIPLY_I: wide = (__int128)a * b; break;
        case AS_X_SCALE_I: wide = (__int128)a * step->x; break;
        case AS_X_NEGATE_I: wide = -(__int128)a; break;
        case AS_X_ABS_I: wide = a < 0 ? -(__int128)a : a; break;
        case AS_X_FLOOR_DIVIDE_I:
            bad = b == 0 || (b == -1 && a == INT64_MIN);
            *out = bad ? 0 : floor_quotient(a, b);
            break;
        case AS_X_REMAINDER_I:
            bad = b == 0;
            *out = bad || b == -1 ? 0 : (int64_t)((__int128)a - (__int128)floor_quotient(a, b) * b);
            break;
        case AS_X_MIN_I: *out = a < b ? a : b; break;
        case AS_X_MAX_I: *out = a > b ? a : b; break;
        case AS_X_FITS: *out = a, bad = a < step->x || a > step->y; break;
        case AS_X_F_TO_I: bad = !(fa >= -0x1p63 && fa < 0x1p63), *out = bad ? 0 : (int64_t)fa; break;
        case AS_X_M_TO_I: *out = ma; break;
        case AS_X_SELECT: *out = at->m[step->c] ? a : b; break;
        case AS_X_ALL: *mark = step->x != 0; break;
        case AS_X_VALID: *mark = valid_at(step->a, row); break;
        case AS_X_TEST:
            if (kinds[step->a] >= AS_F32)
                *mark = float_at(step->a, row) >= as_double(step->x) && float_at(step->a, row) <= as_double(step->y);
            else if (kinds[step->a] == AS_U64)
                *mark = (uint64_t)integer_at(step->a, row) >= (uint64_t)step->x &&
                        (uint64_t)integer_at(step->a, row) <= (uint64_t)step->y;
            else
                *mark = integer_at(step->a, row) >= step->x && integer_at(step->a, row) <= step->y;
            break;
        case AS_X_LOOK_UP: {
            const uint64_t code = (uint64_t)integer_at(step->a, row);
            *out = ((const int64_t *)step->table)[code < step->size ? code : 0];
            break;
        }
        case AS_X_TEST_CODES: {
            const uint64_t code = (uint64_t)integer_at(step->a, row);
            *mark = code < step->size && (((const uint8_t *)step->table)[code >> 3] >> (code & 7) & 1);
            break;
        }
        case AS_X_EQUAL_I: *mark = a == b; break;
        case AS_X_LESS_I: *mark = a < b; break;
        case AS_X_LESS_EQUAL_I: *mark = a <= b; break;
        case AS_X_EQUAL_F: *mark = fa == fb; break;
        case AS_X_LESS_F: *mark = fa < fb; break;
        case AS_X_LESS_EQUAL_F: *mark = fa <= fb; break;
        case AS_X_TEST_I: *mark = a >= step->x && a <= step->y; break;
        case AS_X_TEST_F: *mark = fa >= as_double(step->x) && fa <= as_double(step->y); break;
        case AS_X_IN_I: *mark = is_in(step, a); break;
        case AS_X_AND: *mark = ma & mb; break;
        case AS_X_OR: *mark = ma | mb; break;
        case AS_X_AND_NOT: *mark = ma & !mb; break;
        case AS_X_NOT: *mark = !ma; break;
        default: break;
        }
        if (step->op >= AS_X_ADD_I && step->op <= AS_X_ABS_I) {
            *out = (int64_t)(unsigned __int128)wide;
            bad = wide < INT64_MIN || wide > INT64_MAX;
        }
    }
    if (bad && at->failed == 0 && (step->active == AS_X_NONE || at->m[step->active]))
        at->failed = number + 1;
}
#endif
