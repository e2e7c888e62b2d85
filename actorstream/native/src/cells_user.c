/* Accumulating rows into states of user functions, and merging these. See cells.h and userfn.h. */
#include <stdlib.h>
#include <string.h>
#include "../include/userfn.h"
#include "cells.h"

#define ALIGNMENT 64
#define SLOTS (2 * CHUNK) /* of the table of a chunk's cells: at most half of them are taken */

static _Thread_local int32_t answer;

int32_t as_user_answer(void) {
    return answer;
}

static int called(uintptr_t function, const void *const *columns, int64_t rows, void *state) {
    answer = ((as_user_function)function)(columns, rows, state);
    return answer == 0 ? AS_OK : AS_E_USER;
}

/* Rows, counted from `row` on, that are null in none of the step's arguments; answers how many. */
static uint32_t rows_with_values(const as_program *program, const as_step *step, const as_operand *value, int64_t row,
                                 int64_t rows, uint32_t *kept) {
    const uint32_t *argument = program->argument + step->first;
    uint32_t found = 0;
    for (int64_t i = 0; i < rows; i++) {
        bool whole = true;
        for (uint32_t at = 0; at < step->count; at++)
            whole &= !operand_null(&value[argument[at]], row + i);
        kept[found] = (uint32_t)i;
        found += whole;
    }
    return found;
}

typedef struct runs { /* rows of a chunk by cell, in the order in which they came */
    uint32_t count;
    uint32_t end[CHUNK]; /* of each run in `row` */
    uint64_t *cell[CHUNK];
    uint32_t row[CHUNK];
    uint32_t kept[CHUNK], run_of[CHUNK], slot[SLOTS];
} runs;

static uint32_t run_of(runs *found, uint64_t *cell) {
    uint32_t at = (uint32_t)(((uintptr_t)cell >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (SLOTS - 1);
    while (found->slot[at] && found->cell[found->slot[at] - 1] != cell)
        at = (at + 1) & (SLOTS - 1);
    if (found->slot[at] == 0) {
        found->cell[found->count] = cell;
        found->end[found->count] = 0;
        found->slot[at] = ++found->count;
    }
    return found->slot[at] - 1;
}

static void find_runs(runs *found, uint32_t rows, const as_chunk *chunk) {
    found->count = 0;
    memset(found->slot, 0, sizeof found->slot);
    for (uint32_t i = 0; i < rows; i++) {
        found->run_of[i] = run_of(found, chunk->cell[chunk->uniform ? 0 : found->kept[i]]);
        found->end[found->run_of[i]]++;
    }
    uint32_t at = 0;
    for (uint32_t run = 0; run < found->count; run++) {
        const uint32_t size = found->end[run];
        found->end[run] = at; /* its begin, until its rows are there */
        at += size;
    }
    for (uint32_t i = 0; i < rows; i++)
        found->row[found->end[found->run_of[i]]++] = found->kept[i];
}

/* Words back to values of the column's own type, those of `index`, one behind the other. */
static void narrowed(const uint64_t *word, const uint32_t *index, uint32_t rows, const as_operand *column, char *out) {
    const uint32_t width = column->column.width;
    for (uint32_t i = 0; i < rows; i++, out += width) {
        if (column->how == AS_HASH_FLOAT && width == 4) {
            const float value = (float)as_float(word[index[i]]);
            memcpy(out, &value, sizeof value);
        } else {
            memcpy(out, &word[index[i]], width); /* little-endian: the low bytes */
        }
    }
}

int as_cells_add_user(const as_program *program, const as_step *step, const as_operand *value, int64_t row,
                      int64_t rows, const as_chunk *chunk) {
    const uint32_t *argument = program->argument + step->first;
    const uint64_t room = CHUNK * sizeof(uint64_t);
    runs *found = malloc(sizeof *found);
    uint64_t *word = malloc(room);
    char *memory = aligned_alloc(ALIGNMENT, step->count * room);
    const char *column[AS_PROGRAM_ARGUMENTS];
    const void *pointer[AS_PROGRAM_ARGUMENTS];
    int status = found == NULL || word == NULL || memory == NULL ? AS_E_MEMORY : AS_OK;
    if (status == AS_OK) {
        const uint32_t kept = rows_with_values(program, step, value, row, rows, found->kept);
        find_runs(found, kept, chunk);
        for (uint32_t at = 0; at < step->count; at++) {
            char *own = memory + at * room;
            as_operand_words(&value[argument[at]], row, rows, word);
            narrowed(word, found->row, kept, &value[argument[at]], own);
            column[at] = own;
        }
        for (uint32_t run = 0, from = 0; run < found->count && status == AS_OK; from = found->end[run++]) {
            uint64_t *state = found->cell[run] + step->word;
            const uint32_t count = found->end[run] - from;
            if (state[0] == 0 && step->begin)
                status = called(step->begin, NULL, 0, state + 1);
            for (uint32_t at = 0; at < step->count; at++)
                pointer[at] = column[at] + (size_t)from * value[argument[at]].column.width;
            if (status == AS_OK)
                status = called(step->add, pointer, count, state + 1);
            state[0] += count;
        }
    }
    free(found);
    free(word);
    free(memory);
    return status;
}

int as_cells_add_rows(const as_program *program, const as_step *step, const as_operand *value, int64_t row,
                      int64_t rows, const as_chunk *chunk) {
    const uint32_t *argument = program->argument + step->first;
    uint32_t kept[CHUNK];
    uint64_t *word = malloc(step->count * CHUNK * sizeof *word);
    if (word == NULL)
        return AS_E_MEMORY;
    for (uint32_t at = 0; at < step->count; at++)
        as_operand_words(&value[argument[at]], row, rows, word + at * CHUNK);
    const uint32_t found = rows_with_values(program, step, value, row, rows, kept);
    int status = AS_OK;
    for (uint32_t i = 0; i < found && status == AS_OK; i++) {
        as_beside *beside = chunk->single ? chunk->single : chunk->beside[kept[i]];
        uint64_t *list = chunk->cell[chunk->uniform ? 0 : kept[i]] + step->word;
        for (uint32_t at = 0; at < step->count && status == AS_OK; at++)
            status = as_lists_append(&beside->lists, list, word[at * CHUNK + kept[i]]);
    }
    free(word);
    return status;
}

int as_cells_merge_user(const as_step *step, uint64_t *to, const uint64_t *from) {
    uint64_t *own = to + step->word;
    const uint64_t *other = from + step->word;
    if (other[0] == 0)
        return AS_OK;
    if (own[0] == 0) {
        memcpy(own, other, (1 + (step->bytes + 7) / 8) * sizeof *own);
        return AS_OK;
    }
    own[0] += other[0];
    const void *states[1] = {other + 1};
    return called(step->merge, states, 1, own + 1);
}
