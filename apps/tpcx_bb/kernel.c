/*
 * The stateful operators of the TPCx-BB queries over whole columns, without the interpreter's lock. One state belongs to
 * one operator; calls on one state must not overlap, calls on different states may. Nothing here waits or does I/O.
 *
 * Every call answers the number of rows that come out, or -1 without memory; they lie in the state until its next call:
 * `rows` says which row of the input each descends from, `columns` are its values.
 */
#include <stdint.h>

/* cdef */
typedef struct bb_state bb_state;
/* keys: words of a key. values: words kept beside each. parameters: up to 3, as the calls below say. NULL: no memory. */
bb_state *bb_new(int32_t keys, int32_t values, const int64_t *parameters);
void bb_free(bb_state *state);
const uint32_t *bb_rows(const bb_state *state);
const int64_t *bb_column(const bb_state *state, int32_t column);
/* Distinct items of a ticket two by two, the smaller first. keys 1, values 2; parameter 0: the horizon. */
int64_t bb_tickets(bb_state *state, int64_t rows, const int64_t *time, const int64_t *ticket, const int64_t *item);
/* How often each key has come; rows that came more often than parameter 0. Parameter 1: a word of the key (-1: none) at
   whose change all is forgotten. values 1. */
int64_t bb_counts(bb_state *state, int64_t rows, const int64_t *const *key);
/* Keeps the last value of each key. values 1. */
int64_t bb_note(bb_state *state, int64_t rows, const int64_t *const *key, const int64_t *value);
/* Adds up values by key, one after the other. values 1: the bits of the sum. */
int64_t bb_sums(bb_state *state, int64_t rows, const int64_t *const *key, const double *value);
/* All keys and their first values, in the order in which they came; bb_clear forgets them. */
int64_t bb_read(bb_state *state);
void bb_clear(bb_state *state);
/* Sessions that are over: user, end of its items in the last column, which holds the items of all of them one after the
   other. keys 1, values 3; parameter 0: the gap. bb_sessions_end: those that are still open, in order of their users. */
int64_t bb_sessions(bb_state *state, int64_t rows, const int64_t *time, const int64_t *user, const int64_t *item);
int64_t bb_sessions_end(bb_state *state);
/* Items of a session two by two; parameter 0: only with this one, which comes second (-1: all, the smaller first).
   offsets: of bytes, rows + 1. */
int64_t bb_session_pairs(bb_state *state, int64_t rows, const int32_t *offsets, const uint8_t *items);
/* Sessions that are over: user, pages, numbers of the last dynamic and order page. keys 1, values 4; parameter 0: the gap. */
int64_t bb_visits(bb_state *state, int64_t rows, const int64_t *time, const int64_t *user, const uint8_t *dynamic,
                  const uint8_t *order);
int64_t bb_visits_end(bb_state *state);
/* Items before a purchase. values 3 + 2 * views; parameters: item, views, within. sale: -1 for none. */
int64_t bb_last_viewed(bb_state *state, int64_t rows, const int64_t *time, const int64_t *user, const int64_t *item,
                       const int64_t *sale);
int64_t bb_last_viewed_end(bb_state *state);
/* A call of one of the above as a job of a pool (actorstream's native/include/pool.h): on a thread of its own, while nobody
   else touches the state. A call by key takes its first `keys` columns as the key, of as many words as the state has. */
enum { BB_TICKETS, BB_COUNTS, BB_NOTE, BB_SESSIONS, BB_VISITS, BB_LAST_VIEWED, BB_SUMS };
typedef struct bb_work {
    bb_state *state;
    int32_t call;
    int64_t rows;
    const void *columns[4];
    int64_t came; /* what the call has answered */
} bb_work;
int32_t bb_job(void *work); /* 0 */
/* The state as words, for another one made with the same arguments. bb_load: 0, or -1 without memory. */
int64_t bb_save(bb_state *state);
int bb_load(bb_state *state, int64_t words, const int64_t *saved);
/* end */

#include "state.h"

