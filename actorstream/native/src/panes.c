/* Adding rows to panes: see panes.h. Rows that are only counted are in panes_count.c, what happens to panes as a
 * whole is in panes_change.c, windows in panes_fire.c. */
#include "panes.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "simd.h"
#include "zeroed.h"

#define MOST_TIME ((uint64_t)1 << 62)
#define MOST_SUM 4611686018427387904.0 /* 2^62 */
#define FETCH_FROM ((uint64_t)1 << 18) /* bytes of cells from which they are fetched ahead */

as_panes *as_panes_create(as_groups *groups, uint32_t keys, const as_program *program, int64_t origin, int64_t width) {
    as_panes *panes = width < 0 || origin > 0 ? NULL : calloc(1, sizeof *panes);
    if (panes == NULL) {
        errno = width < 0 || origin > 0 ? EINVAL : ENOMEM;
        return NULL;
    }
    panes->chunk = calloc(1, sizeof *panes->chunk);
    panes->table = calloc(TABLES, sizeof *panes->table);
    panes->program = *program;
    if (panes->chunk == NULL || panes->table == NULL || as_program_init(&panes->program) != AS_OK) {
        errno = panes->chunk == NULL || panes->table == NULL ? ENOMEM : EINVAL;
        free(panes->chunk);
        free(panes->table);
        free(panes);
        return NULL;
    }
    panes->groups = groups;
    panes->keys = keys;
    panes->origin = origin;
    panes->width = (uint64_t)width;
    panes->latest = INT64_MIN;
    return panes;
}

