/* Cells of single rows: see as_cells_single in cells.h. */
#include <stdlib.h>
#include <string.h>
#include "cells.h"

int as_cells_single(const as_program *program, const as_operand *order, const as_operand *value, int64_t rows,
                    uint64_t *cell) {
    if (rows < 0 || program->sets)
        return AS_E_ARGUMENT;
    for (uint32_t number = 0; number < program->steps; number++) {
        const as_step *step = &program->step[number];
        if (step->what == AS_VALUES || step->what == AS_ROWS ||
            (step->what != AS_COUNT && program->how[step->value] == AS_HASH_BYTES))
            return AS_E_ARGUMENT;
    }
    for (uint32_t number = 0; number < program->columns; number++)
        if (!as_operand_readable(&order[number], rows))
            return AS_E_ARGUMENT;
    for (uint32_t number = 0; number < program->values; number++)
        if (!as_operand_readable(&value[number], rows))
            return AS_E_ARGUMENT;
    as_chunk *chunk = malloc(sizeof *chunk);
    if (chunk == NULL)
        return AS_E_MEMORY;
    as_beside none = {0};
    chunk->single = &none; /* not looked at: no step keeps anything beside its cells */
    chunk->uniform = false;
    const uint64_t words = cell_words(program, true);
    memset(cell, 0, (uint64_t)rows * words * sizeof *cell);
    int status = AS_OK;
    for (int64_t row = 0; row < rows && status == AS_OK; row += CHUNK) {
        const int64_t count = rows - row < CHUNK ? rows - row : CHUNK;
        for (int64_t i = 0; i < count; i++) {
            chunk->group[i] = (uint32_t)i;
            chunk->cell[i] = cell + (uint64_t)(row + i) * words;
        }
        status = as_cells_add(program, true, order, value, NULL, row, count, chunk);
    }
    free(chunk);
    return status;
}
