/* ScaleGate for the threads of one process; see scalegate.h. Indices only grow; their low bits say the slot. */
#include "scalegate.h"

#include <stdatomic.h>

#include "merge_run.h"

static int is_power_of_two(uint32_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

/* Where each part lies; answers the bytes in all. */
static uint64_t lay_out(as_scalegate *gate, char *memory) {
    uint64_t at = lines(sizeof *gate);
#define PLACE(field, bytes)                                                                                            \
    gate->field = (void *)(memory + at);                                                                               \
    at += lines(bytes)
    PLACE(source, gate->sources * sizeof(source));
    PLACE(reader, gate->readers * sizeof(reader));
    PLACE(passed, gate->readers * lines(gate->sources * sizeof(uint64_t)));
    PLACE(reading, gate->readers * lines(gate->sources * sizeof(uint64_t)));
    PLACE(lane, gate->sources * sizeof(as_merge_lane));
    PLACE(before, gate->sources * sizeof(uint64_t));
    PLACE(run, (uint64_t)gate->sources * gate->runs * sizeof(run));
    PLACE(log, (uint64_t)gate->stretches * sizeof(as_stretch));
    PLACE(tag, (uint64_t)gate->stretches * sizeof(uint16_t));
#undef PLACE
    return at;
}

uint64_t as_scalegate_size(uint32_t sources, uint32_t readers, uint32_t runs, uint32_t stretches) {
    if (sources == 0 || sources > MOST || readers == 0 || readers > MOST || !is_power_of_two(runs) ||
        !is_power_of_two(stretches)) {
        return 0;
    }
    as_scalegate shape = {.sources = sources, .readers = readers, .runs = runs, .stretches = stretches};
    return lay_out(&shape, (char *)&shape);
}

int as_scalegate_init(void *memory, uint32_t sources, uint32_t readers, uint32_t runs, uint32_t stretches,
                      const int64_t *rank, uint32_t ties) {
    const uint64_t size = as_scalegate_size(sources, readers, runs, stretches);
    if (size == 0 || memory == NULL || (uintptr_t)memory % 64 || ties > AS_MERGE_TIES) {
        return AS_E_ARGUMENT;
    }
    memset(memory, 0, size);
    as_scalegate *gate = memory;
    gate->sources = sources;
    gate->readers = readers;
    gate->runs = runs;
    gate->stretches = stretches;
    gate->ties = ties;
    gate->run_mask = runs - 1;
    gate->log_mask = stretches - 1;
    lay_out(gate, memory);
    gate->floor = INT64_MIN;
    for (uint32_t n = 0; n < sources; n++) {
        atomic_init(&gate->source[n].bound, INT64_MIN);
        gate->source[n].least = gate->source[n].last = gate->source[n].until = INT64_MIN;
        gate->lane[n].bound = INT64_MIN;
        gate->lane[n].rank = rank[n];
    }
    return AS_OK;
}

/* ---- the merge: only by who holds `turn` */

/* Gives every lane without rows its source's next run, or its promise. */
static void fill_lanes(as_scalegate *gate) {
    for (uint32_t n = 0; n < gate->sources; n++) {
        as_merge_lane *lane = &gate->lane[n];
        if (lane->first < lane->rows) {
            continue;
        }
        source *from = &gate->source[n];
        /* the promise first, then the runs: all runs that it covers are then seen. acquire; partners: the releases
           in as_scalegate_add, which stores them the other way round, and as_scalegate_promise */
        const int64_t bound = atomic_load_explicit(&from->bound, memory_order_acquire);
        const uint64_t added = atomic_load_explicit(&from->added, memory_order_acquire);
        if (from->taken == added) {
            lane->bound = bound > from->until ? bound : from->until;
            continue;
        }
        const run *next = &gate->run[(uint64_t)n * gate->runs + (from->taken & gate->run_mask)];
        from->taken++;
        lane->time = next->time;
        for (uint32_t each = 0; each < gate->ties; each++) {
            lane->tie[each] = next->tie[each];
        }
        lane->first = 0;
        lane->rows = next->rows;
        lane->bound = from->until = next->time[next->rows - 1];
    }
}

/* How many more stretches fit into the log. Looks at the readers only if that, or the room for tags, is short. */
static uint64_t room_in_log(as_scalegate *gate, uint64_t logged) {
    if (gate->room_until - logged <= gate->sources || gate->tags_until - gate->tagged < BLOCK) {
        uint64_t least = UINT64_MAX, tags = UINT64_MAX;
        for (uint32_t n = 0; n < gate->readers; n++) {
            /* acquire; partner: the releases in as_scalegate_get_rows: the reader has copied them */
            const uint64_t passed = atomic_load_explicit(&gate->reader[n].passed, memory_order_acquire);
            const uint64_t passed_tags = atomic_load_explicit(&gate->reader[n].passed_tags, memory_order_acquire);
            least = passed < least ? passed : least;
            tags = passed_tags < tags ? passed_tags : tags;
        }
        gate->room_until = least + gate->stretches;
        gate->tags_until = tags + gate->stretches;
    }
    return gate->room_until - logged;
}

/* The most rows of a mixed stretch, with `room` for it and for the stretches behind it; 0: no tags fit into the log. */
static uint64_t longest_mixed(const as_scalegate *gate, uint64_t room) {
    const uint64_t tags = gate->tags_until - gate->tagged, most = tags < BLOCK ? tags : BLOCK;
    return gate->sources < room || most < room ? most : room - (room > 1);
}

/* Logs the rows of a lane that have gone since `before`. */
static void log_stretch(as_scalegate *gate, uint64_t at, uint32_t number) {
    const as_merge_lane *lane = &gate->lane[number];
    const run *from = &gate->run[(uint64_t)number * gate->runs + ((gate->source[number].taken - 1) & gate->run_mask)];
    as_stretch *stretch = &gate->log[at & gate->log_mask];
    stretch->reference = from->reference;
    stretch->source = number;
    stretch->first = (uint32_t)gate->before[number];
    stretch->rows = (uint32_t)(lane->first - gate->before[number]);
    stretch->ends = lane->first == lane->rows;
}

/* Logs a mixed stretch of `rows` rows, and behind it one stretch for each lane that has some of them. Answers where the log
   goes on. */
static uint64_t log_mixed(as_scalegate *gate, uint64_t at, const uint16_t *tags, uint64_t rows) {
    as_stretch *mixed = &gate->log[at++ & gate->log_mask];
    *mixed = (as_stretch){gate->tagged, AS_MERGE_MIXED, 0, (uint32_t)rows, 0};
    for (uint32_t n = 0; n < gate->sources; n++) {
        if (gate->lane[n].first != gate->before[n]) {
            mixed->first++;
            log_stretch(gate, at++, n);
        }
    }
    put_tags(gate, gate->tagged, tags, rows);
    gate->tagged += rows;
    return at;
}

/* Merges what is ready, until nothing is or the log is full, which it answers. */
static uint32_t merge_all(as_scalegate *gate) {
    uint32_t is_full = 0;
    uint64_t logged = atomic_load_explicit(&gate->logged, memory_order_relaxed);
    uint16_t tags[BLOCK];
    for (;;) {
        fill_lanes(gate);
        const uint64_t room = room_in_log(gate, logged);
        if (room == 0) {
            is_full = 1;
            break;
        }
        for (uint32_t n = 0; n < gate->sources; n++) {
            gate->before[n] = gate->lane[n].first;
        }
        uint32_t lane;
        uint64_t rows = merge_run(gate->lane, gate->sources, gate->ties, UINT32_MAX, &lane);
        if (rows == 0) {
            break;
        }
        const int alternates = rows < SHORTEST && rows < gate->lane[lane].rows - gate->before[lane];
        const uint64_t longest = alternates ? longest_mixed(gate, room) : 1;
        if (longest == 0) {
            is_full = 1;
            break;
        }
        if (longest > 1) {
            rows = as_merge_ready(gate->lane, gate->sources, gate->ties, longest, longest + 1, tags, &lane);
            logged = log_mixed(gate, logged, tags, rows);
            lane = tags[rows - 1];
        } else {
            gate->lane[lane].first += rows;
            log_stretch(gate, logged++, lane);
        }
        gate->floor = gate->lane[lane].time[gate->lane[lane].first - 1];
        /* release; partner: the acquire in as_scalegate_get_rows */
        atomic_store_explicit(&gate->logged, logged, memory_order_release);
    }
    for (uint32_t n = 0; n < gate->sources; n++) {
        if (gate->lane[n].first < gate->lane[n].rows || gate->lane[n].bound != INT64_MAX) {
            return is_full;
        }
    }
    /* release; partner: the acquire in as_scalegate_get_rows, which then sees all of `logged` */
    atomic_store_explicit(&gate->ended, 1, memory_order_release);
    return is_full;
}

/* What the merge has come to: only by who holds `turn`. */
static void describe(const as_scalegate *gate, as_scalegate_view *view) {
    view->logged = atomic_load_explicit(&gate->logged, memory_order_relaxed);
    view->reached = view->waited = INT64_MAX;
    for (uint32_t n = 0; n < gate->sources; n++) {
        const as_merge_lane *lane = &gate->lane[n];
        const int has_rows = lane->first < lane->rows;
        const int64_t head = has_rows ? lane->time[lane->first] : lane->bound;
        view->reached = head < view->reached ? head : view->reached;
        view->waited = has_rows && head < view->waited ? head : view->waited;
        view->runs[n] = gate->source[n].taken - (uint64_t)has_rows;
        view->first[n] = has_rows ? lane->first : 0;
    }
}

/* Merges, or tells the thread that is merging to go round again. All accesses of `turn` are read-modify-writes, acquire
   and release: who asks has published before, and who leaves reads the last question. So none is lost: with a plain
   store on leaving, a question between the last look and the store would be. */
int as_scalegate_drive(as_scalegate *gate, as_scalegate_view *view) {
    if (atomic_exchange_explicit(&gate->turn, ASKED, memory_order_acq_rel) != FREE) {
        return 0;
    }
    uint32_t held;
    do {
        atomic_exchange_explicit(&gate->turn, HELD, memory_order_acq_rel);
        const uint32_t is_full = merge_all(gate);
        if (view != NULL) {
            describe(gate, view);
            view->is_full = is_full;
        }
        held = HELD;
    } while (
        !atomic_compare_exchange_strong_explicit(&gate->turn, &held, FREE, memory_order_acq_rel, memory_order_acquire));
    return 1;
}

/* ---- sources */

int as_scalegate_add(as_scalegate *gate, uint32_t number, const int64_t *time, const int64_t *const *tie, uint32_t rows,
                     uint64_t reference) {
    if (number >= gate->sources || rows == 0 || (gate->ties && tie == NULL)) {
        return AS_E_ARGUMENT;
    }
    source *into = &gate->source[number];
    if (time[0] < into->least || into->least == INT64_MAX) {
        return AS_E_ARGUMENT;
    }
    const uint64_t added = atomic_load_explicit(&into->added, memory_order_relaxed);
    if (added - into->acknowledged >= gate->runs && added - as_scalegate_acknowledged(gate, number) >= gate->runs) {
        as_scalegate_drive(gate, NULL);
        return AS_AGAIN;
    }
    run *next = &gate->run[(uint64_t)number * gate->runs + (added & gate->run_mask)];
    next->time = time;
    for (uint32_t each = 0; each < gate->ties; each++) {
        next->tie[each] = tie[each];
    }
    next->reference = reference;
    next->rows = rows;
    into->least = into->last = time[rows - 1];
    /* release; partner: the acquires in fill_lanes and in as_scalegate_get_rows; first the run, then the promise */
    atomic_store_explicit(&into->added, added + 1, memory_order_release);
    if (!is_ring(gate)) {
        atomic_store_explicit(&into->bound, into->least, memory_order_release);
        /* a reader that has nothing merges itself; the sources help where readers do not keep up */
        if (added + 1 - into->acknowledged > gate->runs / 2 &&
            added + 1 - as_scalegate_acknowledged(gate, number) > gate->runs / 2) {
            as_scalegate_drive(gate, NULL);
        }
    }
    return AS_OK;
}

void as_scalegate_promise(as_scalegate *gate, uint32_t number, int64_t bound) {
    source *from = &gate->source[number];
    if (bound <= from->least) {
        return;
    }
    from->least = bound;
    /* release; partner: the acquires in fill_lanes and in as_scalegate_get_rows */
    atomic_store_explicit(&from->bound, bound, memory_order_release);
    if (!is_ring(gate)) {
        as_scalegate_drive(gate, NULL);
    }
}

int64_t as_scalegate_join(as_scalegate *gate, uint32_t number, int64_t bound) {
    /* rare, so it may wait: the gate must not merge past `bound` between the look at the floor and the promise */
    uint32_t free = FREE;
    while (
        !atomic_compare_exchange_weak_explicit(&gate->turn, &free, HELD, memory_order_acq_rel, memory_order_relaxed)) {
        free = FREE;
    }
    source *from = &gate->source[number];
    if (gate->floor >= bound) {
        bound = gate->floor + 1;
    }
    if (from->last > bound) {
        bound = from->last;
    }
    from->least = bound;
    atomic_store_explicit(&from->bound, bound, memory_order_release);
    uint32_t held = HELD;
    while (!atomic_compare_exchange_strong_explicit(&gate->turn, &held, FREE, memory_order_acq_rel,
                                                    memory_order_acquire)) {
        atomic_exchange_explicit(&gate->turn, HELD, memory_order_acq_rel);
        merge_all(gate);
        held = HELD;
    }
    return bound;
}
