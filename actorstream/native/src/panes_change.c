/* What happens to panes as a whole: new numbers for groups, wide cells, dropping what is over. See panes.h.
 */
#include <stdlib.h>
#include <string.h>
#include "panes.h"
#include "zeroed.h"

#define FEW 1024 /* groups that are never worth looking through */

void as_pane_free(as_panes *panes, as_pane *pane) {
    as_zeroed_free(pane->cells, pane->room * pane_words(panes) * 8);
    as_zeroed_free(pane->marked, pane->marked ? pane->room : 0);
    for (uint32_t set = 0; set < panes->program.sets && pane->beside.pairs != NULL; set++)
        as_pairs_clear(&pane->beside.pairs[set]);
    free(pane->beside.pairs);
    as_lists_clear(&pane->beside.lists);
    as_exacts_clear(&pane->beside.exacts);
    free(pane);
}

void as_panes_destroy(as_panes *panes) {
    if (panes == NULL)
        return;
    for (uint64_t at = 0; at < panes->count; at++)
        as_pane_free(panes, panes->pane[at]);
    for (uint32_t value = 0; value < panes->program.values; value++)
        as_texts_clear(&panes->texts[value]);
    as_zeroed_free(panes->merged, panes->merged_bytes);
    as_exacts_clear(&panes->merged_beside.exacts);
    as_groups_destroy(panes->groups);
    free(panes->chunk->spare);
    free(panes->chunk);
    free(panes->table);
    free(panes->places.bytes);
    free(panes->pane);
    free(panes->open);
    free(panes->chosen);
    free(panes->values);
    free(panes);
}

/* alive[group] for every group with rows in some pane; answers how many. */
static uint64_t find_alive(const as_panes *panes, uint8_t *alive, uint64_t count) {
    const uint64_t words = pane_words(panes);
    uint64_t found = 0;
    for (uint64_t at = 0; at < panes->count; at++) {
        const as_pane *pane = panes->pane[at];
        const uint64_t cells = pane->room < count ? pane->room : count;
        for (uint64_t group = 0; group < cells; group++) {
            const uint8_t own = pane->cells[group * words] != 0;
            found += own & !alive[group];
            alive[group] |= own;
        }
    }
    return found;
}

static int renumber_pane(as_panes *panes, as_pane *pane, const uint32_t *map, uint64_t before) {
    const uint64_t words = pane_words(panes), count = as_groups_count(panes->groups);
    uint64_t room = 16;
    while (room < count)
        room *= 2;
    uint64_t *cells = as_zeroed_grow(NULL, 0, room * words * 8);
    uint8_t *marked = pane->marked ? as_zeroed_grow(NULL, 0, room) : NULL;
    if (cells == NULL || (pane->marked && marked == NULL)) {
        as_zeroed_free(cells, room * words * 8);
        as_zeroed_free(marked, room);
        return AS_E_MEMORY;
    }
    for (uint64_t group = 0; group < before && group < pane->room; group++) {
        if (map[group] == UINT32_MAX)
            continue;
        memcpy(cells + map[group] * words, pane->cells + group * words, words * 8);
        if (marked != NULL)
            marked[map[group]] = pane->marked[group];
    }
    as_zeroed_free(pane->cells, pane->room * words * 8);
    as_zeroed_free(pane->marked, pane->marked ? pane->room : 0);
    pane->cells = cells;
    pane->marked = marked;
    pane->room = room;
    int status = AS_OK;
    for (uint32_t set = 0; set < panes->program.sets && status == AS_OK; set++)
        status = as_pairs_renumber(&pane->beside.pairs[set], map, NULL);
    return status;
}

static int renumber(as_panes *panes, const uint8_t *alive) {
    const uint64_t before = as_groups_count(panes->groups);
    uint32_t *map = malloc((before + 1) * sizeof *map);
    int status = map == NULL ? AS_E_MEMORY : as_groups_renumber(panes->groups, alive, map);
    panes->places.few = 0;
    for (uint64_t at = 0; at < panes->count && status == AS_OK; at++)
        status = renumber_pane(panes, panes->pane[at], map, before);
    free(map);
    return status;
}

int as_panes_renumber(as_panes *panes) {
    const uint64_t count = as_groups_count(panes->groups);
    uint8_t *alive = calloc(count + 1, 1);
    if (alive == NULL)
        return AS_E_MEMORY;
    find_alive(panes, alive, count);
    const int status = renumber(panes, alive);
    free(alive);
    return status;
}

int as_panes_widen(as_panes *panes) {
    const uint64_t narrow = panes->program.words, words = cell_words(&panes->program, true);
    uint64_t **made = calloc(panes->count + 1, sizeof *made);
    int status = made == NULL ? AS_E_MEMORY : AS_OK;
    for (uint64_t at = 0; at < panes->count && status == AS_OK; at++) {
        const as_pane *pane = panes->pane[at];
        made[at] = as_zeroed_grow(NULL, 0, (pane->room ? pane->room : 1) * words * 8);
        if (made[at] == NULL)
            status = AS_E_MEMORY;
        else
            as_cells_widen(&panes->program, made[at], pane->cells, pane->room);
    }
    for (uint64_t at = 0; made != NULL && at < panes->count; at++) {
        as_pane *pane = panes->pane[at];
        if (status != AS_OK) {
            as_zeroed_free(made[at], (pane->room ? pane->room : 1) * words * 8);
            continue;
        }
        as_zeroed_free(pane->cells, pane->room * narrow * 8);
        if (pane->room == 0) {
            as_zeroed_free(made[at], words * 8);
            made[at] = NULL;
        }
        pane->cells = made[at];
    }
    free(made);
    panes->wide |= status == AS_OK;
    return status;
}

