/* Panes for checkpoints: read one after the other, and put back. See panes.h. */
#include <math.h>
#include <string.h>
#include "panes.h"

#define MOST_SUM 4611686018427387904.0 /* 2^62 */

int64_t as_panes_count(const as_panes *panes) {
    return (int64_t)panes->count;
}

int64_t as_panes_select(as_panes *panes, int64_t at, int64_t *number, int64_t *tag, double *bound) {
    as_pane *pane = panes->pane[at];
    *number = pane->number;
    *tag = pane->tag;
    *bound = panes->wide ? HUGE_VAL : pane->bound; /* wide cells count no bound: their sums may be anything */
    const int64_t groups = as_panes_open(panes, pane->number, 1, pane->tag, 0);
    if (groups < 0)
        return groups;
    panes->open[0] = pane; /* alone, also where others of its number have smaller tags */
    panes->opened = 1;
    panes->source = pane->cells;
    panes->source_beside = &pane->beside;
    return groups;
}

void as_panes_marked(const as_panes *panes, const uint32_t *group, int64_t rows, uint8_t *marked) {
    const as_pane *pane = panes->open[0];
    for (int64_t i = 0; i < rows; i++)
        marked[i] = pane->marked != NULL && group[i] < pane->room && pane->marked[group[i]];
}

int64_t as_panes_pairs(const as_panes *panes, uint32_t step, uint32_t *group, uint64_t *value) {
    const as_pairs *pairs = &panes->open[0]->beside.pairs[panes->program.step[step].number];
    uint64_t count = 0;
    for (uint64_t slot = 0; group != NULL && pairs->mask && slot <= pairs->mask; slot++) {
        if (pairs->slots[slot].group == 0)
            continue;
        group[count] = pairs->slots[slot].group - 1;
        value[count++] = pairs->slots[slot].value;
    }
    return (int64_t)pairs->count;
}

int64_t as_panes_lists(const as_panes *panes, uint32_t step, const uint32_t *group, int64_t rows, int64_t *offsets,
                       uint64_t *value) {
    const as_pane *pane = panes->open[0];
    const uint64_t words = pane_words(panes);
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t *list = pane->cells + group[i] * words + panes->program.step[step].word;
        if (value != NULL)
            as_lists_read(&pane->beside.lists, list, value + at);
        at += (int64_t)list[1];
        offsets[i + 1] = at;
    }
    return at;
}

int64_t as_panes_text_count(const as_panes *panes, uint32_t value) {
    return (int64_t)panes->texts[value].count;
}

int as_panes_put_texts(as_panes *panes, uint32_t value, const as_operand *text, int64_t rows) {
    return as_texts_put(&panes->texts[value], text, rows);
}

/* The groups of a block of keys, once it has room for their cells. */
static int find_groups(as_panes *panes, const as_operand *key, int64_t row, int64_t rows, uint32_t *group) {
    int status = as_groups_find(panes->groups, key, row, rows, group);
    if (status == AS_AGAIN) {
        status = as_panes_renumber(panes);
        if (status == AS_OK)
            status = as_groups_find(panes->groups, key, row, rows, group);
    }
    return status;
}

int as_panes_put(as_panes *panes, int64_t number, int64_t tag, double bound, const as_operand *key, int64_t rows,
                 const uint64_t *cell, uint32_t *group) {
    const uint64_t given = cell_words(&panes->program, true);
    for (uint32_t k = 0; k < panes->keys; k++)
        if (!as_operand_readable(&key[k], rows))
            return AS_E_ARGUMENT;
    as_pane *pane = as_pane_find(panes, number, tag);
    if (pane == NULL)
        return AS_E_MEMORY;
    int status = AS_OK;
    pane->bound += bound;
    if (pane->bound > MOST_SUM && !panes->wide)
        status = as_panes_widen(panes);
    for (int64_t row = 0; row < rows && status == AS_OK; row += AS_GROUPS_BLOCK) {
        const int64_t block = rows - row < AS_GROUPS_BLOCK ? rows - row : AS_GROUPS_BLOCK;
        status = find_groups(panes, key, row, block, group + row);
        if (status == AS_OK)
            status = as_pane_reserve(panes, pane);
        const uint64_t words = pane_words(panes);
        for (int64_t i = row; i < row + block && status == AS_OK; i++) {
            status = as_cells_merge(&panes->program, panes->wide, &pane->beside, pane->cells + group[i] * words, NULL,
                                    cell + (uint64_t)i * given, 1);
            if (panes->marking)
                pane->marked[group[i]] = pane->some_marked = true;
        }
    }
    return status;
}

int as_panes_settle(as_panes *panes) {
    return as_groups_crowded(panes->groups) ? as_panes_renumber(panes) : AS_OK;
}

int as_panes_put_pairs(as_panes *panes, int64_t number, int64_t tag, uint32_t step, const uint32_t *group,
                       const uint64_t *value, int64_t rows) {
    as_pane *pane = as_pane_find(panes, number, tag);
    const uint64_t words = pane_words(panes);
    int status = pane == NULL ? AS_E_MEMORY : as_pane_reserve(panes, pane);
    for (int64_t i = 0; i < rows && status >= 0; i++) {
        status = as_pairs_put(&pane->beside.pairs[panes->program.step[step].number], group[i], value[i]);
        pane->cells[group[i] * words + panes->program.step[step].word] += status > 0;
    }
    return status < 0 ? status : AS_OK;
}

int as_panes_put_lists(as_panes *panes, int64_t number, int64_t tag, uint32_t step, const uint32_t *group, int64_t rows,
                       const int64_t *offsets, const uint64_t *value) {
    as_pane *pane = as_pane_find(panes, number, tag);
    const uint64_t words = pane_words(panes);
    int status = pane == NULL ? AS_E_MEMORY : as_pane_reserve(panes, pane);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t at = offsets[i]; at < offsets[i + 1] && status == AS_OK; at++)
            status = as_lists_append(&pane->beside.lists,
                                     pane->cells + group[i] * words + panes->program.step[step].word, value[at]);
    return status;
}