bb_state *bb_new(int32_t keys, int32_t values, const int64_t *parameters) {
    bb_state *state = calloc(1, sizeof(bb_state));
    if (state) {
        state->keys = keys;
        state->values = values;
        memcpy(state->parameters, parameters, sizeof(state->parameters));
    }
    return state;
}

void bb_free(bb_state *state) {
    free(state->now.entries.data);
    free(state->now.slot);
    free(state->before.entries.data);
    free(state->before.slot);
    free(state->nodes.data);
    free(state->rows);
    for (int i = 0; i < COLUMNS; i++)
        free(state->out[i].data);
    free(state);
}

const uint32_t *bb_rows(const bb_state *state) {
    return state->rows;
}

const int64_t *bb_column(const bb_state *state, int32_t column) {
    return state->out[column].data;
}

/* Values of a ticket: time of its first row, list of its items. */

static int ticket_row(bb_state *state, int64_t row, int64_t time, int64_t ticket, int64_t item) {
    int64_t horizon = state->parameters[0];
    int fresh = 0;
    if (horizon >= 0 && time - state->begun > horizon) {
        /* what is in `before` began before `begun`: over now */
        for (int64_t i = 0; i < state->before.count; i++)
            free_list(state, entry(state, &state->before, i)[2]);
        forget(&state->before);
        table old = state->before;
        state->before = state->now;
        state->now = old;
        state->begun = time;
    }
    int64_t *known = find(state, &state->now, &ticket);
    if (!known) {
        known = find(state, &state->before, &ticket);
        if (known && horizon >= 0 && time - known[0] > horizon)
            known = NULL;
    }
    if (!known && !(known = add(state, &state->now, &ticket, &fresh)))
        return -1;
    if (fresh || (horizon >= 0 && time - known[0] > horizon)) {
        free_list(state, known[1]);
        known[0] = time;
        known[1] = 0;
    }
    for (int64_t list = known[1]; list; list = node(state, list)[2])
        if (node(state, list)[0] == item)
            return 0;
    for (int64_t list = known[1]; list; list = node(state, list)[2]) {
        int64_t other = node(state, list)[0];
        int64_t pair[2] = {item < other ? item : other, item < other ? other : item};
        if (answer(state, row, 2, pair))
            return -1;
    }
    int64_t made = new_node(state, item, 0, known[1]);
    if (made < 0)
        return -1;
    known[1] = made;
    return 0;
}

int64_t bb_tickets(bb_state *state, int64_t rows, const int64_t *time, const int64_t *ticket, const int64_t *item) {
    begin(state);
    for (int64_t row = 0; row < rows; row++)
        if (ticket_row(state, row, time[row], ticket[row], item[row]))
            return -1;
    return state->out_rows;
}

static void key_of(const bb_state *state, int64_t row, const int64_t *const *key, int64_t *of_row) {
    for (int32_t i = 0; i < state->keys; i++)
        of_row[i] = key[i][row];
}

int64_t bb_counts(bb_state *state, int64_t rows, const int64_t *const *key) {
    int64_t least = state->parameters[0], per = state->parameters[1], of_row[COLUMNS];
    int fresh;
    begin(state);
    for (int64_t row = 0; row < rows; row++) {
        key_of(state, row, key, of_row);
        if (per >= 0 && of_row[per] != state->current) {
            forget(&state->now);
            state->current = of_row[per];
        }
        int64_t *count = add(state, &state->now, of_row, &fresh);
        if (!count || (++*count > least && answer(state, row, 1, count)))
            return -1;
    }
    return state->out_rows;
}

int64_t bb_note(bb_state *state, int64_t rows, const int64_t *const *key, const int64_t *value) {
    int64_t of_row[COLUMNS];
    int fresh;
    begin(state);
    for (int64_t row = 0; row < rows; row++) {
        key_of(state, row, key, of_row);
        int64_t *kept = add(state, &state->now, of_row, &fresh);
        if (!kept)
            return -1;
        *kept = value[row];
    }
    return 0;
}

