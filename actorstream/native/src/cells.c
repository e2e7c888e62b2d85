/* Accumulating rows into cells: see cells.h. */
#include "cells.h"
#include <stdlib.h>
#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-function" /* of hash.h only the bits of floats are used here */
#include "hash.h"
#include "simd.h"

#define TOP ((uint64_t)1 << 63)
#define AHEAD 8     /* rows whose lists are fetched ahead */
#define DEDUPE 1024 /* values from which lists of distinct ones are cleaned once they have doubled */

static bool valid_user(const as_program *program, const as_step *step) {
    if (step->first > AS_PROGRAM_ARGUMENTS || step->count == 0 || step->count > AS_PROGRAM_ARGUMENTS - step->first)
        return false;
    for (uint32_t at = step->first; at < step->first + step->count; at++)
        if (program->argument[at] >= program->values || program->how[program->argument[at]] == AS_HASH_BYTES)
            return false;
    return step->what == AS_ROWS || (step->bytes && step->bytes <= AS_USER_BYTES && step->add && step->merge);
}

int as_program_init(as_program *program) {
    if (program->steps > AS_PROGRAM_STEPS || program->values > AS_PROGRAM_VALUES ||
        program->columns > AS_PROGRAM_ORDERS)
        return AS_E_ARGUMENT;
    uint32_t word = 1;
    program->sums = program->sets = 0;
    for (uint32_t number = 0; number < program->steps; number++) {
        as_step *step = &program->step[number];
        if (step->value >= program->values)
            return AS_E_ARGUMENT;
        const bool bytes = program->how[step->value] == AS_HASH_BYTES;
        const bool floats = program->how[step->value] == AS_HASH_FLOAT;
        step->word = word;
        step->number = 0;
        switch (step->what) {
        case AS_COUNT: word += 1; break;
        case AS_INTEGERS:
            step->number = program->sums++;
            word += 1;
            if (floats)
                return AS_E_ARGUMENT;
            break;
        case AS_FLOATS: word += 2; break;
        case AS_LEAST:
        case AS_GREATEST: word += 1; break;
        case AS_FIRST:
        case AS_LAST:
            word += 1 + (program->orders ? program->orders : 1);
            if (step->order + program->orders > program->columns)
                return AS_E_ARGUMENT;
            break;
        case AS_DISTINCT:
            step->number = program->sets++;
            word += 2;
            break;
        case AS_VALUES: word += 2; break;
        case AS_USER:
        case AS_ROWS:
            if (!valid_user(program, step))
                return AS_E_ARGUMENT;
            word += step->what == AS_ROWS ? 2 : 1 + (step->bytes + 7) / 8;
            break;
        default: return AS_E_ARGUMENT;
        }
        if (bytes && (step->what == AS_INTEGERS || step->what == AS_FLOATS || step->what == AS_LEAST ||
                      step->what == AS_GREATEST || step->what == AS_VALUES))
            return AS_E_ARGUMENT;
    }
    program->words = word;
    return AS_OK;
}

/* A value as a word that compares without sign, complemented by `flip`; NaN is greatest either way. */
AS_INLINE uint64_t ordered(uint64_t word, uint32_t how, uint64_t flip) {
    if (how == AS_HASH_UNSIGNED)
        return word ^ flip;
    if (how == AS_HASH_SIGNED)
        return word ^ TOP ^ flip;
    const double value = as_float(word);
    if (value != value)
        return ~UINT64_C(0);
    return (word >> 63 ? ~word : word | TOP) ^ flip;
}

/* -- how large sums can become -- */

AS_INLINE void magnitude_body(const uint64_t *value, int64_t rows, uint64_t sign, uint64_t *most) {
    uint64_t found = 0;
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t own = value[i] ^ (sign & (uint64_t)((int64_t)value[i] >> 63));
        found = own > found ? own : found;
    }
    *most = found;
}
AS_VERSIONS(magnitude, (const uint64_t *value, int64_t rows, uint64_t sign, uint64_t *most), (value, rows, sign, most))

