/* Worklists with a reordering buffer behind them: every item once, its partition's items in order and one at a time,
 * and all of them leave in the order in which they were pushed. */
#include "reorder.h"
#include "stress.h"
#include "worklist.h"

#include <unistd.h>

enum { PARTITIONS = 5, PATIENCE = 600 };

static const struct {
    const char *name;
    uint32_t kind, partitions;
} kinds[] = {
    {"stateless", AS_WORKLIST_STATELESS, 1},
    {"hybrid", AS_WORKLIST_HYBRID, PARTITIONS},
    {"hybrid-one", AS_WORKLIST_HYBRID, 1},
    {"shared", AS_WORKLIST_SHARED, PARTITIONS},
    {"partitioned", AS_WORKLIST_PARTITIONED, PARTITIONS},
};
static const uint32_t capacities[] = {1, 4, 64, 1024};
static const uint64_t start = UINT64_MAX - 50;

static as_worklist *list;
static as_reorder *buffer;
static uint32_t partitions;
static int stateless;
static uint64_t total, pushed, left; /* plain on purpose: one thread at a time pushes, one is in the exit section */
static uint64_t worked[PARTITIONS]; /* plain on purpose: one thread at a time is in a partition */
static uint64_t *payloads; /* plain on purpose: from the pusher to the worker to the exit section */
static _Atomic uint32_t pushing;
static _Atomic uint64_t finished;

/* The first partition gets half of all items, the second a quarter, ... */
static uint32_t partition_of(uint64_t item) {
    uint64_t mixed = item * UINT64_C(0x9e3779b97f4a7c15) >> 32 | UINT64_C(1) << 31;
    return (uint32_t)__builtin_ctzll(mixed) % partitions;
}

static int leave(void *context, uint64_t serial, uint64_t unit) {
    (void)context;
    CHECK(serial == start + left && unit == left + 2 && payloads[left] == ~left);
    left++;
    return AS_OK;
}

/* Whoever finds nothing to do pushes, unless another one does: pushers take turns. */
static void push_some(void) {
    if (atomic_exchange_explicit(&pushing, 1, memory_order_acquire) == 0) {
        for (int burst = 0; burst < 32 && pushed < total; burst++) {
            CHECK(as_worklist_end(list) == start + pushed);
            uint64_t room = as_worklist_room(list);
            payloads[pushed] = pushed;
            int outcome = as_worklist_push(list, pushed, partition_of(pushed));
            CHECK(outcome == AS_OK || (outcome == AS_AGAIN && room == 0));
            if (outcome == AS_AGAIN) {
                break;
            }
            pushed++;
        }
        atomic_store_explicit(&pushing, 0, memory_order_release);
    }
}

static void *work(void *argument) {
    int number = *(int *)argument;
    uint64_t state = (uint64_t)number + 1;
    as_work got;
    while (atomic_load_explicit(&finished, memory_order_relaxed) < total) {
        if (as_worklist_pop(list, (uint32_t)number, as_reorder_limit(buffer), &got) == AS_AGAIN) {
            push_some();
            sched_yield();
            continue;
        }
        do {
            CHECK(got.serial == start + got.item && got.partition == partition_of(got.item));
            if (!stateless) {
                CHECK(worked[got.partition] <= got.item);
                worked[got.partition] = got.item + 1;
            }
            dither(&state);
            CHECK(payloads[got.item] == got.item);
            payloads[got.item] = ~got.item;
            CHECK(as_reorder_send(buffer, got.serial, got.item + 2) == AS_OK);
            atomic_fetch_add_explicit(&finished, 1, memory_order_relaxed); /* must order nothing */
        } while (as_worklist_done(list, as_reorder_limit(buffer), &got) == AS_OK);
    }
    return NULL;
}

static void run(uint32_t kind, uint32_t capacity, uint32_t window, int threads) {
    int numbers[MOST_THREADS] = {0, 1, 2, 3, 4, 5, 6, 7};
    list = aligned(as_worklist_size(kind, capacity, partitions));
    buffer = aligned(as_reorder_size(window));
    payloads = calloc(total, sizeof *payloads);
    memset(worked, 0, sizeof worked);
    pushed = left = 0;
    atomic_store(&finished, 0);
    CHECK(as_worklist_init(list, kind, capacity, partitions, start) == AS_OK);
    CHECK(as_reorder_init(buffer, AS_REORDER_NON_BLOCKING, window, start, leave, NULL, 0) == AS_OK);
    run_threads(work, numbers, sizeof numbers[0], threads);
    CHECK(left == total && as_worklist_count(list) == 0 && as_worklist_room(list) == capacity);
    free(list);
    free(buffer);
    free(payloads);
}

int stress_worklist(const char *mode, uint64_t rounds) {
    const char *dash = strrchr(mode, '-');
    for (size_t i = 0; dash != NULL && i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strlen(kinds[i].name) == (size_t)(dash - mode) && strncmp(kinds[i].name, mode, dash - mode) == 0) {
            total = rounds / 4;
            partitions = kinds[i].partitions;
            stateless = kinds[i].kind == AS_WORKLIST_STATELESS;
            alarm(PATIENCE);
            for (size_t k = 0; k < sizeof capacities / sizeof capacities[0]; k++) {
                run(kinds[i].kind, capacities[k], 1, atoi(dash + 1));
                run(kinds[i].kind, capacities[k], 64, atoi(dash + 1));
            }
            return 0;
        }
    }
    return -1;
}