/* Number of panes before (number, tag). */
static uint64_t place_of(const as_panes *panes, int64_t number, int64_t tag) {
    uint64_t low = 0, high = panes->count;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        const as_pane *pane = panes->pane[middle];
        if (pane->number < number || (pane->number == number && pane->tag < tag))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

as_pane *as_pane_find(as_panes *panes, int64_t number, int64_t tag) {
    if (panes->last != NULL && panes->last->number == number && panes->last->tag == tag)
        return panes->last;
    const uint64_t at = place_of(panes, number, tag);
    if (at < panes->count && panes->pane[at]->number == number && panes->pane[at]->tag == tag)
        return panes->last = panes->pane[at];
    if (panes->count == panes->room) {
        const uint64_t room = panes->room ? panes->room * 2 : 16;
        as_pane **list = realloc(panes->pane, room * sizeof *list);
        if (list == NULL)
            return NULL;
        panes->pane = list;
        panes->room = room;
    }
    as_pane *pane = calloc(1, sizeof *pane);
    if (pane == NULL)
        return NULL;
    if (panes->program.sets) {
        pane->beside.pairs = calloc(panes->program.sets, sizeof *pane->beside.pairs);
        if (pane->beside.pairs == NULL) {
            free(pane);
            return NULL;
        }
    }
    pane->number = number;
    pane->tag = tag;
    memmove(panes->pane + at + 1, panes->pane + at, (panes->count - at) * sizeof *panes->pane);
    panes->pane[at] = pane;
    panes->count++;
    return panes->last = pane;
}

int as_pane_reserve(as_panes *panes, as_pane *pane) {
    const uint64_t count = as_groups_count(panes->groups), words = pane_words(panes);
    if (count <= pane->room && (pane->marked != NULL || !panes->marking))
        return AS_OK;
    uint64_t room = pane->room ? pane->room : 16;
    while (room < count)
        room *= 2;
    if (panes->marking) {
        uint8_t *marked = as_zeroed_grow(pane->marked, pane->marked ? pane->room : 0, room);
        if (marked == NULL)
            return AS_E_MEMORY;
        if (room > pane->room || pane->marked == NULL)
            pane->marked = marked;
    }
    if (room == pane->room)
        return AS_OK;
    uint64_t *cells = as_zeroed_grow(pane->cells, pane->room * words * 8, room * words * 8);
    if (cells == NULL)
        return AS_E_MEMORY;
    pane->cells = cells;
    pane->room = room;
    return AS_OK;
}

/* -- rows to cells -- */

int as_panes_groups_of(as_panes *panes, const as_operand *key, int64_t row, int64_t rows) {
    int status = as_groups_find(panes->groups, key, row, rows, panes->chunk->group);
    if (status != AS_AGAIN)
        return status;
    as_panes_counted(panes);
    status = as_panes_renumber(panes);
    return status == AS_OK ? as_groups_find(panes->groups, key, row, rows, panes->chunk->group) : status;
}

AS_INLINE void panes_of_body(const uint64_t *time, int64_t rows, uint64_t start, uint64_t width, double share,
                             uint64_t *pane) {
    for (int64_t i = 0; i < rows; i++) { /* a quotient in floats is off by one at the most */
        const uint64_t past = time[i] - start;
        uint64_t quotient = (uint64_t)(int64_t)((double)(int64_t)past * share);
        quotient -= quotient * width > past;
        quotient += (quotient + 1) * width <= past;
        pane[i] = quotient;
    }
}
AS_VERSIONS(panes_of,
            (const uint64_t *time, int64_t rows, uint64_t start, uint64_t width, double share, uint64_t *pane),
            (time, rows, start, width, share, pane))

/* The pane of each row, into of_row. `first`: of the batch; `span`: how many panes it spans. */
static int find_panes(as_panes *panes, const as_operand *time, int64_t row, int64_t rows, int64_t first, uint64_t span,
                      int64_t tag) {
    uint64_t *number = panes->chunk->value; /* not in use yet */
    const uint64_t start = (uint64_t)panes->origin + (uint64_t)first * panes->width;
    as_operand_words(time, row, rows, panes->time);
    if (span < ((uint64_t)1 << 51) / panes->width) {
        panes_of(panes->time, rows, start, panes->width, 1.0 / (double)panes->width, number);
    } else {
        for (int64_t i = 0; i < rows; i++)
            number[i] = (panes->time[i] - start) / panes->width;
    }
    for (int64_t i = 0; i < rows; i++) {
        as_pane *pane = number[i] < NEAR ? panes->near[number[i]] : NULL;
        if (pane == NULL) {
            pane = as_pane_find(panes, first + (int64_t)number[i], tag);
            if (pane == NULL || as_pane_reserve(panes, pane) != AS_OK)
                return AS_E_MEMORY;
            if (number[i] < NEAR)
                panes->near[number[i]] = pane;
        }
        panes->of_row[i] = pane;
    }
    return AS_OK;
}

/* The cells of the chunk's rows: of `single`, or of of_row. */
static void find_cells(as_panes *panes, as_pane *single, int64_t rows) {
    as_chunk *chunk = panes->chunk;
    const uint64_t words = pane_words(panes);
    chunk->single = single ? &single->beside : NULL;
    chunk->uniform = single != NULL && panes->keys == 0;
    if (chunk->uniform) { /* the same for every row, mostly those of the chunk before */
        const int64_t wanted = panes->program.steps == 0 ? 1 : rows;
        if (chunk->cell[0] != single->cells)
            panes->same = 0;
        for (; panes->same < wanted; panes->same++)
            chunk->cell[panes->same] = single->cells;
        return;
    }
    panes->same = 0;
    if (single != NULL) {
        uint64_t *cells = single->cells;
        for (int64_t i = 0; i < rows; i++)
            chunk->cell[i] = cells + chunk->group[i] * words;
        if (single->room * words * 8 > FETCH_FROM)
            for (int64_t i = 0; i < rows; i++)
                __builtin_prefetch(chunk->cell[i], 1);
        return;
    }
    for (int64_t i = 0; i < rows; i++) {
        as_pane *pane = panes->of_row[i];
        chunk->cell[i] = pane->cells + chunk->group[i] * words;
        chunk->beside[i] = &pane->beside;
        __builtin_prefetch(chunk->cell[i], 1);
    }
}

static void mark_groups(as_panes *panes, as_pane *single, int64_t rows) {
    for (int64_t i = 0; i < rows; i++) {
        as_pane *pane = single ? single : panes->of_row[i];
        pane->marked[panes->chunk->group[i]] = 1;
        pane->some_marked = true;
    }
}

/* Whether a sum could pass 63 bits by these rows; then all cells must be wide first. */
static bool outgrows(as_panes *panes, const as_operand *value, int64_t row, int64_t rows, as_pane *single) {
    if (panes->program.sums == 0 || panes->wide)
        return false;
    const double more = as_cells_bound(&panes->program, value, row, rows, panes->chunk->value);
    bool found = false;
    for (int64_t i = 0; i < (single ? 1 : rows); i++) {
        as_pane *pane = single ? single : panes->of_row[i];
        pane->bound += single ? more : more / (double)rows;
        found |= pane->bound > MOST_SUM;
    }
    return found;
}

typedef struct rows_of { /* where a batch's operands lie */
    const as_operand *time, *order, *key, *value;
} rows_of;

/* Adds one chunk. `first`, `span`: panes of the batch. */
static int add_chunk(as_panes *panes, rows_of operand, int64_t row, int64_t rows, int64_t first, uint64_t span,
                     int64_t tag) {
    int status = as_panes_groups_of(panes, operand.key, row, rows);
    if (status != AS_OK)
        return status;
    as_pane *single = NULL;
    if (span > 1) { /* rows mostly come in the order of their times, so that a chunk seldom spans what its
                       batch does */
        int64_t least = INT64_MAX, greatest = INT64_MIN;
        as_operand part = operand.time[0];
        if (part.index)
            part.index += row;
        else
            part.column.first += row;
        as_operand_bounds(&part, rows, true, &least, &greatest);
        const int64_t last = (int64_t)(((uint64_t)greatest - (uint64_t)panes->origin) / panes->width);
        first = (int64_t)(((uint64_t)least - (uint64_t)panes->origin) / panes->width);
        span = (uint64_t)(last - first) + 1;
    }
    if (span == 1) {
        single = as_pane_find(panes, first, tag);
        status = single == NULL ? AS_E_MEMORY : as_pane_reserve(panes, single);
    } else {
        memset(panes->near, 0, sizeof panes->near);
        status = find_panes(panes, operand.time, row, rows, first, span, tag);
    }
    if (status != AS_OK)
        return status;
    if (panes->marking)
        mark_groups(panes, single, rows);
    if (panes->program.steps == 0 && panes->keys && single != NULL && as_groups_count(panes->groups) <= TABLE &&
        (panes->counted == single || panes->counted == NULL)) {
        panes->counted = single;
        as_panes_count_groups(panes, panes->chunk->group, rows);
        return AS_OK;
    }
    if (outgrows(panes, operand.value, row, rows, single)) {
        status = as_panes_widen(panes);
        if (status != AS_OK)
            return status;
    }
    find_cells(panes, single, rows);
    return as_cells_add(&panes->program, panes->wide, operand.order, operand.value, panes->texts, row, rows,
                        panes->chunk);
}

int as_panes_add(as_panes *panes, const as_operand *operand, int64_t rows, int64_t low, int64_t tag,
                 int64_t known_least, int64_t known_greatest) {
    const rows_of parts = {operand, operand + 1, operand + 1 + panes->program.columns,
                           operand + 1 + panes->program.columns + panes->keys};
    for (const as_operand *own = operand; own < parts.value + panes->program.values; own++)
        if ((own != operand || panes->width || own->column.data != NULL) && !as_operand_readable(own, rows))
            return AS_E_ARGUMENT;
    if (rows == 0)
        return AS_OK;
    int64_t first = 0, last = 0;
    if (panes->width == 0 && operand->column.data != NULL) {
        int64_t least = INT64_MAX;
        as_operand_bounds(parts.time, rows, true, &least, &panes->latest);
    }
    if (panes->width) {
        for (bool exactly = false;; exactly = true) {
            int64_t least = known_least, greatest = known_greatest;
            if (exactly || least > greatest) {
                least = INT64_MAX;
                greatest = INT64_MIN;
                as_operand_bounds(parts.time, rows, exactly, &least, &greatest);
            }
            const bool valid = least >= low && (uint64_t)greatest < MOST_TIME;
            if (!valid && exactly)
                return AS_AGAIN;
            first = (int64_t)(((uint64_t)least - (uint64_t)panes->origin) / panes->width);
            last = (int64_t)(((uint64_t)greatest - (uint64_t)panes->origin) / panes->width);
            if (exactly || (valid && first == last))
                break;
        }
    }
    int status = as_groups_crowded(panes->groups) ? as_panes_renumber(panes) : AS_OK;
    if (status == AS_OK) /* a pane that stays refers to few of the texts that its rows have had */
        status = as_panes_forget_texts(panes);
    if (status == AS_OK && first == last && as_panes_counts_places(panes, parts.key, rows))
        return as_panes_count_places(panes, parts.key, rows, first, tag);
    const bool large = as_groups_count(panes->groups) * pane_words(panes) * 8 > FETCH_FROM;
    const int64_t most = large ? CHUNK / 4 : CHUNK; /* cells that are fetched ahead must not push each other out */
    for (int64_t row = 0; row < rows && status == AS_OK; row += most) {
        const int64_t block = rows - row < most ? rows - row : most;
        status = add_chunk(panes, parts, row, block, first, (uint64_t)(last - first) + 1, tag);
    }
    as_panes_counted(panes);
    return status;
}

int64_t as_panes_latest(const as_panes *panes) {
    return panes->latest;
}

int32_t as_panes_take_in(void *work, int64_t rows) {
    const as_panes_work *own = work;
    return as_panes_add(own->panes, own->operand, rows, own->low, own->tag, own->known_least, own->known_greatest);
}

int32_t as_panes_job(void *work) {
    as_panes_work *own = work;
    own->status =
        as_panes_add(own->panes, own->operand, own->rows, own->low, own->tag, own->known_least, own->known_greatest);
    own->answer = as_user_answer();
    return 0;
}
