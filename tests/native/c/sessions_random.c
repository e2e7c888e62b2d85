/*
 * Sessions and windows of so many rows against their definition, one row after the other, with late rows and with states
 * that are read and put back. Usage: sessions_random SEED ROUNDS
 */
#include "aggregate_restored.h"
#include "sessions.h"

enum { BATCHES = 6, MOST = 8192 };

typedef struct model { /* one session */
    uint32_t key;
    int64_t start, last;
    const given **rows;
    int64_t count;
} model;

static as_program program;
static uint32_t keys, how[KEYS], size;
static bool nullable[KEYS], timed;
static int64_t gap, lateness;
static given rows[MOST];
static int64_t row_count;
static model session[MOST], full[MOST];
static int64_t sessions_open, sessions_full;
static int64_t seen[MOST];

static int64_t distinct_of(void *from, uint32_t step, uint32_t which, const uint64_t *cell) {
    (void)cell;
    int64_t found;
    CHECK(as_sessions_distinct(from, step, &which, 1, &found) == AS_OK);
    return found;
}

static double quantile_of(void *from, uint32_t step, double q, uint32_t which) {
    double found;
    CHECK(as_sessions_quantile(from, step, q, &which, 1, &found) == AS_OK);
    return found;
}

static double sum_of(void *from, uint32_t step, uint32_t which) {
    double found;
    as_sessions_sums(from, step, &which, 1, &found);
    return found;
}

static int64_t text_of(void *from, uint32_t value, uint64_t number, int64_t *offsets, uint8_t *data) {
    return as_sessions_texts(from, value, &number, 1, offsets, data);
}

static int64_t words_of(void *from, uint32_t step, uint32_t which, int64_t *offsets, uint64_t *word) {
    return as_sessions_lists(from, step, &which, 1, offsets, word);
}

static as_sessions *fresh(void) {
    const uint32_t null[KEYS] = {nullable[0], nullable[1]};
    as_groups *groups = as_groups_create(keys, how, null);
    as_sessions *sessions = as_sessions_create(groups, keys, &program, gap, lateness, size, timed);
    CHECK(sessions != NULL);
    return sessions;
}

/* -- the model */

static void take_row(model *to, const given *row, int64_t time) {
    if ((to->count & (to->count - 1)) == 0) /* room for a power of two */
        to->rows = realloc(to->rows, (size_t)(to->count ? 2 * to->count : 1) * sizeof *to->rows);
    to->rows[to->count++] = row;
    to->start = time < to->start ? time : to->start;
    to->last = time > to->last ? time : to->last;
}

static void take_out(int64_t at) {
    session[at] = session[--sessions_open];
}

/* Whether the row was late. */
static bool model_session(const given *row, int64_t watermark) {
    const int64_t over = watermark == INT64_MIN ? INT64_MIN : watermark - lateness;
    int64_t found = -1;
    for (int64_t at = 0; at < sessions_open;) {
        model *own = &session[at];
        const bool mine = own->key == row->key && row->time >= own->start - gap && row->time <= own->last + gap &&
                          own->last + gap >= over;
        if (!mine || found < 0) {
            found = mine ? at : found;
            at++;
            continue;
        }
        for (int64_t i = 0; i < own->count; i++)
            take_row(&session[found], own->rows[i], own->rows[i]->time);
        free(own->rows);
        take_out(at);
    }
    if (found < 0 && row->time + gap < over)
        return true;
    if (found < 0) {
        found = sessions_open++;
        session[found] = (model){row->key, row->time, row->time, NULL, 0};
    }
    take_row(&session[found], row, row->time);
    return false;
}

static void model_count(const given *row) {
    int64_t at = 0, time = row->time;
    while (at < sessions_open && session[at].key != row->key)
        at++;
    if (at < sessions_open && gap >= 0 && time > session[at].last + gap) {
        full[sessions_full++] = session[at];
        take_out(at);
        at = sessions_open;
    }
    if (!timed)
        time = seen[row->key]++;
    if (at == sessions_open)
        session[sessions_open++] = (model){row->key, time, time, NULL, 0};
    take_row(&session[at], row, time);
    if (session[at].count == size) {
        full[sessions_full++] = session[at];
        take_out(at);
    }
}

/* Moves what is over to `full`. */
static void model_due(int64_t bound) {
    for (int64_t at = 0; at < sessions_open;) {
        if (bound != INT64_MAX && (gap < 0 || session[at].last + gap >= bound)) {
            at++;
            continue;
        }
        full[sessions_full++] = session[at];
        take_out(at);
    }
}

/* -- both */

