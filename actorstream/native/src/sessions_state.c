/* Sessions for checkpoints: read, and put back. See sessions.h. */
#include <string.h>
#include "sessions.h"
#include "zeroed.h"

#define MOST_SUM 4611686018427387904.0 /* 2^62 */

int64_t as_sessions_peek(as_sessions *sessions) {
    sessions->dues = 0;
    for (uint64_t number = 1; number < sessions->count; number++) {
        if (sessions->session[number].state != SESSION_OPEN)
            continue;
        if (as_list_room((void **)&sessions->due, sessions->dues, &sessions->due_room, sizeof *sessions->due))
            return AS_E_MEMORY;
        sessions->due[sessions->dues++] = (uint32_t)number;
    }
    return (int64_t)sessions->dues;
}

void as_sessions_forget(as_sessions *sessions) {
    sessions->dues = 0;
}

int64_t as_sessions_lists(const as_sessions *sessions, uint32_t step, const uint32_t *which, int64_t count,
                          int64_t *offsets, uint64_t *value) {
    const uint64_t words = session_words(sessions);
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint64_t *list = sessions->cells + sessions->due[which[i]] * words + sessions->program.step[step].word;
        if (value != NULL)
            as_lists_read(&sessions->beside.lists, list, value + at);
        at += (int64_t)list[1];
        offsets[i + 1] = at;
    }
    return at;
}

int64_t as_sessions_seen(const as_sessions *sessions, uint64_t *seen) {
    const uint64_t count = as_groups_count(sessions->groups),
                   groups = count < sessions->heads ? count : sessions->heads;
    if (sessions->seen == NULL)
        return 0;
    if (seen != NULL)
        memcpy(seen, sessions->seen, groups * sizeof *seen);
    return (int64_t)groups;
}

int64_t as_sessions_text_count(const as_sessions *sessions, uint32_t value) {
    return (int64_t)sessions->texts[value].count;
}

int as_sessions_put_texts(as_sessions *sessions, uint32_t value, const as_operand *text, int64_t rows) {
    return as_texts_put(&sessions->texts[value], text, rows);
}

int as_sessions_put(as_sessions *sessions, const as_operand *key, int64_t rows, const int64_t *start,
                    const int64_t *last, const uint64_t *cell, uint32_t *number) {
    const uint64_t given = cell_words(&sessions->program, true);
    for (uint32_t k = 0; k < sessions->keys; k++)
        if (!as_operand_readable(&key[k], rows))
            return AS_E_ARGUMENT;
    int status = as_sessions_ready(sessions);
    if (status == AS_OK && sessions->program.sums && !sessions->wide)
        status = as_sessions_widen(sessions); /* how large its sums are nobody remembers */
    for (int64_t row = 0; row < rows && status == AS_OK; row += CHUNK) {
        const int64_t block = rows - row < CHUNK ? rows - row : CHUNK;
        status = as_sessions_groups_of(sessions, key, row, block);
        for (int64_t i = 0; i < block && status == AS_OK; i++) {
            const uint32_t own = as_session_begin(sessions, sessions->chunk->group[i], start[row + i], last[row + i]);
            if (own == 0)
                return AS_E_MEMORY;
            as_session *session = &sessions->session[own];
            if (sessions->gap >= 0)
                status = as_sessions_alarm(sessions, own);
            uint64_t *to = sessions->cells + own * session_words(sessions);
            memcpy(to, cell + (uint64_t)(row + i) * given, session_words(sessions) * 8);
            session->rows = (uint32_t)to[0];
            for (uint32_t step = 0; step < sessions->program.steps; step++) {
                const as_step *of = &sessions->program.step[step];
                if (step_lists(of->what))
                    to[of->word] = to[of->word + 1] = 0;
                else if (of->what == AS_FLOATS && as_exact_placed(to + of->word))
                    status = AS_E_ARGUMENT;
            }
            number[row + i] = own;
        }
    }
    return status;
}

int as_sessions_put_lists(as_sessions *sessions, uint32_t step, const uint32_t *number, int64_t rows,
                          const int64_t *offsets, const uint64_t *value) {
    const uint64_t words = session_words(sessions);
    int status = AS_OK;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t at = offsets[i]; at < offsets[i + 1] && status == AS_OK; at++)
            status =
                as_lists_append(&sessions->beside.lists,
                                sessions->cells + number[i] * words + sessions->program.step[step].word, value[at]);
    return status;
}

int as_sessions_put_seen(as_sessions *sessions, const as_operand *key, int64_t rows, const uint64_t *seen) {
    int status = AS_OK;
    for (int64_t row = 0; row < rows && status == AS_OK; row += CHUNK) {
        const int64_t block = rows - row < CHUNK ? rows - row : CHUNK;
        status = as_sessions_groups_of(sessions, key, row, block);
        for (int64_t i = 0; i < block && status == AS_OK && sessions->seen; i++)
            sessions->seen[sessions->chunk->group[i]] = seen[row + i];
    }
    return status;
}
