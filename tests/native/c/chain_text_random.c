/*
 * Texts that steps of a chain write, over random columns, against the same done row by row. Every buffer that is given has
 * exactly its size, so that AddressSanitizer sees an access of one byte too many.
 *
 * Usage: chain_text_random SEED ROUNDS
 */
#include <stdbool.h>
#include <string.h>

#include "chain.h"
#include "seeded.h"

enum { ONE = 0, TWO, NUMBERS, CODES, FLAGS, OUT, COLUMNS };
enum { MOST_ROWS = 300, TABLE = 5, MOST_TEXT = 200 };

typedef struct expected {
    bool there;
    int bytes;
    char text[MOST_TEXT];
} expected;

static void *room(size_t bytes) {
    void *made = malloc(bytes == 0 ? 1 : bytes);
    CHECK(made != NULL);
    return made;
}

static bool valid(const as_column *column, int64_t row) {
    const uint8_t *bits = column->validity;
    const int64_t at = column->first + row;
    return bits == NULL || (bits[at >> 3] >> (at & 7) & 1);
}

static void validity(as_column *column, int64_t rows) {
    if (below(2))
        return;
    const size_t bytes = (size_t)(column->first + rows + 7) / 8;
    uint8_t *bits = room(bytes);
    for (size_t i = 0; i < bytes; i++)
        bits[i] = (uint8_t)below(256);
    column->validity = bits;
}

static as_column texts(int64_t rows, bool nullable) {
    as_column made = {.wide = (uint32_t)below(2), .first = (int64_t)below(5)};
    const int64_t all = made.first + rows;
    int64_t *wide = room((size_t)(all + 1) * 8), at = (int64_t)below(3);
    int32_t *narrow = room((size_t)(all + 1) * 4);
    for (int64_t i = 0; i <= all; i++) {
        wide[i] = at, narrow[i] = (int32_t)at;
        at += i < all ? (int64_t)below(below(4) ? 6 : 30) : 0;
    }
    char *data = room((size_t)at);
    for (int64_t i = 0; i < at; i++)
        data[i] = (char)(' ' + below(95));
    made.data = data, made.offsets = made.wide ? (void *)wide : (void *)narrow;
    free(made.wide ? (void *)narrow : (void *)wide);
    if (nullable)
        validity(&made, rows);
    return made;
}

static expected text_of(const as_column *column, int64_t row) {
    expected found = {.there = valid(column, row)};
    if (!found.there)
        return found;
    const int64_t at = column->first + row;
    const int64_t begin =
        column->wide ? ((const int64_t *)column->offsets)[at] : ((const int32_t *)column->offsets)[at];
    const int64_t end =
        column->wide ? ((const int64_t *)column->offsets)[at + 1] : ((const int32_t *)column->offsets)[at + 1];
    found.bytes = (int)(end - begin);
    if (found.bytes != 0)
        memcpy(found.text, (const char *)column->data + begin, (size_t)found.bytes);
    return found;
}

static expected answer(const as_chain_text *what, const as_column *columns, int64_t row) {
    expected one = text_of(columns + ONE, row), two = text_of(columns + TWO, row), none = {0};
    const as_column *codes = columns + CODES, *numbers = columns + NUMBERS;
    const int64_t number = ((const int64_t *)numbers->data)[numbers->first + row];
    int64_t code = TABLE - 1;
    switch (what->operation) {
    case AS_TEXT_TAKE: return number < 0 ? none : text_of(columns + ONE, number);
    case AS_TEXT_LABEL:
        if (valid(codes, row) && ((const uint8_t *)codes->data)[codes->first + row] < TABLE)
            code = ((const uint8_t *)codes->data)[codes->first + row];
        return text_of(what->table, code);
    case AS_TEXT_CONSTANT: return text_of(what->table, 0);
    case AS_TEXT_IF: return valid(codes, row) && ((const uint8_t *)codes->data)[codes->first + row] ? one : two;
    case AS_TEXT_COALESCE: return one.there ? one : two;
    case AS_TEXT_CONCAT:
        if (!one.there || !two.there)
            return none;
        memcpy(one.text + one.bytes, two.text, (size_t)two.bytes);
        one.bytes += two.bytes;
        return one;
    case AS_TEXT_LOWER:
        for (int i = 0; i < one.bytes; i++)
            one.text[i] += one.text[i] >= 'A' && one.text[i] <= 'Z' ? 32 : 0;
        return one;
    case AS_TEXT_UPPER:
        for (int i = 0; i < one.bytes; i++)
            one.text[i] -= one.text[i] >= 'a' && one.text[i] <= 'z' ? 32 : 0;
        return one;
    default:
        none.there = valid(numbers, row);
        none.bytes = none.there ? snprintf(none.text, MOST_TEXT, "%lld", (long long)number) : 0;
        return none;
    }
}

