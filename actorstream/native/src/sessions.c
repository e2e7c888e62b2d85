/* Adding rows to sessions: see sessions.h. What is over is in sessions_fire.c. */
#include "sessions.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "zeroed.h"

#define MOST_TIME ((int64_t)1 << 62)
#define MOST_SUM 4611686018427387904.0 /* 2^62 */
#define LATE 0                         /* the session that takes late rows, and forgets them */

as_sessions *as_sessions_create(as_groups *groups, uint32_t keys, const as_program *program, int64_t gap,
                                int64_t lateness, uint32_t size, int timed) {
    as_sessions *sessions = calloc(1, sizeof *sessions);
    if (sessions == NULL)
        return NULL;
    sessions->program = *program;
    sessions->chunk = calloc(1, sizeof *sessions->chunk);
    const bool wrong = as_program_init(&sessions->program) != AS_OK || (size == 0 && (gap < 0 || !timed)) ||
                       lateness < 0 || (gap >= 0 && !timed);
    if (sessions->chunk == NULL || wrong) {
        errno = wrong ? EINVAL : ENOMEM;
        free(sessions->chunk);
        free(sessions);
        return NULL;
    }
    sessions->groups = groups;
    sessions->keys = keys;
    sessions->gap = gap;
    sessions->lateness = lateness;
    sessions->size = size;
    sessions->timed = timed;
    sessions->beside.pairs = NULL;
    return sessions;
}

int as_list_room(void **list, uint64_t count, uint64_t *room, uint64_t size) {
    if (count < *room)
        return AS_OK;
    const uint64_t more = *room ? *room * 2 : 64;
    void *made = as_zeroed_grow(*list, *room * size, more * size);
    if (made == NULL)
        return AS_E_MEMORY;
    *list = made;
    *room = more;
    return AS_OK;
}

/* -- sessions and their room -- */

static int grow(as_sessions *sessions) {
    const uint64_t words = session_words(sessions);
    int status = as_list_room((void **)&sessions->session, sessions->count, &sessions->room, sizeof *sessions->session);
    if (status == AS_OK)
        status = as_list_room((void **)&sessions->cells, sessions->count, &sessions->cell_room, words * 8);
    return sessions->count < UINT32_MAX / 2 ? status : AS_E_MEMORY;
}

int as_sessions_ready(as_sessions *sessions) {
    if (sessions->count)
        return AS_OK;
    const int status = grow(sessions);
    sessions->count = status == AS_OK;
    return status;
}

/* A new session of `group`, its number; LATE: no memory. */
static uint32_t begin_alone(as_sessions *sessions, uint32_t group, int64_t start) {
    uint32_t number = sessions->free;
    if (number) {
        sessions->free = sessions->session[--number].next;
    } else {
        if (grow(sessions) != AS_OK)
            return LATE;
        number = (uint32_t)sessions->count++;
    }
    as_session *session = &sessions->session[number];
    *session = (as_session){start, start, group, 0, 0, 0, session->generation + 1, SESSION_OPEN};
    sessions->open++;
    return number;
}

/* Puts a session into the list of its group, which goes from the latest `last` to the earliest. */
static void link_session(as_sessions *sessions, uint32_t number) {
    as_session *session = &sessions->session[number];
    uint32_t *link = &sessions->head[session->group];
    while (*link && sessions->session[*link - 1].last > session->last)
        link = &sessions->session[*link - 1].next;
    session->next = *link;
    *link = number + 1;
}

uint32_t as_session_begin(as_sessions *sessions, uint32_t group, int64_t start, int64_t last) {
    const uint32_t own = begin_alone(sessions, group, start);
    if (own != LATE) {
        sessions->session[own].last = last;
        link_session(sessions, own);
    }
    return own;
}

static void clear_cell(as_sessions *sessions, uint32_t number) {
    const uint64_t words = session_words(sessions);
    uint64_t *cell = sessions->cells + number * words;
    for (uint32_t step = 0; step < sessions->program.steps; step++) {
        const uint32_t what = sessions->program.step[step].what;
        if (step_lists(what))
            as_lists_free(&sessions->beside.lists, cell + sessions->program.step[step].word);
        else if (what == AS_FLOATS)
            as_exact_free(&sessions->beside.exacts, cell + sessions->program.step[step].word);
    }
    memset(cell, 0, words * 8);
}

void as_session_free(as_sessions *sessions, uint32_t number) {
    clear_cell(sessions, number);
    sessions->session[number].state = SESSION_FREE;
    sessions->session[number].next = sessions->free;
    sessions->free = number + 1;
}

int as_sessions_alarm(as_sessions *sessions, uint32_t number) {
    const int status =
        as_list_room((void **)&sessions->alarm, sessions->alarms, &sessions->alarm_room, sizeof(as_alarm));
    if (status != AS_OK)
        return status;
    const as_alarm own = {sessions->session[number].last + sessions->gap, number, sessions->session[number].generation};
    uint64_t at = sessions->alarms++;
    for (; at && sessions->alarm[(at - 1) / 2].when > own.when; at = (at - 1) / 2)
        sessions->alarm[at] = sessions->alarm[(at - 1) / 2];
    sessions->alarm[at] = own;
    return AS_OK;
}

