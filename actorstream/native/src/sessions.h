/* The struct behind sessions.h. Private to sessions*.c. */
#ifndef ACTORSTREAM_SESSIONS_PRIVATE_H
#define ACTORSTREAM_SESSIONS_PRIVATE_H
#include "../include/sessions.h"
#include "cells.h"

enum session_state { SESSION_FREE, SESSION_OPEN, SESSION_JOINED, SESSION_DUE };

typedef struct as_session {
    int64_t start, last;
    uint32_t group;
    uint32_t next;       /* of the group, later ones first; or of those that are free; + 1 */
    uint32_t joined;     /* SESSION_JOINED: what it has become a part of, until the chunk is through */
    uint32_t rows;       /* of a window of so many rows */
    uint32_t generation; /* counts its uses, so that old entries of the heap are known */
    uint32_t state;
} as_session;

typedef struct as_alarm { /* when a session may be over */
    int64_t when;
    uint32_t session, generation;
} as_alarm;

struct as_sessions {
    as_groups *groups;
    as_program program;
    uint32_t keys, size;
    int64_t gap, lateness;
    bool timed, wide;
    double bound; /* no integer sum is larger */
    as_session *session;
    uint64_t *cells;
    uint64_t count, room, cell_room, open;
    uint32_t free;
    uint32_t *head; /* by group: its latest session + 1 */
    uint64_t *seen; /* by group: rows, where windows are numbered by them */
    uint64_t heads;
    as_alarm *alarm; /* a heap, the earliest first */
    uint64_t alarms, alarm_room;
    uint32_t *due, *left; /* sessions to be read; and those that were joined in this chunk */
    uint64_t dues, due_room, lefts, left_room;
    as_beside beside;
    as_texts texts[AS_PROGRAM_VALUES];
    as_chunk *chunk;
    uint64_t time[CHUNK];
    uint32_t of_row[CHUNK];
    uint64_t *values;
    uint64_t values_room;
};

static inline uint64_t session_words(const as_sessions *sessions) {
    return cell_words(&sessions->program, sessions->wide);
}
/* Room for one more in a growing list of `size`-byte things. AS_OK | AS_E_MEMORY. */
int as_list_room(void **list, uint64_t count, uint64_t *room, uint64_t size);
/* Sets an alarm for the end of a session. AS_OK | AS_E_MEMORY. */
int as_sessions_alarm(as_sessions *sessions, uint32_t session);
int as_sessions_renumber(as_sessions *sessions);
/* Forgets texts that no session refers to, once they are the larger part and take `bytes` at least: between batches,
   amortised O(1) a text. AS_OK | AS_E_MEMORY. */
int as_sessions_forget_texts(as_sessions *sessions, uint64_t bytes);
/* The groups of rows of key columns, into chunk->group, and room in `head` for them. AS_OK | AS_E_MEMORY. */
int as_sessions_groups_of(as_sessions *sessions, const as_operand *key, int64_t row, int64_t rows);
/* A new session in the list of its group, which goes from the latest `last` to the earliest; 0: no memory. */
uint32_t as_session_begin(as_sessions *sessions, uint32_t group, int64_t start, int64_t last);
int as_sessions_widen(as_sessions *sessions);
/* Makes the session that takes late rows. AS_OK | AS_E_MEMORY. */
int as_sessions_ready(as_sessions *sessions);
void as_session_free(as_sessions *sessions, uint32_t session);
#endif
