/*
 * Chains of steps over random columns against the same done row by row. Every buffer has exactly its size, so that
 * AddressSanitizer sees an access of one byte too many; with threads, each runs the same steps on memory of its own.
 * Usage: chain_random SEED ROUNDS THREADS
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "chain.h"

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                            \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum {
    TABLE = 40,
    KEY,
    VALUE,
    KEYS,
    RIGHT,
    LEFT,
    LABEL,
    LABELS,
    INDEX,
    VALUES,
    FOUND,
    OUTER,
    EACH,
    EACH_LEFT,
    EACH_RIGHT,
    COLUMNS
};
enum { ALL, MATCHED, PAIRS, SETS };
enum { TIMES = 3 };

static uint64_t below(uint64_t *state, uint64_t limit) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % limit;
}

static bool valid(const uint8_t *bits, int64_t at) {
    return bits == NULL || (bits[at >> 3] >> (at & 7) & 1);
}

/* A table of keys 0, 3, 6, ... with labels, some of them null; read by all threads. */
static int64_t table_key[TABLE];
static int32_t table_label[TABLE];
static uint8_t table_bits[(TABLE + 7) / 8];
static as_lookup lookup;
static const uint32_t how[1] = {AS_HASH_SIGNED};

static int64_t each_key[TABLE]; /* 0, 0, 0, 3, 3, 3, 6, ... */
static as_lookup each;
static const uint32_t each_out[] = {EACH_LEFT, EACH_RIGHT, EACH};
static const uint32_t key_in[] = {KEY}, found_out[] = {FOUND}, matched_out[] = {LEFT, RIGHT};
static const uint32_t label_in[] = {LABEL, RIGHT}, label_out[] = {LABELS};
static const uint32_t value_in[] = {VALUE, LEFT}, value_out[] = {VALUES};
static const uint32_t outer_in[] = {LABEL, FOUND}, outer_out[] = {OUTER};
static const as_chain_step steps[] = {
    {.kind = AS_CHAIN_FIND,
     .member = 0,
     .rows = ALL,
     .makes = AS_CHAIN_NONE,
     .inputs = 1,
     .outputs = 1,
     .what = &lookup,
     .in = key_in,
     .out = found_out,
     .how = how},
    {.kind = AS_CHAIN_GATHER,
     .member = 0,
     .rows = ALL,
     .makes = AS_CHAIN_NONE,
     .inputs = 2,
     .outputs = 1,
     .counted = 1,
     .in = outer_in,
     .out = outer_out},
    {.kind = AS_CHAIN_MATCH,
     .member = 1,
     .rows = ALL,
     .makes = MATCHED,
     .inputs = 1,
     .outputs = 2,
     .what = &lookup,
     .in = key_in,
     .out = matched_out,
     .how = how},
    {.kind = AS_CHAIN_GATHER,
     .member = 2,
     .rows = MATCHED,
     .makes = AS_CHAIN_NONE,
     .inputs = 2,
     .outputs = 1,
     .counted = 1,
     .in = label_in,
     .out = label_out},
    {.kind = AS_CHAIN_GATHER,
     .member = 2,
     .rows = MATCHED,
     .makes = AS_CHAIN_NONE,
     .inputs = 2,
     .outputs = 1,
     .counted = 0,
     .in = value_in,
     .out = value_out},
    {.kind = AS_CHAIN_EXPAND,
     .member = 2,
     .rows = ALL,
     .makes = PAIRS,
     .inputs = 1,
     .outputs = 3,
     .counted = 1,
     .room = TIMES,
     .what = &each,
     .in = key_in,
     .out = each_out,
     .how = how},
};

static void *room(int64_t bytes) {
    void *made = malloc(bytes == 0 ? 1 : (size_t)bytes);
    CHECK(made != NULL);
    return made;
}