static void add(as_sessions *sessions, const batch *made, int64_t frontier) {
    int64_t *marks = below(2) ? malloc((size_t)made->rows * sizeof *marks + 1) : NULL;
    for (int64_t i = 0; i < made->rows && marks != NULL; i++)
        marks[i] = below(3) ? frontier + (int64_t)below(30) : INT64_MIN;
    uint8_t *late = malloc((size_t)made->rows + 1);
    int64_t found = 0;
    const int64_t said = as_sessions_add(sessions, made->operands, made->rows, marks, frontier, late);
    for (int64_t i = 0; i < made->rows; i++) {
        given *row = &rows[row_count++];
        CHECK(row_count <= MOST);
        *row = (given){made->values, i, timed ? made->times[i] : 0, 0, 0, key_of_row(made, keys, i)};
        bool was = false;
        if (size)
            model_count(row);
        else
            was = model_session(row, marks ? marks[i] : frontier);
        CHECK(was == late[i]);
        found += was;
    }
    CHECK(said == found);
    free(marks);
    free(late);
}

static void agree(as_sessions *sessions, int64_t bound) {
    const int64_t due = as_sessions_due(sessions, bound);
    model_due(bound);
    CHECK(due == sessions_full);
    const uint32_t words = as_sessions_words(sessions);
    uint32_t *group = malloc((size_t)due * sizeof *group + 1);
    int64_t *start = malloc((size_t)due * 8 + 1), *last = malloc((size_t)due * 8 + 1);
    uint64_t *cell = malloc(words * 8);
    as_sessions_bounds(sessions, group, start, last);
    for (uint32_t at = 0; at < due; at++) {
        const uint32_t key = key_of_group(as_sessions_groups(sessions), how, keys, group[at]);
        as_sessions_cells(sessions, &at, 1, cell);
        int64_t own =
            0; /* of the same bounds any will do, if it says the same; windows of so many rows may have them */
        while (own < sessions_full && !(full[own].key == key && full[own].start == start[at] &&
                                        full[own].last == last[at] && (uint64_t)full[own].count == cell[0]))
            own++;
        CHECK(own < sessions_full);
        const cell_reader reader = {sessions, at, distinct_of, quantile_of, sum_of, text_of, words_of};
        bool only = true;
        for (int64_t other = own + 1; other < sessions_full && only; other++)
            only = full[other].key != key || full[other].start != start[at] || full[other].last != last[at];
        if (only || !timed)
            check_cell(&program, cell, &reader, full[own].rows, full[own].count);
        free(full[own].rows);
        for (int64_t next = own + 1; next < sessions_full; next++)
            full[next - 1] = full[next];
        sessions_full--;
    }
    CHECK(as_sessions_release(sessions) == AS_OK);
    CHECK(as_sessions_open(sessions) == (uint64_t)sessions_open);
    free(group);
    free(start);
    free(last);
    free(cell);
}

/* -- putting back */

static int64_t texts_of(const void *from, uint32_t value, const uint64_t *number, int64_t count, int64_t *offsets,
                        uint8_t *data) {
    return as_sessions_texts(from, value, number, count, offsets, data);
}

static void copy_texts(as_sessions *from, as_sessions *to) {
    for (uint32_t value = 0; value < VALUES; value++) {
        if (HOW[value] != AS_HASH_BYTES)
            continue;
        column texts = text_column(from, texts_of, value, as_sessions_text_count(from, value));
        CHECK(as_sessions_put_texts(to, value, &texts.operand, texts.rows) == AS_OK);
        release(&texts);
    }
}

static void keys_of(as_sessions *from, const uint32_t *group, int64_t count, column *own, as_operand *operands) {
    for (uint32_t key = 0; key < keys; key++) {
        own[key] = key_column(as_sessions_groups(from), how[key], nullable[key], key, group, count);
        operands[key] = own[key].operand;
    }
}

static void copy_seen(as_sessions *from, as_sessions *to) {
    const int64_t groups = as_sessions_seen(from, NULL);
    uint64_t *have = malloc((size_t)groups * 8 + 1);
    uint32_t *group = malloc((size_t)groups * sizeof *group + 1);
    as_sessions_seen(from, have);
    int64_t kept = 0;
    for (int64_t i = 0; i < groups; i++) {
        if (have[i] == 0)
            continue;
        have[kept] = have[i];
        group[kept++] = (uint32_t)i;
    }
    column own[KEYS];
    as_operand operands[KEYS];
    keys_of(from, group, kept, own, operands);
    CHECK(as_sessions_put_seen(to, operands, kept, have) == AS_OK);
    for (uint32_t key = 0; key < keys; key++)
        release(&own[key]);
    free(have);
    free(group);
}

