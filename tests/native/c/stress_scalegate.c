/* ScaleGate: every reader gets every row once, in the order of all, from sources that run ahead, fall behind, promise
   without rows, leave and come back; and no run's memory is written while a reader may look at it. */
#include "scalegate.h"

#include "stress.h"

typedef struct shape {
    const char *mode;
    uint32_t sources, readers, runs, stretches, longest;
    int64_t step; /* times grow by less than this */
    int rejoins;
} shape;

static const shape SHAPES[] = {
    {"plain", 2, 1, 8, 64, 32, 4, 0},       {"ring", 1, 1, 4, 4, 16, 4, 0},
    {"one-slot", 3, 1, 1, 1, 8, 3, 0},      {"two-readers", 2, 2, 4, 16, 32, 4, 0},
    {"single-rows", 4, 2, 16, 64, 1, 3, 0}, {"whole-runs", 2, 1, 8, 64, 64, 1000, 0},
    {"ties", 4, 1, 8, 32, 16, 1, 0},        {"rejoining", 3, 2, 4, 16, 8, 4, 1},
};

typedef struct game {
    const shape *shape;
    as_scalegate *gate;
    uint64_t rounds, logged;
    int64_t reached;
    _Atomic uint64_t rows[MOST_THREADS]; /* that each source has added */
} game;

typedef struct player {
    game *game;
    uint32_t number;
    uint64_t got, sum;
} player;

/* A run's memory: its times and, beside each, what makes the row known. */
typedef struct memory {
    int64_t time[64];
    uint64_t row[64];
} memory;

static void *add(void *argument) {
    player *self = argument;
    const shape *shape = self->game->shape;
    as_scalegate *gate = self->game->gate;
    uint64_t seed = 88172645463325252ull + self->number * 7919, rows = 0;
    const uint32_t places = shape->runs + 1;
    memory *all = aligned(places * sizeof(memory));
    int64_t time = 0;
    for (uint64_t round = 0; round < self->game->rounds; round++) {
        memory *run = &all[round % places];
        const uint32_t count = 1 + (uint32_t)(next_random(&seed) % shape->longest);
        /* the place was used `places` runs ago: free once that run is acknowledged */
        while (round >= places && as_scalegate_acknowledged(gate, self->number) + places <= round) {
            sched_yield();
        }
        for (uint32_t n = 0; n < count; n++) {
            time += (int64_t)(next_random(&seed) % (uint64_t)shape->step) + (shape->step == 1 && n == 0);
            run->time[n] = time;
            run->row[n] = rows++;
        }
        int code;
        while ((code = as_scalegate_add(gate, self->number, run->time, NULL, count, (uint64_t)(uintptr_t)run)) ==
               AS_AGAIN) {
            sched_yield();
        }
        CHECK(code == AS_OK);
        if (next_random(&seed) % 8 == 0) {
            as_scalegate_promise(gate, self->number, time + (int64_t)(next_random(&seed) % 3));
            time += 3;
        }
        if (shape->rejoins && self->number > 0 && next_random(&seed) % 16 == 0) {
            as_scalegate_promise(gate, self->number, INT64_MAX);
            dither(&seed);
            time = as_scalegate_join(gate, self->number, time);
        }
        dither(&seed);
    }
    if (shape->rejoins && self->number == 0) { /* nobody comes back once all have left */
        as_scalegate_promise(gate, 0, INT64_MAX - 1);
        for (uint32_t other = 1; other < shape->sources; other++) {
            while (atomic_load(&self->game->rows[other]) == 0) {
                sched_yield();
            }
        }
    }
    as_scalegate_promise(gate, self->number, INT64_MAX);
    CHECK(as_scalegate_add(gate, self->number, all[0].time, NULL, 1, 0) == AS_E_ARGUMENT);
    atomic_store(&self->game->rows[self->number], rows);
    while (as_scalegate_acknowledged(gate, self->number) < self->game->rounds) {
        sched_yield();
    }
    memset(all, 0xff, places * sizeof(memory));
    free(all);
    return NULL;
}

/* One thread at a time looks, as it says in the header; what it sees never goes back. */
static void look(player *self) {
    static _Atomic uint32_t looking;
    game *game = self->game;
    if (game->shape->sources == 1 || atomic_exchange(&looking, 1)) {
        return;
    }
    uint64_t runs[MOST_THREADS], first[MOST_THREADS];
    as_scalegate_view view = {.runs = runs, .first = first};
    if (as_scalegate_look(game->gate, &view) == AS_OK) {
        CHECK(view.reached <= view.waited);
        CHECK(game->shape->rejoins || (view.logged >= game->logged && view.reached >= game->reached));
        game->logged = view.logged;
        game->reached = view.reached;
    }
    atomic_store(&looking, 0);
}

/* What a reader has seen so far. */
typedef struct seen {
    uint64_t next[MOST_THREADS];
    int64_t time;
    uint32_t source;
} seen;

