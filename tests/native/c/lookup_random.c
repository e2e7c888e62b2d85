/*
 * Lookups of random keys in random tables against a search through the table. Every buffer has exactly its size, so
 * that AddressSanitizer sees an access of one byte too many. Usage: lookup_random SEED ROUNDS
 */
#include <stdbool.h>
#include <string.h>
#include "lookup.h"
#include "seeded.h"

/* Bytes of a key: few different ones, of lengths 0 to 70, that differ in one place only. */
static uint64_t some_text(uint8_t *out, uint64_t kinds, uint64_t length, uint64_t place) {
    if (length == 0)
        length = below(kinds) % 71;
    for (uint64_t i = 0; i < length; i++)
        out[i] = (uint8_t)('a' + i % 7);
    if (length > place)
        out[place] = (uint8_t)below(kinds);
    return length;
}

static as_column random_column(uint32_t how, int64_t rows, uint32_t width, uint64_t kinds, uint64_t far,
                               uint64_t length, uint64_t place) {
    as_column key = {.first = (int64_t)below(20), .width = how == AS_HASH_BYTES ? 0 : width};
    const int64_t values = key.first + rows;
    if (below(2)) {
        uint8_t *bits = malloc((size_t)(values + 7) / 8);
        for (int64_t i = 0; i < (values + 7) / 8; i++)
            bits[i] = (uint8_t)(below(256) | below(256) | below(256));
        key.validity = bits;
    }
    if (how == AS_HASH_BYTES) {
        key.wide = (uint32_t)below(2);
        uint8_t *text = malloc((size_t)values * 71 + 1);
        void *offsets = malloc((size_t)(values + 1) * (key.wide ? 8 : 4));
        uint64_t at = 0;
        for (int64_t i = 0; i <= values; i++) {
            if (key.wide)
                ((int64_t *)offsets)[i] = (int64_t)at;
            else
                ((int32_t *)offsets)[i] = (int32_t)at;
            at += i < values ? some_text(text + at, kinds, length, place) : 0;
        }
        uint8_t *exact = malloc(at);
        memcpy(exact, text, at);
        free(text);
        key.data = exact;
        key.offsets = offsets;
        return key;
    }
    uint8_t *data = malloc((size_t)values * width);
    for (int64_t i = 0; i < values; i++) {
        uint64_t value = below(kinds) * far - kinds / 2 * far;
        double number = (double)(int64_t)value / 4;
        float narrow = (float)number;
        if (how == AS_HASH_FLOAT)
            memcpy(data + (size_t)i * width, width == 4 ? (void *)&narrow : (void *)&number, width);
        else
            memcpy(data + (size_t)i * width, &value, width);
    }
    key.data = data;
    return key;
}

static void release(as_column *key) {
    free((void *)key->validity);
    free((void *)key->data);
    free((void *)key->offsets);
}

static bool null_at(const as_column *key, int64_t row) {
    const int64_t at = key->first + row;
    return key->validity != NULL && !((((const uint8_t *)key->validity)[at / 8] >> (at % 8)) & 1);
}

static uint64_t value_at(const as_column *key, uint32_t how, int64_t row) {
    const uint8_t *from = (const uint8_t *)key->data + (key->first + row) * key->width;
    uint64_t value = 0;
    if (how == AS_HASH_FLOAT) {
        double number;
        float narrow;
        memcpy(key->width == 4 ? (void *)&narrow : (void *)&number, from, key->width);
        if (key->width == 4)
            number = narrow;
        number = number == 0 ? 0.0 : number;
        memcpy(&value, &number, 8);
        return value;
    }
    memcpy(&value, from, key->width);
    if (how == AS_HASH_SIGNED && key->width < 8) {
        const int shift = 64 - 8 * (int)key->width;
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    }
    return value;
}

static bool equal(const as_column *a, uint32_t how_a, int64_t row_a, const as_column *b, uint32_t how_b,
                  int64_t row_b) {
    if (null_at(a, row_a) || null_at(b, row_b))
        return false;
    if ((how_a & 15) != AS_HASH_BYTES) {
        const uint64_t value = value_at(a, how_a & 15, row_a);
        return !((how_a & AS_LOOKUP_POSITIVE) && value >> 63) && value == value_at(b, how_b, row_b);
    }
    const int64_t at_a = a->first + row_a, at_b = b->first + row_b;
    const int64_t from_a = a->wide ? ((const int64_t *)a->offsets)[at_a] : ((const int32_t *)a->offsets)[at_a];
    const int64_t to_a = a->wide ? ((const int64_t *)a->offsets)[at_a + 1] : ((const int32_t *)a->offsets)[at_a + 1];
    const int64_t from_b = b->wide ? ((const int64_t *)b->offsets)[at_b] : ((const int32_t *)b->offsets)[at_b];
    const int64_t to_b = b->wide ? ((const int64_t *)b->offsets)[at_b + 1] : ((const int32_t *)b->offsets)[at_b + 1];
    return to_a - from_a == to_b - from_b &&
           memcmp((const uint8_t *)a->data + from_a, (const uint8_t *)b->data + from_b, (size_t)(to_a - from_a)) == 0;
}

