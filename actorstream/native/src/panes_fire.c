/* Windows that close: merging their panes, and reading the groups in the order of their keys. See panes.h. */
#include <stdlib.h>
#include <string.h>
#include "panes.h"
#include "quantile.h"
#include "zeroed.h"

static bool add_open(as_panes *panes, as_pane *pane) {
    if (panes->opened == panes->open_room) {
        const uint64_t room = panes->open_room ? panes->open_room * 2 : 16;
        as_pane **list = realloc(panes->open, room * sizeof *list);
        if (list == NULL)
            return false;
        panes->open = list;
        panes->open_room = room;
    }
    panes->open[panes->opened++] = pane;
    return true;
}

/* Panes from `first` on, `count` of them, that the window takes. */
static bool find_open(as_panes *panes, int64_t first, int64_t count, int64_t window) {
    uint64_t low = 0, high = panes->count;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        if (panes->pane[middle]->number < first)
            low = middle + 1;
        else
            high = middle;
    }
    panes->opened = 0;
    for (; low < panes->count && panes->pane[low]->number - first < count; low++)
        if (panes->pane[low]->tag <= window && !add_open(panes, panes->pane[low]))
            return false;
    return true;
}

/* Counts of distinct values over several panes. */
static int merge_pairs(as_panes *panes, uint32_t set, uint32_t word) {
    const uint64_t words = pane_words(panes);
    as_pairs all = {0};
    int status = AS_OK;
    for (uint64_t at = 0; at < panes->opened && status >= 0; at++) {
        const as_pairs *pairs = &panes->open[at]->beside.pairs[set];
        for (uint64_t slot = 0; pairs->mask && slot <= pairs->mask && status >= 0; slot++) {
            const as_pair pair = pairs->slots[slot];
            if (pair.group == 0)
                continue;
            status = as_pairs_put(&all, pair.group - 1, pair.value);
            if (status > 0)
                panes->merged[(pair.group - 1) * words + word]++;
        }
    }
    as_pairs_clear(&all);
    return status < 0 ? status : AS_OK;
}

static int merge_open(as_panes *panes) {
    const uint64_t words = pane_words(panes), count = panes->groups_open, bytes = count * words * 8;
    if (bytes > panes->merged_bytes) {
        as_zeroed_free(panes->merged, panes->merged_bytes);
        panes->merged_bytes = 0;
        panes->merged = as_zeroed_grow(NULL, 0, bytes + bytes / 4);
        if (panes->merged == NULL)
            return AS_E_MEMORY;
        panes->merged_bytes = bytes + bytes / 4;
    } else {
        memset(panes->merged, 0, bytes);
    }
    int status = AS_OK;
    as_exacts_clear(&panes->merged_beside.exacts);
    for (uint64_t at = 0; at < panes->opened && status == AS_OK; at++) {
        const as_pane *pane = panes->open[at];
        status = as_cells_merge(&panes->program, panes->wide, &panes->merged_beside, panes->merged, &pane->beside,
                                pane->cells, pane->room < count ? pane->room : count);
    }
    panes->source = panes->merged;
    panes->source_beside = &panes->merged_beside;
    for (uint32_t number = 0; number < panes->program.steps && status == AS_OK; number++)
        if (panes->program.step[number].what == AS_DISTINCT)
            status = merge_pairs(panes, panes->program.step[number].number, panes->program.step[number].word);
    return status;
}

/* Groups that a row was added to since they were unmarked. */
static int choose(as_panes *panes) {
    panes->chosen = calloc(panes->groups_open + 1, 1);
    if (panes->chosen == NULL)
        return AS_E_MEMORY;
    for (uint64_t at = 0; at < panes->opened; at++) {
        const as_pane *pane = panes->open[at];
        for (uint64_t group = 0; pane->some_marked && group < panes->groups_open && group < pane->room; group++)
            panes->chosen[group] |= pane->marked[group];
    }
    return AS_OK;
}