/* Makes session `from` a part of `to`. Rows of this chunk that were given `from` are sent on. */
static int join(as_sessions *sessions, uint32_t to, uint32_t from) {
    const int status =
        as_list_room((void **)&sessions->left, sessions->lefts, &sessions->left_room, sizeof *sessions->left);
    if (status != AS_OK)
        return status;
    const uint64_t words = session_words(sessions);
    uint64_t *kept = sessions->cells + to * words, *gone = sessions->cells + from * words;
    const int merged =
        as_cells_merge(&sessions->program, sessions->wide, &sessions->beside, kept, &sessions->beside, gone, 1);
    if (merged != AS_OK)
        return merged;
    for (uint32_t step = 0; step < sessions->program.steps; step++) {
        const uint32_t what = sessions->program.step[step].what, word = sessions->program.step[step].word;
        if (step_lists(what) && as_lists_join(&sessions->beside.lists, kept + word, gone + word) != AS_OK)
            return AS_E_MEMORY;
    }
    as_session *target = &sessions->session[to], *source = &sessions->session[from];
    target->start = source->start < target->start ? source->start : target->start;
    target->last = source->last > target->last ? source->last : target->last;
    source->state = SESSION_JOINED;
    source->joined = to;
    sessions->left[sessions->lefts++] = from;
    sessions->open--;
    return AS_OK;
}

/* The session that a row of `group` at `time` belongs to, given its watermark, into *found; LATE: none. */
static int place(as_sessions *sessions, uint32_t group, int64_t time, int64_t watermark, uint32_t *found) {
    const int64_t gap = sessions->gap,
                  over = watermark > INT64_MIN + MOST_TIME ? watermark - sessions->lateness : INT64_MIN;
    uint32_t own = UINT32_MAX, *link = &sessions->head[group];
    int status = AS_OK;
    while (*link && status == AS_OK) {
        const uint32_t number = *link - 1;
        as_session *session = &sessions->session[number];
        if (time > session->last + gap)
            break; /* so do the earlier ones end too soon */
        if (time < session->start - gap || session->last + gap < over) {
            link = &session->next;
            continue;
        }
        *link = session->next;
        if (own == UINT32_MAX) {
            own = number;
            session->start = time < session->start ? time : session->start;
            session->last = time > session->last ? time : session->last;
        } else {
            status = join(sessions, own, number);
        }
    }
    if (own != UINT32_MAX) {
        link_session(sessions, own); /* its last row may be a later one now, also than that of a session that is over */
        *found = own;
        return status;
    }
    *found = LATE;
    if (time + gap < over)
        return AS_OK;
    own = as_session_begin(sessions, group, time, time);
    if (own == LATE || as_sessions_alarm(sessions, own) != AS_OK)
        return AS_E_MEMORY;
    *found = own;
    return AS_OK;
}

/* Puts the window of so many rows that `group` has now aside, to be read. */
static int close_window(as_sessions *sessions, uint32_t group) {
    const int status =
        as_list_room((void **)&sessions->due, sessions->dues, &sessions->due_room, sizeof *sessions->due);
    if (status != AS_OK)
        return status;
    const uint32_t own = sessions->head[group] - 1;
    sessions->session[own].state = SESSION_DUE;
    sessions->head[group] = 0;
    sessions->due[sessions->dues++] = own;
    sessions->open--;
    return AS_OK;
}

/* The window of so many rows that the next row of `group` belongs to; it is over once that makes it full, or if it has
   waited too long. */
static int count_row(as_sessions *sessions, uint32_t group, int64_t time, uint32_t *found) {
    if (sessions->head[group] && sessions->gap >= 0 &&
        time > sessions->session[sessions->head[group] - 1].last + sessions->gap) {
        const int status = close_window(sessions, group);
        if (status != AS_OK)
            return status;
    }
    if (!sessions->timed)
        time = (int64_t)sessions->seen[group]++;
    if (sessions->head[group] == 0) {
        const uint32_t begun = as_session_begin(sessions, group, time, time);
        if (begun == LATE || (sessions->gap >= 0 && as_sessions_alarm(sessions, begun) != AS_OK))
            return AS_E_MEMORY;
    }
    *found = sessions->head[group] - 1;
    as_session *session = &sessions->session[*found];
    session->start = time < session->start ? time : session->start;
    session->last = time > session->last ? time : session->last;
    return ++session->rows < sessions->size ? AS_OK : close_window(sessions, group);
}

/* -- rows -- */