double as_cells_bound(const as_program *program, const as_operand *value, int64_t row, int64_t rows,
                      uint64_t *scratch) {
    double most = 0;
    uint64_t done = 0; /* columns, a bit each */
    for (uint32_t number = 0; number < program->steps; number++) {
        const as_step *step = &program->step[number];
        if (step->what != AS_INTEGERS || done >> step->value & 1)
            continue;
        done |= (uint64_t)1 << step->value;
        const as_operand *column = &value[step->value];
        double own = column->column.width == 1 ? 256 : 65536;
        if (column->column.width > 2) {
            uint64_t found;
            as_operand_words(column, row, rows, scratch);
            magnitude(scratch, rows, column->how == AS_HASH_SIGNED ? ~UINT64_C(0) : 0, &found);
            own = (double)found + 1;
        }
        most = own > most ? own : most;
    }
    return most * (double)rows;
}

/* -- one step over the rows of a chunk -- */

typedef struct view { /* rows whose value is not null */
    uint64_t **cell;
    const uint64_t *value;
    const uint32_t *group, *row;
    as_beside **beside;
    as_beside *single;
    int64_t rows;
} view;

static void add_wide(uint64_t *cell, uint32_t word, uint32_t high, uint64_t value, bool is_signed) {
    const uint64_t before = cell[word];
    cell[word] = before + value;
    cell[high] += (is_signed ? (uint64_t)((int64_t)value >> 63) : 0) + (cell[word] < before);
}

AS_INLINE void total_body(const uint64_t *value, int64_t rows, uint64_t *out) {
    uint64_t sum = 0;
    for (int64_t i = 0; i < rows; i++)
        sum += value[i];
    *out = sum;
}
AS_VERSIONS(total, (const uint64_t *value, int64_t rows, uint64_t *out), (value, rows, out))

static void add_integers(const as_program *program, const as_step *step, bool wide, bool uniform, view rows) {
    const uint32_t word = step->word, high = program->words + step->number;
    const bool is_signed = program->how[step->value] == AS_HASH_SIGNED;
    if (wide) {
        for (int64_t i = 0; i < rows.rows; i++)
            add_wide(rows.cell[i], word, high, rows.value[i], is_signed);
    } else if (uniform && rows.rows) {
        uint64_t sum;
        total(rows.value, rows.rows, &sum);
        rows.cell[0][word] += sum;
    } else {
        for (int64_t i = 0; i < rows.rows; i++)
            rows.cell[i][word] += rows.value[i];
    }
}

AS_INLINE void most_of_body(const uint64_t *value, int64_t rows, uint32_t how, uint64_t flip, uint64_t *out) {
    uint64_t most = 0;
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t own = ordered(value[i], how, flip);
        most = own > most ? own : most;
    }
    *out = most;
}
AS_VERSIONS(most_of, (const uint64_t *value, int64_t rows, uint32_t how, uint64_t flip, uint64_t *out),
            (value, rows, how, flip, out))

static void add_extreme(const as_step *step, uint32_t how, bool uniform, view rows) {
    const uint64_t flip = step->what == AS_LEAST ? ~UINT64_C(0) : 0;
    if (uniform && rows.rows) {
        uint64_t most;
        most_of(rows.value, rows.rows, how, flip, &most);
        uint64_t *best = rows.cell[0] + step->word;
        *best = most > *best ? most : *best;
        return;
    }
    for (int64_t i = 0; i < rows.rows; i++) {
        const uint64_t own = ordered(rows.value[i], how, flip);
        uint64_t *best = rows.cell[i] + step->word;
        if (own > *best) /* soon seldom: a branch that is guessed right, and no store to wait for */
            *best = own;
    }
}

/* FIRST takes a row only if it comes before, LAST also if it does not come after: ties go by arrival. */
static void add_position(const as_program *program, const as_step *step, const as_chunk *chunk, view rows) {
    const uint64_t flip = step->what == AS_FIRST ? ~UINT64_C(0) : 0;
    const uint32_t orders = program->orders;
    for (int64_t i = 0; i < rows.rows; i++) {
        uint64_t *own = rows.cell[i] + step->word;
        if (orders == 0) {
            if (step->what == AS_LAST || own[1] == 0)
                own[0] = rows.value[i];
            own[1] = 1;
            continue;
        }
        const int64_t row = rows.row ? rows.row[i] : i;
        bool take = step->what == AS_LAST;
        for (uint32_t order = 0; order < orders; order++) {
            const uint64_t word = chunk->order[step->order + order][row] ^ TOP ^ flip;
            if (word != own[1 + order]) {
                take = word > own[1 + order];
                break;
            }
        }
        if (!take)
            continue;
        own[0] = rows.value[i];
        for (uint32_t order = 0; order < orders; order++)
            own[1 + order] = chunk->order[step->order + order][row] ^ TOP ^ flip;
    }
}