static void see(player *self, seen *seen, uint32_t source, const memory *run, uint32_t row) {
    CHECK(run->time[row] > seen->time || (run->time[row] == seen->time && source >= seen->source));
    CHECK(run->row[row] == seen->next[source]++);
    seen->time = run->time[row];
    seen->source = source;
    self->sum += (uint64_t)seen->time * 31 + source;
    self->got++;
}

/* The rows of a stretch, and of those behind it that it says; answers how many these are. */
static uint32_t see_stretch(player *self, seen *seen, const as_stretch *stretch, const uint16_t **tags) {
    if (stretch->source != AS_MERGE_MIXED) {
        for (uint32_t row = stretch->first; row < stretch->first + stretch->rows; row++) {
            see(self, seen, stretch->source, (const memory *)(uintptr_t)stretch->reference, row);
        }
        return 0;
    }
    const as_stretch *of[MOST_THREADS] = {NULL};
    uint32_t taken[MOST_THREADS] = {0};
    for (uint32_t n = 1; n <= stretch->first; n++) {
        of[stretch[n].source] = &stretch[n];
    }
    for (uint32_t n = 0; n < stretch->rows; n++) {
        const uint32_t source = *(*tags)++;
        CHECK(of[source] != NULL);
        see(self, seen, source, (const memory *)(uintptr_t)of[source]->reference, of[source]->first + taken[source]++);
    }
    for (uint32_t n = 1; n <= stretch->first; n++) {
        CHECK(taken[stretch[n].source] == stretch[n].rows);
    }
    return stretch->first;
}

static void *read_all(void *argument) {
    player *self = argument;
    as_scalegate *gate = self->game->gate;
    uint64_t seed = 3141592653589793ull + self->number;
    seen seen = {.time = INT64_MIN};
    as_stretch stretches[16];
    uint16_t given[64 + AS_SCALEGATE_BLOCK];
    for (;;) {
        int64_t time = INT64_MIN;
        const int known = as_scalegate_next(gate, self->number, &time) == AS_OK;
        const uint32_t least = 1 + self->game->shape->sources;
        const uint32_t room = least + (uint32_t)(next_random(&seed) % (17 - least));
        const uint64_t rows = 1 + next_random(&seed) % 64;
        const int found = as_scalegate_get_rows(gate, self->number, stretches, room, given, rows);
        if (found == AS_E_CLOSED) {
            break;
        }
        CHECK(found >= 0);
        CHECK(!known || found > 0);
        const uint16_t *tags = given;
        for (uint32_t n = 0; n < (uint32_t)found; n++) {
            n += see_stretch(self, &seen, &stretches[n], &tags);
            CHECK(n < (uint32_t)found);
        }
        if (found > 0 && known) {
            const uint16_t *first_tag = given;
            const as_stretch *first = stretches;
            while (first->source == AS_MERGE_MIXED || (first != stretches && first->source != *first_tag)) {
                first++;
            }
            CHECK(((const memory *)(uintptr_t)first->reference)->time[first->first] == time);
        }
        if (next_random(&seed) % 4 == 0) {
            as_scalegate_acknowledge(gate, self->number);
        }
        if (found == 0) {
            look(self);
            sched_yield();
        }
        if (next_random(&seed) % 64 == 0) {
            dither(&seed);
        }
    }
    return NULL;
}

static void *play(void *argument) {
    player *self = argument;
    if (self->number < self->game->shape->sources) {
        return add(self);
    }
    self->number -= self->game->shape->sources;
    return read_all(self);
}

int stress_scalegate(const char *mode, uint64_t rounds) {
    for (size_t n = 0; n < sizeof SHAPES / sizeof *SHAPES; n++) {
        const shape *shape = &SHAPES[n];
        if (strcmp(mode, shape->mode) != 0) {
            continue;
        }
        void *memory = aligned(as_scalegate_size(shape->sources, shape->readers, shape->runs, shape->stretches));
        int64_t ranks[MOST_THREADS];
        for (int64_t source = 0; source < MOST_THREADS; source++) {
            ranks[source] = source;
        }
        CHECK(as_scalegate_init(memory, shape->sources, shape->readers, shape->runs, shape->stretches, ranks, 0) ==
              AS_OK);
        game game = {.shape = shape, .gate = memory, .reached = INT64_MIN, .rounds = rounds / shape->sources / 4};
        player players[MOST_THREADS] = {{0}};
        for (uint32_t each = 0; each < MOST_THREADS; each++) {
            players[each] = (player){&game, each, 0, 0};
        }
        run_threads(play, players, sizeof *players, (int)(shape->sources + shape->readers));
        uint64_t rows = 0;
        for (uint32_t each = 0; each < shape->sources; each++) {
            rows += atomic_load(&game.rows[each]);
        }
        for (uint32_t each = 0; each < shape->readers; each++) {
            CHECK(players[shape->sources + each].got == rows);
            CHECK(players[shape->sources + each].sum == players[shape->sources].sum);
        }
        free(memory);
        return 0;
    }
    return -1;
}