int64_t as_panes_open(as_panes *panes, int64_t first, int64_t count, int64_t window, int marked) {
    panes->at = panes->groups_open = panes->found = 0;
    free(panes->chosen);
    panes->chosen = NULL;
    if (!find_open(panes, first, count, window))
        return AS_E_MEMORY;
    if (panes->opened == 0)
        return 0;
    double bound = 0;
    bool some = !marked;
    for (uint64_t at = 0; at < panes->opened; at++) {
        bound += panes->open[at]->bound;
        some |= panes->open[at]->some_marked;
    }
    if (!some)
        return 0;
    if (panes->program.sums && !panes->wide && bound > 4611686018427387904.0) { /* 2^62 */
        const int status = as_panes_widen(panes);
        if (status != AS_OK)
            return status;
    }
    panes->groups_open = as_groups_count(panes->groups);
    int status = as_groups_order(panes->groups, &panes->order);
    if (status == AS_OK && marked)
        status = choose(panes);
    if (status == AS_OK && panes->opened > 1) {
        status = merge_open(panes);
    } else if (status == AS_OK) {
        panes->source = panes->open[0]->cells;
        panes->source_beside = &panes->open[0]->beside;
        if (panes->open[0]->room < panes->groups_open && panes->order == NULL)
            panes->groups_open = panes->open[0]->room;
    }
    return status == AS_OK ? (int64_t)panes->groups_open : status;
}

int64_t as_panes_take(as_panes *panes, int64_t most, uint32_t *group, uint64_t *cell) {
    const uint64_t words = pane_words(panes), out = cell_words(&panes->program, true);
    const uint64_t cells = panes->opened == 1 ? panes->open[0]->room : panes->groups_open;
    const uint32_t *order = panes->order;
    int64_t taken = 0;
    while (taken < most && panes->at < panes->groups_open) {
        const uint32_t own = order ? order[panes->at] : (uint32_t)panes->at;
        panes->at++;
        if (order && panes->at + 16 < panes->groups_open)
            __builtin_prefetch(panes->source + order[panes->at + 16] * words);
        if (own >= cells || panes->source[own * words] == 0 || (panes->chosen && !panes->chosen[own]))
            continue;
        group[taken] = own;
        uint64_t *to = cell + (uint64_t)taken * out;
        if (panes->wide || panes->program.sums == 0)
            memcpy(to, panes->source + own * words, words * 8);
        else
            as_cells_widen(&panes->program, memset(to, 0, out * 8), panes->source + own * words, 1);
        taken++;
    }
    panes->found += (uint64_t)taken;
    return taken;
}

/* -- quantiles -- */

int as_panes_quantile(as_panes *panes, uint32_t step, double q, const uint32_t *group, int64_t rows, double *out) {
    const uint64_t words = pane_words(panes);
    const uint32_t word = panes->program.step[step].word, how = panes->program.how[panes->program.step[step].value];
    for (int64_t i = 0; i < rows; i++) {
        uint64_t count = 0, have = 0;
        for (uint64_t at = 0; at < panes->opened; at++)
            if (group[i] < panes->open[at]->room)
                count += panes->open[at]->cells[group[i] * words + word + 1];
        if (count > panes->values_room) {
            free(panes->values);
            panes->values_room = 0;
            panes->values = malloc(2 * count * sizeof *panes->values);
            if (panes->values == NULL)
                return AS_E_MEMORY;
            panes->values_room = 2 * count;
        }
        for (uint64_t at = 0; at < panes->opened; at++) {
            const as_pane *pane = panes->open[at];
            if (group[i] < pane->room)
                have += as_lists_read(&pane->beside.lists, pane->cells + group[i] * words + word, panes->values + have);
        }
        as_words_to_floats(panes->values, have, how);
        out[i] = as_quantile((double *)panes->values, have, q);
    }
    return AS_OK;
}

int64_t as_panes_rows(const as_panes *panes, uint32_t step, const uint32_t *group, int64_t rows, int64_t *offsets,
                      uint64_t *value) {
    const uint64_t words = pane_words(panes);
    const uint32_t word = panes->program.step[step].word;
    uint64_t have = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (uint64_t at = 0; at < panes->opened; at++) {
            const as_pane *pane = panes->open[at];
            if (group[i] >= pane->room)
                continue;
            const uint64_t *list = pane->cells + group[i] * words + word;
            if (value != NULL)
                as_lists_read(&pane->beside.lists, list, value + have);
            have += list[1];
        }
        offsets[i + 1] = (int64_t)have;
    }
    return (int64_t)have;
}