int64_t bb_sums(bb_state *state, int64_t rows, const int64_t *const *key, const double *value) {
    int64_t of_row[COLUMNS];
    int fresh;
    begin(state);
    for (int64_t row = 0; row < rows; row++) {
        key_of(state, row, key, of_row);
        int64_t *kept = add(state, &state->now, of_row, &fresh);
        double sum;
        if (!kept)
            return -1;
        memcpy(&sum, kept, sizeof(sum));
        sum += value[row];
        memcpy(kept, &sum, sizeof(sum));
    }
    return 0;
}

int64_t bb_read(bb_state *state) {
    begin(state);
    for (int64_t number = 0; number < state->now.count; number++)
        if (answer(state, number, state->keys + 1, entry(state, &state->now, number)))
            return -1;
    return state->out_rows;
}

void bb_clear(bb_state *state) {
    forget(&state->now);
}

/* Values of a user: time of the last click, list of items, its last node. */

static int session_over(bb_state *state, int64_t row, int64_t user, const int64_t *session) {
    for (int64_t list = session[1]; list; list = node(state, list)[2])
        if (append(&state->out[2], node(state, list)[0]))
            return -1;
    int64_t values[2] = {user, state->out[2].size};
    return answer(state, row, 2, values);
}

static int session_row(bb_state *state, int64_t row, int64_t time, int64_t user, int64_t item) {
    int fresh;
    int64_t *session = add(state, &state->now, &user, &fresh);
    if (!session)
        return -1;
    if (!fresh && time - session[0] > state->parameters[0]) {
        if (session_over(state, row, user, session))
            return -1;
        free_list(state, session[1]);
        session[1] = 0;
    }
    session[0] = time;
    for (int64_t list = session[1]; list; list = node(state, list)[2])
        if (node(state, list)[0] == item)
            return 0;
    int64_t made = new_node(state, item, 0, 0);
    if (made < 0)
        return -1;
    if (session[1])
        node(state, session[2])[2] = made;
    else
        session[1] = made;
    session[2] = made;
    return 0;
}

int64_t bb_sessions(bb_state *state, int64_t rows, const int64_t *time, const int64_t *user, const int64_t *item) {
    begin(state);
    for (int64_t row = 0; row < rows; row++)
        if (session_row(state, row, time[row], user[row], item[row]))
            return -1;
    return state->out_rows;
}

static int session_at_end(bb_state *state, int64_t row, int64_t user, int64_t *session) {
    return session_over(state, row, user, session);
}

int64_t bb_sessions_end(bb_state *state) {
    return at_end(state, session_at_end);
}

int64_t bb_session_pairs(bb_state *state, int64_t rows, const int32_t *offsets, const uint8_t *items) {
    int64_t wanted = state->parameters[0];
    begin(state);
    for (int64_t row = 0; row < rows; row++) {
        int64_t count = (offsets[row + 1] - offsets[row]) / (int64_t)sizeof(int64_t);
        state->nodes.size = 0;
        if (reserve(&state->nodes, count + 1))
            return -1;
        int64_t *of_row = state->nodes.data, has = 0;
        memcpy(of_row, items + offsets[row], (size_t)count * sizeof(int64_t));
        for (int64_t i = 0; i < count; i++)
            has |= of_row[i] == wanted;
        if (wanted >= 0 && !has)
            continue;
        for (int64_t i = 0; i < count; i++) {
            int64_t one[2] = {of_row[i], wanted};
            if (wanted >= 0 && one[0] != wanted && answer(state, row, 2, one))
                return -1;
            for (int64_t j = i + 1; wanted < 0 && j < count; j++) {
                int less = of_row[i] < of_row[j];
                int64_t pair[2] = {of_row[less ? i : j], of_row[less ? j : i]};
                if (answer(state, row, 2, pair))
                    return -1;
            }
        }
    }
    return state->out_rows;
}

/* Values of a user: time of the last click, then what comes out. */

static int visit_over(bb_state *state, int64_t row, int64_t user, int64_t *visit) {
    int64_t values[4] = {user, visit[1], visit[2], visit[3]};
    return answer(state, row, 4, values);
}

