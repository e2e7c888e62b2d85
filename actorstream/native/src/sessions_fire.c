/* Sessions that are over: taking them out, reading and forgetting them. See sessions.h. */
#include <stdlib.h>
#include <string.h>
#include "quantile.h"
#include "sessions.h"
#include "zeroed.h"

#define FEW 1024 /* groups that are never worth looking through */

void as_sessions_destroy(as_sessions *sessions) {
    if (sessions == NULL)
        return;
    as_groups_destroy(sessions->groups);
    as_zeroed_free(sessions->session, sessions->room * sizeof *sessions->session);
    as_zeroed_free(sessions->cells, sessions->cell_room * session_words(sessions) * 8);
    as_zeroed_free(sessions->head, sessions->heads * sizeof *sessions->head);
    as_zeroed_free(sessions->seen, sessions->seen ? sessions->heads * sizeof *sessions->seen : 0);
    as_zeroed_free(sessions->alarm, sessions->alarm_room * sizeof *sessions->alarm);
    as_zeroed_free(sessions->due, sessions->due_room * sizeof *sessions->due);
    as_zeroed_free(sessions->left, sessions->left_room * sizeof *sessions->left);
    as_lists_clear(&sessions->beside.lists);
    as_exacts_clear(&sessions->beside.exacts);
    for (uint32_t value = 0; value < sessions->program.values; value++)
        as_texts_clear(&sessions->texts[value]);
    free(sessions->chunk->spare);
    free(sessions->chunk);
    free(sessions->values);
    free(sessions);
}

/* -- what is over -- */

static as_alarm earliest(as_sessions *sessions) {
    const as_alarm first = sessions->alarm[0], last = sessions->alarm[--sessions->alarms];
    uint64_t at = 0;
    for (;;) {
        uint64_t below = 2 * at + 1;
        if (below >= sessions->alarms)
            break;
        below += below + 1 < sessions->alarms && sessions->alarm[below + 1].when < sessions->alarm[below].when;
        if (sessions->alarm[below].when >= last.when)
            break;
        sessions->alarm[at] = sessions->alarm[below];
        at = below;
    }
    sessions->alarm[at] = last;
    return first;
}

static void unlink_session(as_sessions *sessions, uint32_t number) {
    const as_session *session = &sessions->session[number];
    uint32_t *link = &sessions->head[session->group];
    while (*link && *link - 1 != number)
        link = &sessions->session[*link - 1].next;
    if (*link)
        *link = session->next;
}

static int make_due(as_sessions *sessions, uint32_t number) {
    const int status =
        as_list_room((void **)&sessions->due, sessions->dues, &sessions->due_room, sizeof *sessions->due);
    if (status != AS_OK)
        return status;
    unlink_session(sessions, number);
    sessions->session[number].state = SESSION_DUE;
    sessions->due[sessions->dues++] = number;
    sessions->open--;
    return AS_OK;
}

int64_t as_sessions_due(as_sessions *sessions, int64_t bound) {
    int status = AS_OK;
    while (status == AS_OK && sessions->alarms && sessions->alarm[0].when < bound) {
        const as_alarm alarm = earliest(sessions);
        const as_session *session = &sessions->session[alarm.session];
        if (session->generation != alarm.generation || session->state != SESSION_OPEN)
            continue;
        if (session->last + sessions->gap < bound)
            status = make_due(sessions, alarm.session);
        else
            status = as_sessions_alarm(sessions, alarm.session);
    }
    for (uint64_t number = 1; status == AS_OK && bound == INT64_MAX && number < sessions->count; number++)
        if (sessions->session[number].state == SESSION_OPEN)
            status = make_due(sessions, (uint32_t)number);
    return status == AS_OK ? (int64_t)sessions->dues : status;
}

void as_sessions_bounds(const as_sessions *sessions, uint32_t *group, int64_t *start, int64_t *last) {
    for (uint64_t at = 0; at < sessions->dues; at++) {
        const as_session *session = &sessions->session[sessions->due[at]];
        group[at] = session->group;
        start[at] = session->start;
        last[at] = session->last;
    }
}

