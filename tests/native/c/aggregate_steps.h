/* Random programs of cells, the rows that went into a cell, and what each step must say about them. */
#ifndef AGGREGATE_STEPS_H
#define AGGREGATE_STEPS_H
#include "aggregate_rows.h"
#include "aggregate_user.h"
#include "cells.h"
#include "groups.h"
#include "total.h"

enum { VALUES = 5, KEYS = 2, KINDS = 21 };
static const uint32_t HOW[VALUES] = {AS_HASH_SIGNED, AS_HASH_SIGNED, AS_HASH_UNSIGNED, AS_HASH_FLOAT, AS_HASH_BYTES};
static const uint32_t WIDTH[VALUES] = {8, 2, 8, 8, 0};
static const struct {
    uint32_t what, value;
} KIND[KINDS] = {
    {AS_INTEGERS, 0}, {AS_COUNT, 0},    {AS_LEAST, 0},    {AS_GREATEST, 0}, {AS_FIRST, 0},  {AS_VALUES, 0},
    {AS_INTEGERS, 1}, {AS_LAST, 1},     {AS_DISTINCT, 1}, {AS_INTEGERS, 2}, {AS_LEAST, 2},  {AS_GREATEST, 2},
    {AS_FLOATS, 3},   {AS_LEAST, 3},    {AS_GREATEST, 3}, {AS_DISTINCT, 3}, {AS_VALUES, 3}, {AS_FIRST, 4},
    {AS_LAST, 4},     {AS_DISTINCT, 4}, {AS_COUNT, 4},
};

typedef struct given { /* one row that was added */
    const column *values;
    int64_t row, time, pane, tag;
    uint32_t key;
} given;

typedef struct cell_reader { /* how what lies beside a cell is read */
    void *from;
    uint32_t which;
    int64_t (*distinct)(void *from, uint32_t step, uint32_t which, const uint64_t *cell);
    double (*quantile)(void *from, uint32_t step, double q, uint32_t which);
    double (*sum)(void *from, uint32_t step, uint32_t which); /* NULL: cells hold all sums */
    int64_t (*text)(void *from, uint32_t value, uint64_t number, int64_t *offsets, uint8_t *data);
    int64_t (*words)(void *from, uint32_t step, uint32_t which, int64_t *offsets, uint64_t *word);
} cell_reader;

static inline as_program random_program(uint32_t orders) {
    as_program program = {.values = VALUES, .orders = orders, .columns = orders};
    memcpy(program.how, HOW, sizeof HOW);
    const uint64_t share = 1 + below(4);
    for (int kind = 0; kind < KINDS; kind++)
        if (below(4) < share && (orders || (KIND[kind].what != AS_FIRST && KIND[kind].what != AS_LAST)))
            program.step[program.steps++] = (as_step){.what = KIND[kind].what, .value = KIND[kind].value};
    for (uint32_t kind = 0; kind < 2; kind++) {
        if (below(3))
            continue;
        memcpy(program.argument + kind * USER_ARGUMENTS, USER_VALUE, sizeof USER_VALUE);
        program.step[program.steps++] = (as_step){.what = kind ? AS_ROWS : AS_USER,
                                                  .value = USER_VALUE[0],
                                                  .first = kind * USER_ARGUMENTS,
                                                  .count = USER_ARGUMENTS,
                                                  .bytes = SUMS_BYTES,
                                                  .add = (uintptr_t)sums_add,
                                                  .merge = (uintptr_t)sums_merge,
                                                  .begin = (uintptr_t)sums_begin};
    }
    CHECK(as_program_init(&program) == AS_OK);
    return program;
}

static inline column random_values(uint32_t value, int64_t rows, bool large) {
    return random_column(HOW[value], WIDTH[value], true, rows, large ? 1 << 20 : 40,
                         large ? UINT64_C(0x9e3779b97f4a7c15) : 1);
}

/* -- keys: each has a number of its own, in the order in which they came */

static value known_key[4096][KEYS];
static uint32_t known_keys;

static inline uint32_t key_number(const value *key, uint32_t keys) {
    for (uint32_t number = 0; number < known_keys; number++) {
        bool same = true;
        for (uint32_t k = 0; k < keys && same; k++)
            same = compare(known_key[number][k], key[k]) == 0;
        if (same)
            return number;
    }
    CHECK(known_keys < 4096);
    memcpy(known_key[known_keys], key, keys * sizeof *key);
    return known_keys++;
}

