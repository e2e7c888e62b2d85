/*
 * User functions over random columns: a sum of two columns, a test of one and a total, against one row after the other.
 * Every buffer has exactly its size. Usage: userfn_random SEED ROUNDS
 */
#include <stdbool.h>
#include <string.h>
#include "userfn.h"
#include "seeded.h"

static int32_t add(const void *const *columns, int64_t rows, void *out) {
    const int64_t *a = columns[0];
    const int16_t *b = columns[1];
    for (int64_t i = 0; i < rows; i++)
        ((int64_t *)out)[i] = a[i] + b[i];
    return 0;
}

static int32_t is_odd(const void *const *columns, int64_t rows, void *out) {
    const int64_t *a = columns[0];
    for (int64_t i = 0; i < rows; i++)
        ((uint8_t *)out)[i] = (uint8_t)(a[i] & 1);
    return 0;
}

static int32_t total(const void *const *columns, int64_t rows, void *out) {
    const int64_t *a = columns[0];
    for (int64_t i = 0; i < rows; i++)
        *(int64_t *)out += a[i];
    return rows == 13 ? 13 : 0;
}

/* A column whose values may lie at an odd address, with its memory in *memory. */
static as_column random_column(uint32_t width, int64_t rows, void **memory, void **bits) {
    const bool nullable = below(2);
    as_column column = {.width = width, .first = nullable ? (int64_t)below(70) : 0};
    const size_t values = (size_t)(column.first + rows), shift = below(2);
    char *data = *memory = malloc(values * width + shift);
    for (size_t i = 0; i < values * width; i++)
        data[shift + i] = (char)(i % width == 0 ? below(100) : 0);
    column.data = data + shift;
    *bits = NULL;
    if (nullable) {
        uint8_t *bitmap = *bits = malloc((values + 7) / 8);
        for (size_t i = 0; i < (values + 7) / 8; i++)
            bitmap[i] = (uint8_t)below(256);
        column.validity = bitmap;
    }
    return column;
}

static bool valid_at(const as_column *column, int64_t row) {
    const int64_t at = column->first + row;
    return column->validity == NULL || (((const uint8_t *)column->validity)[at >> 3] >> (at & 7) & 1);
}

static int64_t value_at(const as_column *column, int64_t row) {
    return *((const uint8_t *)column->data + (column->first + row) * column->width);
}

/* Totals of groups, some of which have no rows; one of 13 rows refuses. */
static void fold_groups(void) {
    int64_t offset[21] = {0}, expected[20] = {0}, found[20];
    const int64_t groups = (int64_t)below(21);
    bool refused = false;
    for (int64_t group = 0; group < groups; group++) {
        const int64_t rows = below(3) ? (int64_t)below(20) : 0;
        offset[group + 1] = offset[group] + rows;
        refused |= rows == 13;
    }
    int64_t *data = malloc((size_t)offset[groups] * 8 + 8);
    const as_column column = {.width = 8, .first = 1, .data = data};
    for (int64_t row = 0; row <= offset[groups]; row++)
        data[row] = (int64_t)below(100);
    for (int64_t group = 0; group < groups; group++)
        for (int64_t row = offset[group]; row < offset[group + 1]; row++)
            expected[group] += data[1 + row];
    int32_t answer = 0;
    const int status = as_user_fold(0, (uintptr_t)total, &column, 1, offset, groups, found, 8, &answer);
    CHECK(status == (refused ? AS_E_USER : AS_OK) && answer == (refused ? 13 : 0));
    CHECK(refused || memcmp(found, expected, (size_t)groups * 8) == 0);
    free(data);
}

static void one_round(void) {
    const int64_t rows = (int64_t)below(200);
    void *memory[2], *bits[2];
    as_column columns[2] = {random_column(8, rows, memory, bits), random_column(2, rows, memory + 1, bits + 1)};
    int64_t *sums = malloc((size_t)rows * 8), sum = 0, kept = 0, expected = 0;
    uint8_t *marks = malloc((size_t)rows), *validity = malloc((size_t)(rows + 7) / 8);
    int32_t answer = 1;
    CHECK(as_user_call((uintptr_t)add, columns, 2, rows, sums, 8, validity, &answer) == AS_OK && answer == 0);
    CHECK(as_user_call((uintptr_t)is_odd, columns, 1, rows, marks, 1, NULL, &answer) == AS_OK && answer == 0);
    CHECK(as_user_call((uintptr_t)total, columns, 1, rows, &sum, 0, NULL, &answer) == AS_OK);
    for (int64_t row = 0; row < rows; row++) {
        const bool first = valid_at(columns, row), both = first && valid_at(columns + 1, row);
        CHECK((validity[row >> 3] >> (row & 7) & 1) == both);
        CHECK(sums[row] == (both ? value_at(columns, row) + value_at(columns + 1, row) : 0));
        CHECK(marks[row] == (first && (value_at(columns, row) & 1)));
        expected += first ? value_at(columns, row) : 0;
        kept += first;
    }
    CHECK(sum == expected && answer == (kept == 13 ? 13 : 0));
    fold_groups();
    columns[0].width = 0;
    CHECK(as_user_call((uintptr_t)total, columns, 1, rows, &sum, 0, NULL, &answer) == AS_E_ARGUMENT);
    free(sums), free(marks), free(validity), free(memory[0]), free(memory[1]), free(bits[0]), free(bits[1]);
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    seed = strtoull(argv[1], NULL, 10);
    state = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    for (round_number = atoi(argv[2]); round_number > 0; round_number--)
        one_round();
    puts("ok");
    return 0;
}