void as_sessions_cells(const as_sessions *sessions, const uint32_t *which, int64_t count, uint64_t *cell) {
    const uint64_t words = session_words(sessions), out = cell_words(&sessions->program, true);
    for (int64_t i = 0; i < count; i++, cell += out) {
        const uint64_t *own = sessions->cells + sessions->due[which[i]] * words;
        if (words == out)
            memcpy(cell, own, words * 8);
        else
            as_cells_widen(&sessions->program, memset(cell, 0, out * 8), own, 1);
    }
}

/* Reads the list of a session into `values`; answers how many, or UINT64_MAX: no memory. */
static uint64_t read_list(as_sessions *sessions, uint32_t step, uint32_t which) {
    const uint64_t *list =
        sessions->cells + sessions->due[which] * session_words(sessions) + sessions->program.step[step].word;
    if (list[1] > sessions->values_room) {
        free(sessions->values);
        sessions->values_room = 0;
        sessions->values = malloc(2 * list[1] * sizeof *sessions->values);
        if (sessions->values == NULL)
            return UINT64_MAX;
        sessions->values_room = 2 * list[1];
    }
    return as_lists_read(&sessions->beside.lists, list, sessions->values);
}

int as_sessions_quantile(as_sessions *sessions, uint32_t step, double q, const uint32_t *which, int64_t count,
                         double *out) {
    const uint32_t how = sessions->program.how[sessions->program.step[step].value];
    for (int64_t i = 0; i < count; i++) {
        const uint64_t values = read_list(sessions, step, which[i]);
        if (values == UINT64_MAX)
            return AS_E_MEMORY;
        as_words_to_floats(sessions->values, values, how);
        out[i] = as_quantile((double *)sessions->values, values, q);
    }
    return AS_OK;
}