/* The number of a group's key, from what the groups say that it is. */
static inline uint32_t key_of_group(const as_groups *groups, const uint32_t *how, uint32_t keys, uint32_t group) {
    value key[KEYS];
    uint8_t *text[KEYS] = {NULL, NULL};
    for (uint32_t k = 0; k < keys; k++) {
        uint8_t valid;
        uint64_t word;
        int64_t offsets[2];
        key[k] = (value){.how = how[k]};
        as_groups_valid(groups, k, &group, 1, &valid);
        key[k].null = !valid;
        if (how[k] == AS_HASH_BYTES) {
            text[k] = malloc((size_t)as_groups_texts(groups, k, &group, 1, offsets, NULL) + 1);
            key[k].length = (uint64_t)as_groups_texts(groups, k, &group, 1, offsets, text[k]);
            key[k].text = text[k];
        } else {
            as_groups_words(groups, k, &group, 1, &word);
            key[k].number = (int64_t)word;
        }
    }
    const uint32_t before = known_keys, found = key_number(key, keys);
    CHECK(known_keys == before);
    free(text[0]);
    free(text[1]);
    return found;
}

/* -- what a step must say */

static inline int by_value(const void *a, const void *b) {
    return compare(*(const value *)a, *(const value *)b);
}

static inline double as_real(value own) {
    return own.how == AS_HASH_FLOAT    ? own.real
           : own.how == AS_HASH_SIGNED ? (double)own.number
                                       : (double)(uint64_t)own.number;
}

static inline void check_integers(const as_program *program, const as_step *step, const uint64_t *cell,
                                  const value *values, int64_t count) {
    __int128 sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += step->value == 2 ? (__int128)(uint64_t)values[i].number : (__int128)values[i].number;
    CHECK(cell[step->word] == (uint64_t)sum);
    CHECK(cell[program->words + step->number] == (uint64_t)(sum >> 64));
}

/* Whether the second word of a FLOATS step says that the sum lies beside the cell. */
static inline bool lies_beside(const uint64_t *word) {
    double second;
    memcpy(&second, word + 1, 8);
    return isnan(second);
}

/* The sum is that of the same values in another order. */
static inline void check_floats(uint32_t number, const uint64_t *word, const cell_reader *reader, const value *values,
                                int64_t count) {
    double parts[2], sum;
    memcpy(parts, word, 16);
    as_total *total = as_total_create();
    for (int64_t i = count; i-- > 0;)
        CHECK(as_total_add(total, &values[i].real, 1) == AS_OK);
    const double wanted = as_total_value(total);
    as_total_destroy(total);
    CHECK(reader->sum != NULL || !lies_beside(word));
    sum = reader->sum ? reader->sum(reader->from, number, reader->which) : parts[0] + parts[1];
    CHECK(memcmp(&sum, &wanted, 8) == 0);
    CHECK(lies_beside(word) || memcmp(&sum, (double[1]){parts[0] + parts[1]}, 8) == 0);
}

/* Makes the sums zero that lie beside cells; answers whether some did. */
static inline bool take_apart(const as_program *program, uint64_t *cell, uint32_t words, int64_t count) {
    bool found = false;
    for (uint32_t number = 0; number < program->steps; number++) {
        for (int64_t i = 0; i < count && program->step[number].what == AS_FLOATS; i++) {
            uint64_t *own = cell + (size_t)i * words + program->step[number].word;
            if (!lies_beside(own))
                continue;
            own[0] = own[1] = 0;
            found = true;
        }
    }
    return found;
}

static inline void check_extreme(const as_step *step, uint64_t word, const value *sorted, int64_t count) {
    if (count == 0 || (sorted[0].how == AS_HASH_FLOAT && isnan(sorted[count - 1].real)))
        return;
    word = step->what == AS_LEAST ? ~word : word;
    value read = {.how = sorted[0].how, .number = (int64_t)word};
    if (read.how == AS_HASH_SIGNED)
        read.number = (int64_t)(word ^ (uint64_t)1 << 63);
    if (read.how == AS_HASH_FLOAT) {
        word = word >> 63 ? word ^ (uint64_t)1 << 63 : ~word;
        memcpy(&read.real, &word, 8);
    }
    CHECK(compare(read, sorted[step->what == AS_LEAST ? 0 : count - 1]) == 0);
}