int as_sessions_groups_of(as_sessions *sessions, const as_operand *key, int64_t row, int64_t rows) {
    int status = as_groups_find(sessions->groups, key, row, rows, sessions->chunk->group);
    if (status == AS_AGAIN) {
        status = as_sessions_renumber(sessions);
        if (status == AS_OK)
            status = as_groups_find(sessions->groups, key, row, rows, sessions->chunk->group);
    }
    const uint64_t count = as_groups_count(sessions->groups);
    if (status != AS_OK || count <= sessions->heads)
        return status;
    uint64_t room = sessions->heads ? sessions->heads : 64;
    while (room < count)
        room *= 2;
    if (!sessions->timed) {
        uint64_t *seen = as_zeroed_grow(sessions->seen, sessions->heads * sizeof *seen, room * sizeof *seen);
        if (seen == NULL)
            return AS_E_MEMORY;
        sessions->seen = seen;
    }
    uint32_t *head = as_zeroed_grow(sessions->head, sessions->heads * sizeof *head, room * sizeof *head);
    if (head == NULL)
        return AS_E_MEMORY;
    sessions->head = head;
    sessions->heads = room;
    return AS_OK;
}

int as_sessions_widen(as_sessions *sessions) {
    const uint64_t words = cell_words(&sessions->program, true);
    uint64_t *cells = as_zeroed_grow(NULL, 0, (sessions->cell_room ? sessions->cell_room : 1) * words * 8);
    if (cells == NULL)
        return AS_E_MEMORY;
    as_cells_widen(&sessions->program, cells, sessions->cells, sessions->count);
    as_zeroed_free(sessions->cells, sessions->cell_room * sessions->program.words * 8);
    sessions->cell_room += sessions->cell_room == 0;
    sessions->cells = cells;
    sessions->wide = true;
    return AS_OK;
}

typedef struct rows_of { /* where a batch's operands lie */
    const as_operand *time, *order, *key, *value;
} rows_of;

static int add_chunk(as_sessions *sessions, rows_of operand, int64_t row, int64_t rows, const int64_t *watermark,
                     int64_t frontier, uint8_t *late) {
    as_chunk *chunk = sessions->chunk;
    if (sessions->program.sums && !sessions->wide) {
        sessions->bound += as_cells_bound(&sessions->program, operand.value, row, rows, chunk->value);
        if (sessions->bound > MOST_SUM && as_sessions_widen(sessions) != AS_OK)
            return AS_E_MEMORY;
    }
    int status = as_sessions_groups_of(sessions, operand.key, row, rows);
    if (status == AS_OK && sessions->timed)
        as_operand_words(operand.time, row, rows, sessions->time);
    for (int64_t i = 0; i < rows && status == AS_OK; i++) {
        const int64_t time = sessions->timed ? (int64_t)sessions->time[i] : 0;
        if (sessions->size)
            status = count_row(sessions, chunk->group[i], time, &sessions->of_row[i]);
        else
            status =
                place(sessions, chunk->group[i], time, watermark ? watermark[row + i] : frontier, &sessions->of_row[i]);
        late[row + i] = sessions->of_row[i] == LATE;
    }
    if (status != AS_OK)
        return status;
    const uint64_t words = session_words(sessions);
    chunk->single = &sessions->beside;
    for (int64_t i = 0; i < rows; i++) {
        uint32_t own = sessions->of_row[i];
        while (sessions->session[own].state == SESSION_JOINED)
            own = sessions->session[own].joined;
        chunk->cell[i] = sessions->cells + own * words;
    }
    status = as_cells_add(&sessions->program, sessions->wide, operand.order, operand.value, sessions->texts, row, rows,
                          chunk);
    for (uint64_t at = 0; at < sessions->lefts; at++)
        as_session_free(sessions, sessions->left[at]);
    sessions->lefts = 0;
    if (sessions->cells[LATE * words])
        clear_cell(sessions, LATE);
    return status;
}

int64_t as_sessions_add(as_sessions *sessions, const as_operand *operand, int64_t rows, const int64_t *watermark,
                        int64_t frontier, uint8_t *late) {
    const rows_of parts = {operand, operand + 1, operand + 1 + sessions->program.columns,
                           operand + 1 + sessions->program.columns + sessions->keys};
    for (const as_operand *own = operand; own < parts.value + sessions->program.values; own++)
        if ((own != operand || sessions->timed) && !as_operand_readable(own, rows))
            return AS_E_ARGUMENT;
    if (sessions->timed && rows) {
        int64_t least = INT64_MAX, greatest = INT64_MIN;
        as_operand_bounds(parts.time, rows, true, &least, &greatest);
        if (least < 0 || greatest >= MOST_TIME)
            return AS_E_ARGUMENT;
    }
    int status = as_sessions_ready(sessions);
    if (status == AS_OK && as_groups_crowded(sessions->groups))
        status = as_sessions_renumber(sessions);
    if (status == AS_OK) /* a session that goes on refers to few of the texts that its rows have had */
        status = as_sessions_forget_texts(sessions, AS_TEXTS_STALE);
    for (int64_t row = 0; row < rows && status == AS_OK; row += CHUNK) {
        const int64_t block = rows - row < CHUNK ? rows - row : CHUNK;
        status = add_chunk(sessions, parts, row, block, watermark, frontier, late);
    }
    if (status != AS_OK)
        return status;
    int64_t found = 0;
    for (int64_t i = 0; i < rows; i++)
        found += late[i];
    return found;
}