static int ascending(const void *a, const void *b) {
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

int as_sessions_distinct(as_sessions *sessions, uint32_t step, const uint32_t *which, int64_t count, int64_t *out) {
    for (int64_t i = 0; i < count; i++) {
        const uint64_t values = read_list(sessions, step, which[i]);
        if (values == UINT64_MAX)
            return AS_E_MEMORY;
        if (values > 1)
            qsort(sessions->values, values, sizeof *sessions->values, ascending);
        out[i] = values > 0;
        for (uint64_t at = 1; at < values; at++)
            out[i] += sessions->values[at] != sessions->values[at - 1];
    }
    return AS_OK;
}

/* -- forgetting -- */

int as_sessions_renumber(as_sessions *sessions) {
    const uint64_t before = as_groups_count(sessions->groups);
    uint8_t *alive = calloc(before + 1, 1);
    uint32_t *map = malloc((before + 1) * sizeof *map);
    int status = alive == NULL || map == NULL ? AS_E_MEMORY : AS_OK;
    for (uint64_t number = 1; status == AS_OK && number < sessions->count; number++)
        if (sessions->session[number].state != SESSION_FREE)
            alive[sessions->session[number].group] = 1;
    for (uint64_t group = 0; status == AS_OK && sessions->seen && group < before; group++)
        alive[group] |= sessions->seen[group] != 0;
    if (status == AS_OK)
        status = as_groups_renumber(sessions->groups, alive, map);
    const uint64_t count = as_groups_count(sessions->groups);
    uint64_t room = 64;
    while (room < count)
        room *= 2;
    uint32_t *head = status == AS_OK ? as_zeroed_grow(NULL, 0, room * sizeof *head) : NULL;
    uint64_t *seen = status == AS_OK && sessions->seen ? as_zeroed_grow(NULL, 0, room * sizeof *seen) : NULL;
    if (status == AS_OK && (head == NULL || (sessions->seen && seen == NULL))) {
        as_zeroed_free(head, room * sizeof *head);
        status = AS_E_MEMORY;
    }
    if (status == AS_OK) {
        for (uint64_t group = 0; group < before && group < sessions->heads; group++) {
            if (map[group] == UINT32_MAX)
                continue;
            head[map[group]] = sessions->head[group];
            if (seen != NULL)
                seen[map[group]] = sessions->seen[group];
        }
        for (uint64_t number = 1; number < sessions->count; number++)
            if (sessions->session[number].state != SESSION_FREE)
                sessions->session[number].group = map[sessions->session[number].group];
        as_zeroed_free(sessions->head, sessions->heads * sizeof *head);
        as_zeroed_free(sessions->seen, sessions->seen ? sessions->heads * sizeof *seen : 0);
        sessions->head = head;
        sessions->seen = seen;
        sessions->heads = room;
    }
    free(alive);
    free(map);
    return status;
}

/* Texts of a value column that no session refers to any more are dropped if they are the larger part. */
static int drop_texts(as_sessions *sessions, uint32_t value) {
    as_texts *texts = &sessions->texts[value];
    const uint64_t words = session_words(sessions);
    uint32_t *keep = calloc(texts->count, sizeof *keep);
    uint64_t places = 0;
    bool dropped = false;
    int status = keep == NULL ? AS_E_MEMORY : AS_OK;
    for (int write = 0; write <= dropped && status == AS_OK; write++) {
        for (uint32_t number = 0; number < sessions->program.steps; number++) {
            const as_step *step = &sessions->program.step[number];
            if (step->value != value || step->what == AS_COUNT)
                continue;
            places += sessions->count;
            for (uint64_t session = 1; session < sessions->count; session++) {
                uint64_t *own = sessions->cells + session * words + step->word;
                if (own[1] == 0 || sessions->session[session].state == SESSION_FREE)
                    continue;
                if (step->what != AS_DISTINCT) {
                    keep[own[0]] = write ? keep[own[0]] : 1;
                    own[0] = write ? keep[own[0]] : own[0];
                    continue;
                }
                uint64_t chunk = 0, count;
                places += own[1];
                for (uint64_t *at; (at = as_lists_next(&sessions->beside.lists, own, &chunk, &count)) != NULL;)
                    for (uint64_t i = 0; i < count; i++) {
                        keep[at[i]] = write ? keep[at[i]] : 1;
                        at[i] = write ? keep[at[i]] : at[i];
                    }
            }
        }
        if (!write)
            status = as_texts_prune(texts, keep, places, &dropped);
    }
    free(keep);
    return status;
}

int as_sessions_forget_texts(as_sessions *sessions, uint64_t bytes) {
    int status = AS_OK;
    for (uint32_t value = 0; value < sessions->program.values && status == AS_OK; value++)
        if (as_texts_grown(&sessions->texts[value], bytes))
            status = drop_texts(sessions, value);
    return status;
}

int as_sessions_release(as_sessions *sessions) {
    const bool some = sessions->dues > 0;
    for (uint64_t at = 0; at < sessions->dues; at++)
        as_session_free(sessions, sessions->due[at]);
    sessions->dues = 0;
    int status = some ? as_sessions_forget_texts(sessions, 0) : AS_OK;
    const uint64_t count = as_groups_count(sessions->groups);
    if (status == AS_OK && some && !sessions->seen && count >= FEW && sessions->open * 2 < count)
        status = as_sessions_renumber(sessions);
    return status;
}

uint32_t as_sessions_words(const as_sessions *sessions) {
    return (uint32_t)cell_words(&sessions->program, true);
}

uint64_t as_sessions_bytes(const as_sessions *sessions) {
    uint64_t bytes = as_groups_bytes(sessions->groups) + sessions->heads * 4 + sessions->alarms * sizeof(as_alarm) +
                     sessions->open * (sizeof(as_session) + session_words(sessions) * 8) +
                     as_lists_bytes(&sessions->beside.lists) + as_exacts_bytes(&sessions->beside.exacts);
    for (uint32_t value = 0; value < sessions->program.values; value++)
        bytes += as_texts_bytes(&sessions->texts[value]);
    return bytes;
}

uint64_t as_sessions_open(const as_sessions *sessions) {
    return sessions->open;
}

as_groups *as_sessions_groups(as_sessions *sessions) {
    return sessions->groups;
}

int64_t as_sessions_texts(const as_sessions *sessions, uint32_t value, const uint64_t *number, int64_t rows,
                          int64_t *offsets, uint8_t *data) {
    return as_texts_read(&sessions->texts[value], number, rows, offsets, data);
}