/* Of rows at the same time any may be the first or last. */
static inline void check_position(const as_step *step, const uint64_t *cell, const cell_reader *reader,
                                  const value *values, const int64_t *times, int64_t count) {
    if (count == 0)
        return;
    int64_t time = times[0];
    for (int64_t i = 1; i < count; i++)
        time = step->what == AS_FIRST ? (times[i] < time ? times[i] : time) : (times[i] > time ? times[i] : time);
    value read = {.how = HOW[step->value], .number = (int64_t)cell[step->word]};
    uint8_t *text = NULL;
    if (read.how == AS_HASH_BYTES) {
        int64_t offsets[2];
        read.length = (uint64_t)reader->text(reader->from, step->value, cell[step->word], offsets, NULL);
        text = malloc(read.length + 1);
        reader->text(reader->from, step->value, cell[step->word], offsets, text);
        read.text = text;
    }
    bool found = false;
    for (int64_t i = 0; i < count && !found; i++)
        found = times[i] == time && compare(values[i], read) == 0;
    CHECK(found);
    free(text);
}

static inline void check_quantiles(uint32_t number, const cell_reader *reader, const value *sorted, int64_t count) {
    const double least = reader->quantile(reader->from, number, 0.0, reader->which);
    const double most = reader->quantile(reader->from, number, 1.0, reader->which);
    const double middle = reader->quantile(reader->from, number, 0.5, reader->which);
    if (count == 0) {
        CHECK(isnan(least) && isnan(most) && isnan(middle));
        return;
    }
    const double first = as_real(sorted[0]), last = as_real(sorted[count - 1]);
    CHECK(least == first || (isnan(least) && isnan(first)));
    CHECK(most == last || (isnan(most) && isnan(last)));
    if (isfinite(first) && isfinite(last)) {
        const double low = as_real(sorted[(count - 1) / 2]), high = as_real(sorted[count / 2]);
        CHECK(middle >= low && middle <= high);
    }
}

/* The state of a USER step, or what the words of a ROWS step come to, is what the rows say that have both values. */
static inline void check_user(const as_program *program, uint32_t number, const uint64_t *cell,
                              const cell_reader *reader, const given *const *rows, int64_t count) {
    const as_step *step = &program->step[number];
    sums wanted = {0}, found = {0};
    for (int64_t i = 0; i < count; i++) {
        const value small = value_at(&rows[i]->values[USER_VALUE[0]], rows[i]->row);
        const value large = value_at(&rows[i]->values[USER_VALUE[1]], rows[i]->row);
        if (small.null || large.null)
            continue;
        wanted.rows++;
        wanted.sum += (uint64_t)large.number;
        wanted.small += (uint32_t)small.number;
    }
    if (step->what == AS_USER) {
        memcpy(&found, cell + step->word + 1, SUMS_BYTES);
        CHECK(cell[step->word] == (uint64_t)wanted.rows && found.begun == (wanted.rows ? USER_BEGIN : 0));
    } else {
        int64_t offsets[2];
        const int64_t words = reader->words(reader->from, number, reader->which, offsets, NULL);
        uint64_t *word = malloc((size_t)words * 8 + 1);
        CHECK(reader->words(reader->from, number, reader->which, offsets, word) == words && offsets[1] == words);
        found.rows = words / USER_ARGUMENTS;
        for (int64_t at = 0; at < words; at += USER_ARGUMENTS) {
            found.small += (uint32_t)word[at];
            found.sum += word[at + 1];
        }
        free(word);
    }
    CHECK(found.rows == wanted.rows && found.sum == wanted.sum && found.small == wanted.small);
}