int64_t bb_visits(bb_state *state, int64_t rows, const int64_t *time, const int64_t *user, const uint8_t *dynamic,
                  const uint8_t *order) {
    int fresh;
    begin(state);
    for (int64_t row = 0; row < rows; row++) {
        int64_t *visit = add(state, &state->now, &user[row], &fresh);
        if (!visit)
            return -1;
        if (!fresh && time[row] - visit[0] > state->parameters[0]) {
            if (visit_over(state, row, user[row], visit))
                return -1;
            visit[1] = visit[2] = visit[3] = 0;
        }
        visit[0] = time[row];
        visit[1]++;
        if (dynamic[row])
            visit[2] = visit[1];
        if (order[row])
            visit[3] = visit[1];
    }
    return state->out_rows;
}

int64_t bb_visits_end(bb_state *state) {
    return at_end(state, visit_over);
}

/* Values of a user: list of (sale, item) of the second that is not over, in this order; its time; how many rows came
   before; (time, item) of the last ones, as a ring. */

static int second_over(bb_state *state, int64_t row, int64_t user, int64_t *clicks) {
    int64_t item = state->parameters[0], views = state->parameters[1], earliest = clicks[1] - state->parameters[2];
    (void)user;
    for (int64_t list = clicks[0]; list; list = node(state, list)[2]) {
        const int64_t *click = node(state, list);
        if (click[0] >= 0 && click[1] == item)
            for (int64_t at = clicks[2] > views ? clicks[2] - views : 0; at < clicks[2]; at++) {
                const int64_t *viewed = clicks + 3 + at % views * 2;
                if (viewed[0] >= earliest && answer(state, row, 1, viewed + 1))
                    return -1;
            }
        int64_t *last = clicks + 3 + clicks[2]++ % views * 2;
        last[0] = clicks[1];
        last[1] = click[1];
    }
    free_list(state, clicks[0]);
    clicks[0] = 0;
    return 0;
}

int64_t bb_last_viewed(bb_state *state, int64_t rows, const int64_t *time, const int64_t *user, const int64_t *item,
                       const int64_t *sale) {
    int fresh;
    begin(state);
    for (int64_t row = 0; row < rows; row++) {
        int64_t *clicks = add(state, &state->now, &user[row], &fresh), before = 0;
        if (!clicks || (!fresh && clicks[1] != time[row] && second_over(state, row, user[row], clicks)))
            return -1;
        clicks[1] = time[row];
        for (int64_t list = clicks[0]; list; list = node(state, list)[2]) {
            const int64_t *click = node(state, list);
            if (click[0] > sale[row] || (click[0] == sale[row] && click[1] > item[row]))
                break;
            before = list;
        }
        int64_t made = new_node(state, sale[row], item[row], before ? node(state, before)[2] : clicks[0]);
        if (made < 0)
            return -1;
        if (before)
            node(state, before)[2] = made;
        else
            clicks[0] = made;
    }
    return state->out_rows;
}

int64_t bb_last_viewed_end(bb_state *state) {
    return at_end(state, second_over);
}

static int64_t called(const bb_work *work) {
    bb_state *state = work->state;
    const int64_t *const *key = (const int64_t *const *)work->columns;
    switch (work->call) {
    case BB_TICKETS: return bb_tickets(state, work->rows, key[0], key[1], key[2]);
    case BB_COUNTS: return bb_counts(state, work->rows, key);
    case BB_NOTE: return bb_note(state, work->rows, key, key[state->keys]);
    case BB_SESSIONS: return bb_sessions(state, work->rows, key[0], key[1], key[2]);
    case BB_VISITS: return bb_visits(state, work->rows, key[0], key[1], work->columns[2], work->columns[3]);
    case BB_SUMS: return bb_sums(state, work->rows, key, work->columns[state->keys]);
    default: return bb_last_viewed(state, work->rows, key[0], key[1], key[2], key[3]);
    }
}

int32_t bb_job(void *context) {
    bb_work *work = context;
    work->came = called(work);
    return 0;
}