static void one(uint64_t *state) {
    const int64_t rows = (int64_t)below(state, 1500), first = (int64_t)below(state, 9);
    const uint32_t width = 1u << below(state, 4);
    const int64_t bits = (rows + 511) / 512 * 64;
    int64_t *key = room((first + rows) * 8);
    uint8_t *value = room((first + rows) * width), *key_bits = NULL;
    const uint64_t kinds = 1 + below(state, 3 * TABLE), far = below(state, 2) * 3;
    for (int64_t i = 0; i < first + rows; i++) {
        key[i] = kinds == 1 ? 0 : (int64_t)(below(state, kinds) * (1 + far * 0));
        for (uint32_t b = 0; b < width; b++)
            value[i * width + b] = (uint8_t)below(state, 256);
    }
    if (below(state, 2)) {
        key_bits = room((first + rows + 7) / 8);
        for (int64_t i = 0; i < (first + rows + 7) / 8; i++)
            key_bits[i] = (uint8_t)(below(state, 256) | below(state, 256));
    }
    as_column columns[COLUMNS] = {0};
    int64_t sizes[SETS] = {rows, -1, -1};
    uint64_t took[3] = {0};
    columns[KEY] = (as_column){.width = 8, .first = first, .validity = key_bits, .data = key};
    columns[VALUE] = (as_column){.width = width, .first = first, .data = value};
    columns[LABEL] = (as_column){.width = 4, .validity = table_bits, .data = table_label};
    for (uint32_t at = RIGHT; at <= LEFT; at++)
        columns[at] = (as_column){.width = 4, .data = room(rows * 4)};
    columns[FOUND] = (as_column){.width = 4, .data = room(rows * 4)};
    columns[LABELS] = (as_column){.width = 4, .data = room(rows * 4), .validity = room(bits)};
    columns[OUTER] = (as_column){.width = 4, .data = room(rows * 4), .validity = room(bits)};
    columns[VALUES] = (as_column){.width = width, .data = room(rows * width)};
    columns[EACH] = (as_column){.width = 4, .data = room(rows * 4)};
    for (uint32_t at = EACH_LEFT; at <= EACH_RIGHT; at++)
        columns[at] = (as_column){.width = 4, .data = room(rows * TIMES * 4)};
    as_chain_work work = {steps, columns, sizes, took, sizeof steps / sizeof *steps, NULL};
    CHECK(as_chain_job(&work) == 0);
    const int32_t *labels = columns[LABELS].data, *outer = columns[OUTER].data;
    const uint32_t *pair_left = columns[EACH_LEFT].data, *pair_right = columns[EACH_RIGHT].data;
    int64_t made = 0, pairs = 0;
    for (int64_t row = 0; row < rows; row++) {
        const int64_t own = key[first + row], at = own / 3;
        const bool there = valid(key_bits, first + row) && own % 3 == 0 && at < TABLE;
        const bool labelled = there && valid(table_bits, at);
        const bool paired = valid(key_bits, first + row) && own % 3 == 0 && at < (TABLE + 2) / 3;
        const int64_t of_key = !paired ? 1 : at < TABLE / 3 ? 3 : TABLE % 3;
        for (int64_t i = 0; i < of_key; i++, pairs++) {
            CHECK(pairs < sizes[PAIRS] && pair_left[pairs] == (uint32_t)row);
            CHECK(pair_right[pairs] == (paired ? (uint32_t)(at * 3 + i) : UINT32_MAX));
        }
        CHECK(valid(columns[OUTER].validity, row) == labelled);
        CHECK(!labelled || outer[row] == table_label[at]);
        if (!there)
            continue;
        CHECK(made < sizes[MATCHED]);
        CHECK(((const uint32_t *)columns[LEFT].data)[made] == (uint32_t)row);
        CHECK(valid(columns[LABELS].validity, made) == labelled);
        CHECK(!labelled || labels[made] == table_label[at]);
        CHECK(memcmp((const uint8_t *)columns[VALUES].data + made * width, value + (first + row) * width, width) == 0);
        made++;
    }
    CHECK(made == sizes[MATCHED] && sizes[ALL] == rows && pairs == sizes[PAIRS]);
    for (uint32_t at = 0; at < COLUMNS; at++)
        if (at != LABEL) {
            free((void *)(uintptr_t)columns[at].data);
            free((void *)(uintptr_t)columns[at].validity);
        }
}

static long rounds;

static void *many(void *seed) {
    uint64_t state = *(uint64_t *)seed;
    for (long round = 0; round < rounds; round++)
        one(&state);
    return NULL;
}

int main(int count, char **given) {
    CHECK(count == 4);
    uint64_t state = strtoull(given[1], NULL, 10), seeds[8];
    const int threads = atoi(given[3]);
    pthread_t running[8];
    rounds = atol(given[2]);
    CHECK(threads >= 1 && threads <= 8);
    for (int64_t row = 0; row < TABLE; row++) {
        table_key[row] = row * 3;
        each_key[row] = row / 3 * 3;
        table_label[row] = (int32_t)below(&state, 1000);
    }
    for (size_t i = 0; i < sizeof table_bits; i++)
        table_bits[i] = (uint8_t)(below(&state, 256) | below(&state, 256));
    const as_column key = {.width = 8, .data = table_key};
    CHECK(as_lookup_measure(&lookup, &key, how, 1, TABLE) == AS_OK);
    const as_column each_column = {.width = 8, .data = each_key};
    CHECK(as_lookup_measure(&each, &each_column, how, 1, TABLE) == AS_OK);
    void *memory = aligned_alloc(64, lookup.bytes), *memory_of_each = aligned_alloc(64, each.bytes);
    as_lookup_init(&lookup, memory);
    as_lookup_init(&each, memory_of_each);
    for (int i = 0; i < threads; i++) {
        seeds[i] = state + (uint64_t)i;
        CHECK(pthread_create(&running[i], NULL, many, &seeds[i]) == 0);
    }
    for (int i = 0; i < threads; i++)
        CHECK(pthread_join(running[i], NULL) == 0);
    free(memory);
    free(memory_of_each);
    puts("ok");
}