/* Every step of a cell (of as_..._words words) says what the rows do that went into it. */
static inline void check_cell(const as_program *program, const uint64_t *cell, const cell_reader *reader,
                              const given *const *rows, int64_t count) {
    CHECK(cell[0] == (uint64_t)count);
    value *values = malloc((size_t)count * sizeof *values + 1), *sorted = malloc((size_t)count * sizeof *sorted + 1);
    int64_t *times = malloc((size_t)count * sizeof *times + 1);
    for (uint32_t number = 0; number < program->steps; number++) {
        const as_step *step = &program->step[number];
        int64_t own = 0;
        for (int64_t i = 0; i < count; i++) {
            values[own] = value_at(&rows[i]->values[step->value], rows[i]->row);
            times[own] = rows[i]->time;
            own += !values[own].null;
        }
        memcpy(sorted, values, (size_t)own * sizeof *sorted);
        qsort(sorted, (size_t)own, sizeof *sorted, by_value);
        switch (step->what) {
        case AS_COUNT: CHECK(cell[step->word] == (uint64_t)own); break;
        case AS_INTEGERS: check_integers(program, step, cell, values, own); break;
        case AS_FLOATS: check_floats(number, cell + step->word, reader, values, own); break;
        case AS_LEAST:
        case AS_GREATEST: check_extreme(step, cell[step->word], sorted, own); break;
        case AS_FIRST:
        case AS_LAST: check_position(step, cell, reader, values, times, own); break;
        case AS_DISTINCT: {
            int64_t distinct = own > 0;
            for (int64_t i = 1; i < own; i++)
                distinct += compare(sorted[i - 1], sorted[i]) != 0;
            CHECK(reader->distinct(reader->from, number, reader->which, cell) == distinct);
            break;
        }
        case AS_USER:
        case AS_ROWS: check_user(program, number, cell, reader, rows, count); break;
        default: check_quantiles(number, reader, sorted, own);
        }
    }
    free(values);
    free(sorted);
    free(times);
}

/* -- rows of a batch */

typedef struct batch {
    column time, key[KEYS], values[VALUES];
    as_operand *operands; /* time, orders, keys, values */
    int64_t *times;
    int64_t rows;
} batch;

static int by_time(const void *a, const void *b) {
    const int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

/* Keys of which most appear late in the batch. */
static inline void let_keys_appear(column *key, uint64_t spread) {
    const uint64_t values = (uint64_t)(key->operand.column.first + key->rows);
    for (uint64_t i = 0; i < values; i++) {
        const int32_t number = (int32_t)below(1 + spread * i / values * i / values);
        memcpy((uint8_t *)key->data + 1 + i * 4, &number, 4);
    }
}

/* A batch is often in the order of its times, and new keys often appear as time goes on, as in most real streams. */
static inline batch random_batch(const as_program *program, const uint32_t *how, const bool *nullable, uint32_t keys,
                                 int64_t rows, int64_t low, int64_t high, uint64_t spread, bool large) {
    batch made = {.rows = rows};
    made.times = malloc((size_t)rows * sizeof *made.times + 1);
    for (int64_t i = 0; i < rows; i++)
        made.times[i] = low + (int64_t)below((uint64_t)(high - low));
    const bool ordered = rows && below(2);
    if (ordered)
        qsort(made.times, (size_t)rows, sizeof *made.times, by_time);
    made.time = column_of(made.times, rows);
    made.operands = malloc((1 + program->columns + keys + VALUES) * sizeof *made.operands);
    as_operand *to = made.operands;
    *to++ = made.time.operand;
    for (uint32_t k = 0; k < program->columns; k++)
        *to++ = made.time.operand;
    for (uint32_t k = 0; k < keys; k++) {
        made.key[k] = random_column(how[k], 4, nullable[k], rows, spread, 1);
        if (ordered && how[k] == AS_HASH_SIGNED && made.key[k].index == NULL)
            let_keys_appear(&made.key[k], spread);
        *to++ = made.key[k].operand;
    }
    for (uint32_t value = 0; value < VALUES; value++) {
        made.values[value] = random_values(value, rows, large && value < 4);
        *to++ = made.values[value].operand;
    }
    return made;
}

static inline uint32_t key_of_row(const batch *of, uint32_t keys, int64_t row) {
    value key[KEYS];
    for (uint32_t k = 0; k < keys; k++)
        key[k] = value_at(&of->key[k], row);
    return key_number(key, keys);
}

static inline void release_batch(batch *batch, uint32_t keys) {
    release(&batch->time);
    for (uint32_t k = 0; k < keys; k++)
        release(&batch->key[k]);
    for (uint32_t value = 0; value < VALUES; value++)
        release(&batch->values[value]);
    free(batch->operands);
    free(batch->times);
}
#endif