static void one(void) {
    const int64_t rows = (int64_t)below(MOST_ROWS) + 1;
    as_column columns[COLUMNS] = {[ONE] = texts(rows, true), [TWO] = texts(rows, true)};
    as_column table = texts(TABLE, true);
    const as_chain_text what = {(uint32_t)below(AS_TEXT_IN), 1, &table, TABLE};
    const bool takes = what.operation == AS_TEXT_TAKE;
    columns[NUMBERS] = (as_column){.width = 8, .first = (int64_t)below(5)};
    columns[CODES] = (as_column){.width = 1, .first = (int64_t)below(5)};
    int64_t *numbers = room((size_t)(columns[NUMBERS].first + rows) * 8);
    uint32_t *index = room((size_t)rows * 4);
    uint8_t *codes = room((size_t)(columns[CODES].first + rows));
    for (int64_t i = 0; i < columns[NUMBERS].first + rows; i++)
        numbers[i] = takes      ? (int64_t)below((uint64_t)rows + 1) - 1
                     : below(9) ? (int64_t)below(2000) - 1000
                                : INT64_MIN;
    for (int64_t i = 0; i < columns[CODES].first + rows; i++)
        codes[i] = (uint8_t)below(below(5) ? TABLE : 256);
    for (int64_t i = 0; i < rows; i++)
        index[i] = (uint32_t)numbers[columns[NUMBERS].first + i];
    columns[NUMBERS].data = numbers, columns[CODES].data = codes;
    validity(&columns[CODES], rows);
    if (!takes)
        validity(&columns[NUMBERS], rows);
    columns[FLAGS] = (as_column){.width = 4, .data = index};
    columns[OUT] = (as_column){.offsets = room((size_t)(rows + 1) * 4), .validity = room((size_t)(rows + 7) / 8)};
    static const uint32_t in_of[][3] = {
        [AS_TEXT_TAKE] = {ONE, FLAGS},    [AS_TEXT_LABEL] = {CODES},       [AS_TEXT_CONSTANT] = {ONE},
        [AS_TEXT_IF] = {CODES, ONE, TWO}, [AS_TEXT_COALESCE] = {ONE, TWO}, [AS_TEXT_CONCAT] = {ONE, TWO},
        [AS_TEXT_LOWER] = {ONE},          [AS_TEXT_UPPER] = {ONE},         [AS_TEXT_DIGITS] = {NUMBERS}};
    static const uint32_t inputs[] = {2, 1, 0, 3, 2, 2, 1, 1, 1}, out[] = {OUT};
    const as_chain_step step = {.kind = AS_CHAIN_TEXT,
                                .makes = AS_CHAIN_NONE,
                                .inputs = inputs[what.operation],
                                .outputs = 1,
                                .what = &what,
                                .in = in_of[what.operation],
                                .out = out};
    as_chain_bytes bytes = {0};
    uint64_t took = 0;
    int64_t size = rows;
    as_chain_work work = {&step, columns, &size, &took, 1, &bytes};
    for (int again = 0; again < 2; again++)
        CHECK(as_chain_job(&work) == 0);
    for (int64_t row = 0; row < rows; row++) {
        const expected wanted = answer(&what, columns, row), found = text_of(columns + OUT, row);
        CHECK(found.there == wanted.there);
        CHECK(!found.there || (found.bytes == wanted.bytes && !memcmp(found.text, wanted.text, (size_t)found.bytes)));
    }
    as_chain_bytes_free(&bytes, 1);
    for (int i = 0; i <= COLUMNS; i++) {
        const as_column *each = i < COLUMNS ? columns + i : &table;
        if (i != OUT)
            free((void *)(uintptr_t)each->data);
        free((void *)(uintptr_t)each->offsets);
        free((void *)(uintptr_t)each->validity);
    }
}

int main(int count, char **given) {
    if (count != 3)
        return 2;
    seed = strtoull(given[1], NULL, 10);
    state = seed * 0x9e3779b97f4a7c15u + 1;
    for (round_number = 0; round_number < atoi(given[2]); round_number++)
        one();
    puts("ok");
    return 0;
}
