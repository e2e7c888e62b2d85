/* Merging cells of the same group, and giving sums their high words. See cells.h. */
#include <string.h>
#include "cells.h"
#include "simd.h"

#define BLOCK 128 /* cells */

/* Takes the value of `from` if it comes before (FIRST) or not before (LAST) that of `to`. */
static void merge_position(uint32_t what, uint32_t orders, uint64_t *to, const uint64_t *from) {
    bool take = what == AS_LAST && from[1] != 0;
    for (uint32_t order = 0; order < (orders ? orders : 1); order++) {
        if (from[1 + order] != to[1 + order]) {
            take = from[1 + order] > to[1 + order];
            break;
        }
    }
    if (take)
        memcpy(to, from, (1 + (orders ? orders : 1)) * sizeof *to);
}

AS_INLINE void add_all_body(uint64_t *to, const uint64_t *from, uint64_t words) {
    for (uint64_t i = 0; i < words; i++)
        to[i] += from[i];
}
AS_VERSIONS(add_all, (uint64_t *to, const uint64_t *from, uint64_t words), (to, from, words))

/* Whether merging is adding all words. */
static bool only_adds(const as_program *program, bool wide) {
    for (uint32_t number = 0; number < program->steps; number++)
        if (program->step[number].what != AS_COUNT && (wide || program->step[number].what != AS_INTEGERS))
            return false;
    return true;
}

/* Cells that are merged one behind the other, `words` words each. */
typedef struct merged {
    uint64_t *to;
    const uint64_t *from;
    uint64_t words, cells;
    as_beside *beside;
    const as_beside *other;
} merged;

static int merge_floats(merged all, uint32_t word) {
    const as_exacts *other = all.other ? &all.other->exacts : NULL;
    int status = AS_OK;
    for (uint64_t cell = 0; cell < all.cells && status == AS_OK; cell++, all.to += all.words, all.from += all.words)
        if (all.from[0])
            status = as_exact_merge(&all.beside->exacts, all.to + word, other, all.from + word);
    return status;
}

static int merge_step(const as_program *program, const as_step *step, bool wide, merged all) {
    const uint32_t word = step->word, high = program->words + step->number;
    int status = AS_OK;
    if (step->what == AS_FLOATS)
        return merge_floats(all, word);
    for (uint64_t cell = 0; cell < all.cells && status == AS_OK; cell++, all.to += all.words, all.from += all.words) {
        uint64_t *to = all.to;
        const uint64_t *from = all.from;
        if (from[0] == 0)
            continue;
        switch (step->what) {
        case AS_COUNT: to[word] += from[word]; break;
        case AS_INTEGERS:
            to[word] += from[word];
            if (wide)
                to[high] += from[high] + (to[word] < from[word]);
            break;
        case AS_LEAST:
        case AS_GREATEST: to[word] = from[word] > to[word] ? from[word] : to[word]; break;
        case AS_FIRST:
        case AS_LAST: merge_position(step->what, program->orders, to + word, from + word); break;
        case AS_USER: status = as_cells_merge_user(step, to, from); break;
        default: break;
        }
    }
    return status;
}

int as_cells_merge(const as_program *program, bool wide, as_beside *beside, uint64_t *to, const as_beside *other,
                   const uint64_t *from, uint64_t cells) {
    int status = AS_OK;
    const uint64_t words = cell_words(program, wide);
    if (only_adds(program, wide)) {
        add_all(to, from, cells * words);
        return AS_OK;
    }
    while (cells && status == AS_OK) { /* so few at a time that all steps find them in the first-level cache */
        const uint64_t block = cells < BLOCK ? cells : BLOCK;
        const merged all = {to, from, words, block, beside, other};
        for (uint32_t number = 0; number < program->steps && status == AS_OK; number++)
            status = merge_step(program, &program->step[number], wide, all);
        for (uint64_t cell = 0; cell < block; cell++)
            to[cell * words] += from[cell * words];
        to += block * words;
        from += block * words;
        cells -= block;
    }
    return status;
}

void as_cells_widen(const as_program *program, uint64_t *to, const uint64_t *from, uint64_t cells) {
    const uint64_t words = cell_words(program, true);
    for (uint64_t cell = 0; cell < cells; cell++, to += words, from += program->words) {
        memcpy(to, from, program->words * sizeof *to);
        for (uint32_t number = 0; number < program->steps; number++) {
            const as_step *step = &program->step[number];
            if (step->what == AS_INTEGERS && program->how[step->value] == AS_HASH_SIGNED)
                to[program->words + step->number] = (uint64_t)((int64_t)from[step->word] >> 63);
        }
    }
}