static as_sessions *copied(as_sessions *from) {
    as_sessions *to = fresh();
    const uint32_t words = as_sessions_words(from);
    copy_texts(from, to);
    copy_seen(from, to);
    const int64_t count = as_sessions_peek(from);
    CHECK(count == sessions_open);
    uint32_t *group = malloc((size_t)count * sizeof *group + 1), *which = malloc((size_t)count * sizeof *which + 1);
    uint32_t *now = malloc((size_t)count * sizeof *now + 1);
    int64_t *start = malloc((size_t)count * 8 + 1), *last = malloc((size_t)count * 8 + 1);
    uint64_t *cell = malloc((size_t)count * words * 8 + 1);
    for (int64_t i = 0; i < count; i++)
        which[i] = (uint32_t)i;
    as_sessions_bounds(from, group, start, last);
    as_sessions_cells(from, which, count, cell);
    column own[KEYS];
    as_operand operands[KEYS];
    keys_of(from, group, count, own, operands);
    uint64_t *whole = malloc((size_t)count * words * 8 + 1);
    memcpy(whole, cell, (size_t)count * words * 8);
    if (take_apart(&program, cell, words, count)) {
        as_sessions *other = fresh();
        CHECK(as_sessions_put(other, operands, count, start, last, whole, now) == AS_E_ARGUMENT);
        as_sessions_destroy(other);
    }
    free(whole);
    CHECK(as_sessions_put(to, operands, count, start, last, cell, now) == AS_OK);
    for (uint32_t step = 0; step < program.steps; step++) {
        const uint32_t what = program.step[step].what;
        if (what != AS_DISTINCT && what != AS_VALUES && what != AS_ROWS && what != AS_FLOATS)
            continue;
        int64_t *offsets = malloc((size_t)(count + 1) * 8);
        const bool sums = what == AS_FLOATS;
        const int64_t values = (sums ? as_sessions_parts : as_sessions_lists)(from, step, which, count, offsets, NULL);
        uint64_t *value = malloc((size_t)values * 8 + 1);
        CHECK((sums ? as_sessions_parts : as_sessions_lists)(from, step, which, count, offsets, value) == values);
        CHECK((sums ? as_sessions_put_parts : as_sessions_put_lists)(to, step, now, count, offsets, value) == AS_OK);
        free(offsets);
        free(value);
    }
    as_sessions_forget(from);
    for (uint32_t key = 0; key < keys; key++)
        release(&own[key]);
    free(group);
    free(which);
    free(now);
    free(start);
    free(last);
    free(cell);
    as_sessions_destroy(from);
    return to;
}

static void round_of(void) {
    static const uint32_t sizes[] = {0, 0, 0, 1, 3, 50};
    size = sizes[below(6)];
    timed = size == 0 || below(2);
    gap = size && (!timed || below(2)) ? -1 : (int64_t)below(15);
    lateness = size ? 0 : below(2) ? (int64_t)below(12) : 0;
    program = random_program(timed);
    keys = (uint32_t)below(KEYS + 1);
    for (uint32_t key = 0; key < KEYS; key++) {
        how[key] = below(3) ? AS_HASH_SIGNED : AS_HASH_BYTES;
        nullable[key] = below(3) == 0;
    }
    known_keys = 0;
    row_count = sessions_open = sessions_full = 0;
    memset(seen, 0, sizeof seen);
    as_sessions *sessions = fresh();
    batch made[BATCHES];
    const int batches = 1 + (int)below(BATCHES);
    const uint64_t spread = 1 + below(below(3) ? 10 : 60);
    const bool large = below(4) == 0;
    int64_t frontier = 0;
    for (int number = 0; number < batches; number++) {
        const int64_t count = (int64_t)below(below(5) ? 120 : 1300), low = frontier > 20 ? frontier - 20 : 0;
        made[number] = random_batch(&program, how, nullable, keys, count, low, frontier + 60, spread, large);
        add(sessions, &made[number], frontier);
        frontier += (int64_t)below(50);
        agree(sessions, frontier - lateness);
        if (below(3) == 0)
            sessions = copied(sessions);
        CHECK(as_sessions_bytes(sessions) > 0);
    }
    agree(sessions, INT64_MAX);
    CHECK(sessions_open == 0);
    as_sessions_destroy(sessions);
    for (int number = 0; number < batches; number++)
        release_batch(&made[number], keys);
}

int main(int count, char **arguments) {
    return run_rounds(count, arguments, round_of);
}
