/* Accumulating rows into cells, and merging cells. Private to the states that keep cells. */
#ifndef ACTORSTREAM_CELLS_PRIVATE_H
#define ACTORSTREAM_CELLS_PRIVATE_H
#include "../include/cells.h"
#include "../include/groups.h"
#include "bits.h"
#include "exact.h"
#include "lists.h"
#include "operand.h"
#include "pairs.h"
#include "texts.h"

#define CHUNK AS_GROUPS_BLOCK /* rows at a time: what belongs to them stays in the first-level cache */

/* What lies beside the cells of one pane (or of all sessions). */
typedef struct as_beside {
    as_pairs *pairs; /* a set a DISTINCT step; NULL: they are lists */
    as_lists lists;
    as_exacts exacts; /* of FLOATS steps */
} as_beside;

/* The rows of a chunk: which cell each belongs to. */
typedef struct as_chunk {
    uint32_t group[CHUNK];
    uint64_t *cell[CHUNK];
    as_beside *beside[CHUNK]; /* unless `single` */
    as_beside *single;
    bool uniform; /* all rows belong to cell[0] */
    uint64_t value[CHUNK], order[AS_PROGRAM_ORDERS][CHUNK];
    /* of rows whose value is not null, where some are */
    uint32_t row[CHUNK], valid_group[CHUNK];
    uint64_t *valid_cell[CHUNK];
    as_beside *valid_beside[CHUNK];
    uint64_t valid_value[CHUNK];
    uint64_t *spare; /* for distinct values of a list */
    uint64_t spare_room;
} as_chunk;

/* Words of a cell. */
static inline uint64_t cell_words(const as_program *program, bool wide) {
    return program->words + (wide ? program->sums : 0);
}
/* The most that `rows` rows from `row` on can add to the magnitude of any integer sum. */
double as_cells_bound(const as_program *program, const as_operand *value, int64_t row, int64_t rows, uint64_t *scratch);
/* Adds rows row .. row + rows - 1 (at most CHUNK) to chunk->cell. `texts`: one a value column, for bytes.
   AS_OK | AS_E_MEMORY | AS_E_USER. */
int as_cells_add(const as_program *program, bool wide, const as_operand *order, const as_operand *value,
                 as_texts *texts, int64_t row, int64_t rows, as_chunk *chunk);
/* Adds cells `from` to `to`, with the places of their exact sums; all else beside cells is left alone. `other`: what is
   beside `from`; NULL: nothing. AS_OK | AS_E_ARGUMENT: a sum has a place that is not there | AS_E_MEMORY | AS_E_USER. */
int as_cells_merge(const as_program *program, bool wide, as_beside *beside, uint64_t *to, const as_beside *other,
                   const uint64_t *from, uint64_t cells);
/* Whether a step keeps a list beside its cells: two words of lists.h. */
static inline bool step_lists(uint32_t what) {
    return what == AS_VALUES || what == AS_DISTINCT || what == AS_ROWS;
}
/* The arguments of a USER or ROWS step for rows row .. row + rows - 1 of chunk->cell. AS_OK | AS_E_MEMORY | AS_E_USER. */
int as_cells_add_user(const as_program *program, const as_step *step, const as_operand *value, int64_t row,
                      int64_t rows, const as_chunk *chunk);
int as_cells_add_rows(const as_program *program, const as_step *step, const as_operand *value, int64_t row,
                      int64_t rows, const as_chunk *chunk);
/* Adds the USER state of cell `from` to that of `to`. AS_OK | AS_E_USER. */
int as_cells_merge_user(const as_step *step, uint64_t *to, const uint64_t *from);
/* `cells` cells that were not wide, in `from`, as wide ones in `to` (zero before). */
void as_cells_widen(const as_program *program, uint64_t *to, const uint64_t *from, uint64_t cells);
#endif