/* Cleans a list whose length is a power of two, unless more than half of it is what the last time left: without that, a list
   of 1,023 distinct values would be sorted again for every value that comes. */
static int dedupe(as_chunk *chunk, as_lists *lists, uint64_t *list) {
    if (as_lists_ascend(lists, list, list[1] / 2 + 1))
        return AS_OK;
    if (chunk->spare_room < list[1]) {
        uint64_t *spare = realloc(chunk->spare, list[1] * 2 * sizeof *spare);
        if (spare == NULL)
            return AS_E_MEMORY;
        chunk->spare = spare;
        chunk->spare_room = list[1] * 2;
    }
    as_lists_distinct(lists, list, chunk->spare);
    return AS_OK;
}

static int add_distinct(const as_step *step, as_chunk *chunk, view rows) {
    if (rows.rows == 0)
        return AS_OK;
    if (rows.single != NULL && rows.single->pairs != NULL) {
        uint64_t *count[CHUNK];
        for (int64_t i = 0; i < rows.rows; i++)
            count[i] = rows.cell[i] + step->word;
        return as_pairs_add(&rows.single->pairs[step->number], rows.group, rows.value, rows.rows, count);
    }
    for (int64_t i = 0; i < rows.rows; i++) {
        as_beside *beside = rows.single ? rows.single : rows.beside[i];
        uint64_t *own = rows.cell[i] + step->word;
        if (beside->pairs != NULL) {
            const int added = as_pairs_put(&beside->pairs[step->number], rows.group[i], rows.value[i]);
            if (added < 0)
                return added;
            own[0] += (uint64_t)added;
            continue;
        }
        int status = as_lists_append(&beside->lists, own, rows.value[i]);
        if (status == AS_OK && own[1] >= DEDUPE && (own[1] & (own[1] - 1)) == 0)
            status = dedupe(chunk, &beside->lists, own);
        if (status != AS_OK)
            return status;
    }
    return AS_OK;
}

static int add_values(const as_step *step, view rows) {
    int status = AS_OK;
    for (int64_t i = 0; i < rows.rows && status == AS_OK; i++) {
        as_beside *beside = rows.single ? rows.single : rows.beside[i];
        if (i + AHEAD < rows.rows)
            as_lists_expect(&(rows.single ? rows.single : rows.beside[i + AHEAD])->lists,
                            rows.cell[i + AHEAD] + step->word);
        status = as_lists_append(&beside->lists, rows.cell[i] + step->word, rows.value[i]);
    }
    return status;
}

/* A word of a value column as a float. */
AS_INLINE double float_of(uint64_t word, uint32_t how) {
    return how == AS_HASH_FLOAT ? as_float(word) : how == AS_HASH_SIGNED ? (double)(int64_t)word : (double)word;
}

/* `counted`: counts the rows of the cells, too: 1.6 instead of 1.9 ns a row. */
AS_INLINE int add_floats(const as_step *step, uint32_t how, bool counted, view rows) {
    int status = AS_OK;
    for (int64_t i = 0; i < rows.rows && status == AS_OK; i++) {
        uint64_t *own = rows.cell[i] + step->word;
        rows.cell[i][0] += counted;
        const double value = float_of(rows.value[i], how);
        if (!as_exact_fits(own, value))
            status = as_exact_add_slowly(&(rows.single ? rows.single : rows.beside[i])->exacts, own, value);
    }
    return status;
}

static int add_step(const as_program *program, const as_step *step, bool wide, as_chunk *chunk, view rows) {
    const uint32_t how = program->how[step->value];
    switch (step->what) {
    case AS_INTEGERS: add_integers(program, step, wide, chunk->uniform, rows); return AS_OK;
    case AS_FLOATS:
        if (how != AS_HASH_FLOAT)
            return how == AS_HASH_SIGNED ? add_floats(step, AS_HASH_SIGNED, false, rows)
                                         : add_floats(step, AS_HASH_UNSIGNED, false, rows);
        if (chunk->uniform && rows.rows)
            return as_exact_add_all(&rows.single->exacts, rows.cell[0] + step->word, (const double *)rows.value,
                                    rows.rows);
        return add_floats(step, AS_HASH_FLOAT, false, rows);
    case AS_LEAST:
    case AS_GREATEST: add_extreme(step, how, chunk->uniform, rows); return AS_OK;
    case AS_FIRST:
    case AS_LAST: add_position(program, step, chunk, rows); return AS_OK;
    case AS_DISTINCT: return add_distinct(step, chunk, rows);
    default: return add_values(step, rows);
    }
}

