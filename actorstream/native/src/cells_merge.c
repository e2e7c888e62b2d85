/* Merging cells of the same group, and giving sums their high words. See cells.h. */
#include <string.h>
#include "cells.h"
#include "simd.h"

/* Takes the value of `from` if it comes before (FIRST) or not before (LAST) that of `to`. */
static void merge_position(uint32_t what, uint32_t orders, uint64_t *to, const uint64_t *from)
{
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

AS_INLINE void add_all_body(uint64_t *to, const uint64_t *from, uint64_t words)
{
    for (uint64_t i = 0; i < words; i++)
        to[i] += from[i];
}
AS_VERSIONS(add_all, (uint64_t *to, const uint64_t *from, uint64_t words), (to, from, words))

/* Whether merging is adding all words. */
static bool only_adds(const as_program *program, bool wide)
{
    for (uint32_t number = 0; number < program->steps; number++)
        if (program->step[number].what != AS_COUNT && (wide || program->step[number].what != AS_INTEGERS))
            return false;
    return true;
}

int as_cells_merge(const as_program *program, bool wide, as_beside *beside, uint64_t *to, const as_beside *other,
                   const uint64_t *from, uint64_t cells)
{
    int status = AS_OK;
    const uint64_t words = cell_words(program, wide);
    if (only_adds(program, wide)) {
        add_all(to, from, cells * words);
        return AS_OK;
    }
    for (uint64_t cell = 0; cell < cells && status == AS_OK; cell++, to += words, from += words) {
        if (from[0] == 0)
            continue;
        to[0] += from[0];
        for (uint32_t number = 0; number < program->steps && status == AS_OK; number++) {
            const as_step *step = &program->step[number];
            const uint32_t word = step->word, high = program->words + step->number;
            switch (step->what) {
            case AS_COUNT: to[word] += from[word]; break;
            case AS_INTEGERS:
                to[word] += from[word];
                if (wide)
                    to[high] += from[high] + (to[word] < from[word]);
                break;
            case AS_FLOATS:
                status = as_exact_merge(&beside->exacts, to + word, other ? &other->exacts : NULL, from + word);
                break;
            case AS_LEAST:
            case AS_GREATEST: to[word] = from[word] > to[word] ? from[word] : to[word]; break;
            case AS_FIRST:
            case AS_LAST: merge_position(step->what, program->orders, to + word, from + word); break;
            case AS_USER: status = as_cells_merge_user(step, to, from); break;
            default: break;
            }
        }
    }
    return status;
}

void as_cells_widen(const as_program *program, uint64_t *to, const uint64_t *from, uint64_t cells)
{
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