/* -- dropping -- */

/* Texts of a value column that no pane refers to any more are dropped if they are the larger part. */
static int drop_texts(as_panes *panes, uint32_t value) {
    as_texts *texts = &panes->texts[value];
    const uint64_t words = pane_words(panes), count = as_groups_count(panes->groups);
    uint32_t *keep = calloc(texts->count, sizeof *keep);
    if (keep == NULL)
        return AS_E_MEMORY;
    uint64_t places = 0;
    bool dropped = false;
    int status = AS_OK;
    for (int write = 0; write <= dropped && status == AS_OK; write++) {
        for (uint64_t at = 0; at < panes->count && status == AS_OK; at++) {
            as_pane *pane = panes->pane[at];
            const uint64_t cells = pane->room < count ? pane->room : count;
            for (uint32_t number = 0; number < panes->program.steps && status == AS_OK; number++) {
                const as_step *step = &panes->program.step[number];
                if (step->value != value)
                    continue;
                if (step->what == AS_DISTINCT) {
                    as_pairs *pairs = &pane->beside.pairs[step->number];
                    places += pairs->count;
                    for (uint64_t slot = 0; !write && pairs->mask && slot <= pairs->mask; slot++)
                        if (pairs->slots[slot].group)
                            keep[pairs->slots[slot].value] = 1;
                    if (write)
                        status = as_pairs_renumber(pairs, NULL, keep);
                } else if (step->what == AS_FIRST || step->what == AS_LAST) {
                    places += cells;
                    for (uint64_t group = 0; group < cells; group++) {
                        uint64_t *own = pane->cells + group * words + step->word;
                        if (own[1] == 0)
                            continue;
                        if (write)
                            own[0] = keep[own[0]];
                        else
                            keep[own[0]] = 1;
                    }
                }
            }
        }
        if (!write && status == AS_OK)
            status = as_texts_prune(texts, keep, places, &dropped);
    }
    free(keep);
    return status;
}

/* Whether every text of a value column is referred to until a pane is dropped. */
static bool keeps_texts(const as_program *program, uint32_t value) {
    bool keeps = false;
    for (uint32_t number = 0; number < program->steps; number++)
        keeps |= program->step[number].what == AS_DISTINCT && program->step[number].value == value;
    return keeps;
}

int as_panes_forget_texts(as_panes *panes) {
    int status = AS_OK;
    for (uint32_t value = 0; value < panes->program.values && status == AS_OK; value++)
        if (as_texts_grown(&panes->texts[value], AS_TEXTS_STALE) && !keeps_texts(&panes->program, value))
            status = drop_texts(panes, value);
    return status;
}

int as_panes_drop(as_panes *panes, int64_t number) {
    uint64_t kept = 0;
    for (uint64_t at = 0; at < panes->count; at++) {
        if (panes->pane[at]->number < number)
            as_pane_free(panes, panes->pane[at]);
        else
            panes->pane[kept++] = panes->pane[at];
    }
    if (kept == panes->count)
        return AS_OK;
    panes->count = kept;
    panes->last = NULL;
    panes->opened = 0;
    int status = AS_OK;
    for (uint32_t value = 0; value < panes->program.values && status == AS_OK; value++)
        if (as_texts_grown(&panes->texts[value], 0))
            status = drop_texts(panes, value);
    const uint64_t count = as_groups_count(panes->groups);
    if (status != AS_OK || count < FEW || panes->found * 4 > count)
        return status;
    uint8_t *alive = calloc(count, 1);
    if (alive == NULL)
        return AS_E_MEMORY;
    if (find_alive(panes, alive, count) * 2 < count)
        status = renumber(panes, alive);
    free(alive);
    return status;
}

/* -- marks, numbers, sizes -- */

void as_panes_mark(as_panes *panes) {
    panes->marking = true;
}

void as_panes_unmark(as_panes *panes) {
    for (uint64_t at = 0; at < panes->count; at++) {
        as_pane *pane = panes->pane[at];
        if (pane->some_marked)
            memset(pane->marked, 0, pane->room);
        pane->some_marked = false;
    }
}

int64_t as_panes_numbers(const as_panes *panes, int64_t *number) {
    int64_t count = 0;
    for (uint64_t at = 0; at < panes->count; at++) {
        if (at > 0 && panes->pane[at]->number == panes->pane[at - 1]->number)
            continue;
        if (number != NULL)
            number[count] = panes->pane[at]->number;
        count++;
    }
    return count;
}

uint32_t as_panes_words(const as_panes *panes) {
    return (uint32_t)cell_words(&panes->program, true);
}

uint64_t as_panes_bytes(const as_panes *panes) {
    const uint64_t words = pane_words(panes), count = as_groups_count(panes->groups);
    uint64_t bytes = as_groups_bytes(panes->groups);
    for (uint64_t at = 0; at < panes->count; at++) {
        const as_pane *pane = panes->pane[at];
        bytes += sizeof *pane + (pane->room < count ? pane->room : count) * words * 8 +
                 as_lists_bytes(&pane->beside.lists) + as_exacts_bytes(&pane->beside.exacts);
        for (uint32_t set = 0; set < panes->program.sets; set++)
            bytes += as_pairs_bytes(&pane->beside.pairs[set]);
    }
    for (uint32_t value = 0; value < panes->program.values; value++)
        bytes += as_texts_bytes(&panes->texts[value]);
    return bytes;
}

as_groups *as_panes_groups(as_panes *panes) {
    return panes->groups;
}

int64_t as_panes_texts(const as_panes *panes, uint32_t value, const uint64_t *number, int64_t rows, int64_t *offsets,
                       uint8_t *data) {
    return as_texts_read(&panes->texts[value], number, rows, offsets, data);
}
