/*
 * The TPCx-BB kernels over random rows in random batches. Each batch goes to two states: one that is kept, and one that
 * has just loaded what its forerunner saved; both must answer the same. Counts are checked by counting.
 */
#include "kernel.c"

#include <stdio.h>

enum { MOST = 700, KEYS = 3, VIEWS = 3 };

static uint64_t seed;

static int64_t below(int64_t limit) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((seed >> 33) % (uint64_t)limit);
}

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* The columns of a batch: `time` never falls over all batches. */
static int64_t time_now, column[4][MOST];
static uint8_t flag[2][MOST];
static int64_t rows;

static void fill(int64_t keys) {
    rows = below(MOST);
    for (int64_t row = 0; row < rows; row++) {
        time_now += below(3);
        column[0][row] = time_now;
        column[1][row] = below(keys) - 1;
        column[2][row] = below(keys);
        column[3][row] = below(4) - 1;
        flag[0][row] = (uint8_t)below(2);
        flag[1][row] = (uint8_t)below(2);
    }
}

typedef int64_t (*call)(bb_state *state);

static int64_t tickets(bb_state *state) {
    return bb_tickets(state, rows, column[0], column[1], column[2]);
}
static int64_t sessions(bb_state *state) {
    return bb_sessions(state, rows, column[0], column[1], column[2]);
}
static int64_t visits(bb_state *state) {
    return bb_visits(state, rows, column[0], column[1], flag[0], flag[1]);
}
static int64_t viewed(bb_state *state) {
    return bb_last_viewed(state, rows, column[0], column[1], column[2], column[3]);
}
static int64_t counts(bb_state *state) {
    const int64_t *key[KEYS] = {column[1], column[2], column[3]};
    return bb_counts(state, rows, key);
}
static int64_t counts_per(bb_state *state) {
    const int64_t *key[2] = {column[0], column[2]};
    return bb_counts(state, rows, key);
}
static int64_t note(bb_state *state) {
    const int64_t *key[2] = {column[1], column[2]};
    if (bb_note(state, rows, key, column[3]))
        return -1;
    int64_t found = bb_read(state);
    if (below(8) == 0 && found > 0)
        bb_clear(state);
    return 0;
}

static int64_t sums(bb_state *state) {
    static double value[MOST];
    const int64_t *key[2] = {column[1], column[2]};
    for (int64_t row = 0; row < rows; row++)
        value[row] = (double)column[3][row] / 3;
    return bb_sums(state, rows, key, value) ? -1 : bb_read(state);
}

typedef struct {
    const char *name;
    call batch;
    int64_t (*end)(bb_state *);
    int32_t keys, values, columns;
    int64_t parameters[PARAMETERS];
} operator;

static const operator operators[] = {
    {"tickets", tickets, NULL, 1, 2, 2, {4, 0, 0}},
    {"tickets without end", tickets, NULL, 1, 2, 2, {-1, 0, 0}},
    {"counts", counts, NULL, KEYS, 1, 1, {2, -1, 0}},
    {"counts of each value", counts_per, NULL, 2, 1, 1, {0, 0, 0}},
    {"note", note, NULL, 2, 1, 0, {0, 0, 0}},
    {"sums", sums, NULL, 2, 1, 3, {0, 0, 0}},
    {"sessions", sessions, bb_sessions_end, 1, 3, 2, {2, 0, 0}},
    {"visits", visits, bb_visits_end, 1, 4, 4, {2, 0, 0}},
    {"last viewed", viewed, bb_last_viewed_end, 1, 3 + 2 * VIEWS, 1, {1, VIEWS, 5}},
};

static bb_state *made(const operator *of) {
    bb_state *state = bb_new(of->keys, of->values, of->parameters);
    if (!state)
        fail("no memory");
    return state;
}

/* Another state with what this one has saved. */
static bb_state *reloaded(const operator *of, bb_state *state) {
    int64_t words = bb_save(state);
    if (words < 0)
        fail("no memory");
    bb_state *other = made(of);
    int64_t *copy = malloc((size_t)words * sizeof(int64_t)); /* just as long, so that a look beyond is seen */
    memcpy(copy, bb_column(state, 0), (size_t)words * sizeof(int64_t));
    if (bb_load(other, words, copy))
        fail("a saved state is refused");
    free(copy);
    bb_free(state);
    return other;
}

static void same(const operator *of, int64_t found, const bb_state *one, const bb_state *other) {
    for (int32_t number = 0; number < of->columns; number++)
        if (found && memcmp(bb_column(one, number), bb_column(other, number), (size_t)found * sizeof(int64_t)))
            fail(of->name);
    if (found && of->columns && memcmp(bb_rows(one), bb_rows(other), (size_t)found * sizeof(uint32_t)))
        fail(of->name);
}

static void run(const operator *of, int64_t batches) {
    bb_state *kept = made(of), *other = made(of);
    int64_t keys = 2 + below(200);
    time_now = 0;
    for (int64_t batch = 0; batch < batches; batch++) {
        fill(keys);
        uint64_t before = seed;
        int64_t found = of->batch(kept);
        seed = before; /* what a call draws, it draws again */
        if (found < 0 || of->batch(other) != found)
            fail(of->name);
        same(of, found, kept, other);
        other = reloaded(of, other);
    }
    if (of->end) {
        int64_t found = of->end(kept);
        if (found < 0 || of->end(other) != found)
            fail(of->name);
        same(of, found, kept, other);
    }
    bb_free(kept);
    bb_free(other);
}

static void count_by_counting(void) {
    int64_t parameters[PARAMETERS] = {0, -1, 0};
    bb_state *state = bb_new(1, 1, parameters);
    int64_t seen[64] = {0};
    for (int64_t batch = 0; batch < 8; batch++) {
        fill(60);
        const int64_t *key[1] = {column[2]};
        if (bb_counts(state, rows, key) != rows)
            fail("a row is lost");
        for (int64_t row = 0; row < rows; row++)
            if (bb_rows(state)[row] != (uint32_t)row || bb_column(state, 0)[row] != ++seen[column[2][row]])
                fail("a count is wrong");
    }
    bb_free(state);
}

/* Sessions whose bytes begin anywhere, with and without an item that is wanted. */
static void pair_sessions(void) {
    for (int64_t wanted = -1; wanted < 2; wanted++) {
        int64_t parameters[PARAMETERS] = {wanted, 0, 0}, expected = 0;
        int32_t offsets[33];
        int64_t sessions = below(32), total = 0;
        uint8_t *items = malloc(32 * 12 * sizeof(int64_t) + 3);
        int32_t start = (int32_t)below(4);
        offsets[0] = start;
        for (int64_t row = 0; row < sessions; row++) {
            int64_t count = below(12), wanted_too = 0;
            for (int64_t i = 0; i < count; i++, total++) {
                wanted_too |= i == wanted;
                memcpy(items + start + total * (int64_t)sizeof(int64_t), &i, sizeof(int64_t));
            }
            offsets[row + 1] = start + (int32_t)(total * (int64_t)sizeof(int64_t));
            expected += wanted < 0 ? count * (count - 1) / 2 : wanted_too ? count - 1 : 0;
        }
        bb_state *state = bb_new(1, 0, parameters);
        if (bb_session_pairs(state, sessions, offsets, items) != expected)
            fail("a pair is lost");
        bb_free(state);
        free(items);
    }
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    seed = strtoull(argv[1], NULL, 10);
    int64_t rounds = atoll(argv[2]);
    for (int64_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
            run(&operators[i], 1 + below(12));
        count_by_counting();
        pair_sessions();
    }
    printf("ok\n");
    return 0;
}