/* The rows of which value column `column` is not null, packed. */
static view packed(as_chunk *chunk, const as_operand *column, int64_t row, int64_t rows) {
    int64_t kept = 0;
    for (int64_t i = 0; i < rows; i++) {
        chunk->row[kept] = (uint32_t)i;
        kept += !operand_null(column, row + i);
    }
    for (int64_t i = 0; i < kept; i++) {
        const uint32_t from = chunk->row[i];
        chunk->valid_cell[i] = chunk->cell[from];
        chunk->valid_value[i] = chunk->value[from];
        chunk->valid_group[i] = chunk->group[from];
        chunk->valid_beside[i] = chunk->single ? NULL : chunk->beside[from];
    }
    return (view){chunk->valid_cell,
                  chunk->valid_value,
                  chunk->valid_group,
                  chunk->row,
                  chunk->valid_beside,
                  chunk->single,
                  kept};
}

int as_cells_add(const as_program *program, bool wide, const as_operand *order, const as_operand *value,
                 as_texts *texts, int64_t row, int64_t rows, as_chunk *chunk) {
    const as_step *front = &program->step[0];
    const view all = {chunk->cell, chunk->value, chunk->group, NULL, chunk->beside, chunk->single, rows};
    const bool floats = front->what == AS_FLOATS && program->how[front->value] == AS_HASH_FLOAT;
    const bool fused = program->steps && (floats || (front->what == AS_INTEGERS && !wide)) && !chunk->uniform &&
                       value[front->value].column.validity == NULL;
    int status = AS_OK;
    if (fused) /* the rows and a sum at once */
        as_operand_words(&value[front->value], row, rows, chunk->value);
    if (chunk->uniform) {
        chunk->cell[0][0] += (uint64_t)rows;
    } else if (fused && floats) {
        status = add_floats(front, AS_HASH_FLOAT, true, all);
    } else if (fused) {
        for (int64_t i = 0; i < rows; i++) {
            uint64_t *cell = chunk->cell[i];
            cell[0]++;
            cell[1] += chunk->value[i];
        }
    } else {
        for (int64_t i = 0; i < rows; i++)
            chunk->cell[i][0]++;
    }
    for (uint32_t k = 0; k < program->columns; k++)
        as_operand_words(&order[k], row, rows, chunk->order[k]);
    view now = all;
    uint32_t loaded = fused ? front->value : UINT32_MAX;
    for (uint32_t number = fused; number < program->steps && status == AS_OK; number++) {
        const as_step *step = &program->step[number];
        const as_operand *column = &value[step->value];
        if (step->what == AS_COUNT) { /* needs no value */
            for (int64_t i = 0; i < rows; i++)
                chunk->cell[i][step->word] += !operand_null(column, row + i);
            continue;
        }
        if (step->what == AS_USER || step->what == AS_ROWS) {
            status =
                (step->what == AS_USER ? as_cells_add_user : as_cells_add_rows)(program, step, value, row, rows, chunk);
            continue;
        }
        if (step->value != loaded) {
            loaded = step->value;
            if (column->how == AS_HASH_BYTES)
                status = as_texts_find(&texts[loaded], column, row, rows, chunk->value);
            else
                as_operand_words(column, row, rows, chunk->value);
            if (status != AS_OK)
                break;
            now = column->column.validity == NULL ? all : packed(chunk, column, row, rows);
        }
        if (step->what == AS_DISTINCT && program->how[step->value] == AS_HASH_FLOAT) {
            uint64_t *values = (uint64_t *)now.value; /* the chunk's own */
            for (int64_t i = 0; i < now.rows; i++)
                values[i] = float_bits(as_float(values[i]));
            loaded = UINT32_MAX;
        }
        status = add_step(program, step, wide, chunk, now);
    }
    return status;
}