static void round_of(void) {
    static const uint32_t widths[] = {1, 2, 4, 8};
    const uint32_t columns = below(3) ? 1 : 1 + (uint32_t)below(3);
    const int64_t table = (int64_t)(below(4) ? below(60) : below(700)), rows = (int64_t)below(700);
    as_column own[3], asked[3];
    uint32_t how[3], by[3];
    for (uint32_t c = 0; c < columns; c++) {
        by[c] = 1 + (uint32_t)below(4);
        how[c] = by[c];
        const uint64_t kinds = 1 + below(columns > 1 ? 8 : 300), length = below(2) ? 1 + below(70) : 0;
        const uint64_t far = below(3) ? 1 : UINT64_C(0x9e3779b97f4a7c15), place = length ? below(length) : 0;
        const uint32_t least = by[c] == AS_HASH_FLOAT ? 2 : 0;
        own[c] = random_column(how[c], table, widths[least + below(4 - least)], kinds, far, length, place);
        if (how[c] <= AS_HASH_UNSIGNED && below(3) == 0) {
            by[c] = 3 - how[c]; /* the other kind of integers */
            how[c] |= AS_LOOKUP_POSITIVE;
        }
        asked[c] = random_column(by[c], rows, widths[least + below(4 - least)], kinds, far, length, place);
    }
    as_lookup lookup;
    CHECK(as_lookup_measure(&lookup, own, how, columns, table) == AS_OK);
    CHECK(lookup.bytes % 64 == 0);
    if (lookup.word_at != UINT32_MAX && below(2))
        lookup.word_at = 0; /* where the keys may all be the same */
    void *memory = aligned_alloc(64, lookup.bytes ? lookup.bytes : 64);
    as_lookup_init(&lookup, memory);

    uint32_t *index = columns == 1 && rows && below(2) ? malloc(4 * (size_t)rows) : NULL;
    for (int64_t i = 0; i < rows && index != NULL; i++)
        index[i] = (uint32_t)below((uint64_t)rows);
    uint32_t *found = malloc(4 * (size_t)rows), *expected = malloc(4 * (size_t)rows);
    int64_t hits = 0, pairs = 0, all = 0;
    const int outer = (int)below(2);
    for (int64_t i = 0; i < rows; i++) {
        expected[i] = UINT32_MAX;
        int64_t here = 0;
        for (int64_t row = 0; row < table; row++) {
            bool same = true;
            for (uint32_t c = 0; c < columns && same; c++)
                same = equal(&own[c], how[c], row, &asked[c], by[c], index != NULL ? index[i] : i);
            if (same && here++ == 0)
                expected[i] = (uint32_t)row;
        }
        hits += here > 0;
        all += here;
        pairs += here ? here : outer;
    }
    CHECK(as_lookup_find(&lookup, asked, by, index, rows, found) == hits);
    CHECK(rows == 0 || memcmp(found, expected, 4 * (size_t)rows) == 0);

    uint32_t *left = malloc(4 * (size_t)rows), *right = malloc(4 * (size_t)rows);
    CHECK(as_lookup_match(&lookup, asked, by, index, rows, left, right) == hits);
    for (int64_t i = 0, at = 0; i < rows; i++) {
        if (expected[i] == UINT32_MAX)
            continue;
        CHECK(right[at] == expected[i]);
        CHECK(hits == rows || left[at] == (index != NULL ? index[i] : (uint32_t)i));
        at++;
    }
    CHECK(as_lookup_pairs(&lookup, expected, rows, outer) == pairs);
    int64_t cursor[2] = {0, 0}, seen = 0;
    while (cursor[0] < rows) {
        const int64_t capacity = 1 + (int64_t)below(50);
        uint32_t *a = malloc(4 * (size_t)capacity), *b = malloc(4 * (size_t)capacity);
        const int64_t written = as_lookup_expand(&lookup, expected, rows, outer, cursor, capacity, a, b);
        CHECK(written <= capacity);
        uint32_t before = 0, before_row = UINT32_MAX;
        for (int64_t n = 0; n < written; n++) {
            const int64_t asked_row = index != NULL ? index[a[n]] : a[n];
            CHECK(a[n] > before_row || before_row == UINT32_MAX || (a[n] == before_row && b[n] > before));
            before_row = a[n];
            before = b[n];
            for (uint32_t c = 0; c < columns && b[n] != UINT32_MAX; c++)
                CHECK(equal(&own[c], how[c], b[n], &asked[c], by[c], asked_row));
            CHECK(b[n] != UINT32_MAX || (outer && expected[a[n]] == UINT32_MAX));
        }
        seen += written;
        free(a);
        free(b);
    }
    CHECK(seen == pairs && (outer || seen == all));
    for (uint32_t c = 0; c < columns; c++) {
        release(&own[c]);
        release(&asked[c]);
    }
    free(memory);
    free(index);
    free(found);
    free(expected);
    free(left);
    free(right);
}

int main(int count, char **arguments) {
    seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (round_number = count > 2 ? atoi(arguments[2]) : 100; round_number > 0; round_number--)
        round_of();
    puts("ok");
    return 0;
}
