/* Reordering buffers: every serial number leaves once, in order, with what its worker wrote; nothing stays behind. */
#include "reorder.h"
#include "stress.h"

#include <unistd.h>

enum { TUPLES = 50, PATIENCE = 600 };

typedef struct load {
    const char *name;
    uint32_t scheme;
    int unbounded; /* workers take any serial number and try until its slot is free, as the paper's do */
    int refusing;  /* the exit function refuses without credit, which one of the threads gives */
    uint64_t start;
} load;

static const load loads[] = {
    {"non-blocking", AS_REORDER_NON_BLOCKING, 0, 0, 0},
    {"lock-based", AS_REORDER_LOCK_BASED, 0, 0, 0},
    {"non-blocking-unbounded", AS_REORDER_NON_BLOCKING, 1, 0, 0},
    {"non-blocking-refusing", AS_REORDER_NON_BLOCKING, 0, 1, 0},
    {"lock-based-refusing", AS_REORDER_LOCK_BASED, 0, 1, 0},
    {"non-blocking-wrap-around", AS_REORDER_NON_BLOCKING, 0, 0, UINT64_MAX - 100},
};
static const uint32_t capacities[] = {1, 2, 16, 128, 1024};

typedef struct unit {
    uint64_t serial;
    uint64_t tuples[TUPLES];
} unit;

static const load *now;
static as_reorder *buffer;
static unit *units;
static int selectivity;
static uint64_t total, left; /* left: plain on purpose, one thread at a time is in the exit section */
static _Atomic uint64_t taken;
static _Atomic int64_t credit;

static int leave(void *context, uint64_t serial, uint64_t what) {
    CHECK(context == &left && serial == now->start + left);
    if (now->refusing && atomic_load(&credit) == 0) {
        return AS_AGAIN;
    }
    atomic_fetch_sub(&credit, 1);
    if (selectivity == 0 || left % 7 == 3) {
        CHECK(what == AS_UNIT_NONE);
    } else {
        const unit *found = (const unit *)(uintptr_t)what;
        CHECK(found->serial == left);
        for (int i = 0; i < TUPLES; i++) {
            CHECK(found->tuples[i] == left * TUPLES + (uint64_t)i);
        }
    }
    left++;
    return AS_OK;
}

/* A serial number, counted from 0, or `total` if there is none any more. */
static uint64_t take(void) {
    uint64_t serial = atomic_load(&taken);
    while (serial < total) {
        if (!now->unbounded && !as_reorder_is_free(buffer, now->start + serial)) {
            sched_yield();
            serial = atomic_load(&taken);
        } else if (atomic_compare_exchange_weak(&taken, &serial, serial + 1)) {
            return serial;
        }
    }
    return total;
}

/* One credit after the other, each only when the last one is used: a flush that was lost would never be made good. */
static void give_credit(void) {
    for (uint64_t given = 0; given < total; given++) {
        atomic_fetch_add(&credit, 1);
        as_reorder_flush(buffer);
        while (atomic_load(&credit) != 0) {
            sched_yield();
        }
    }
}

static void *work(void *argument) {
    int number = *(int *)argument;
    uint64_t state = (uint64_t)number + 1, serial;
    if (now->refusing && number == 0) {
        give_credit();
        return NULL;
    }
    while ((serial = take()) < total) {
        uint64_t what = AS_UNIT_NONE;
        dither(&state);
        if (selectivity != 0 && serial % 7 != 3) {
            unit *made = &units[serial];
            made->serial = serial;
            for (int i = 0; i < TUPLES; i++) {
                made->tuples[i] = serial * TUPLES + (uint64_t)i;
            }
            what = (uint64_t)(uintptr_t)made;
        }
        while (as_reorder_send(buffer, now->start + serial, what) == AS_AGAIN) {
            CHECK(now->unbounded);
            sched_yield();
        }
    }
    return NULL;
}

static void run(uint32_t capacity, int threads) {
    int numbers[MOST_THREADS] = {0, 1, 2, 3, 4, 5, 6, 7};
    as_reorder_statistics statistics;
    buffer = aligned(as_reorder_size(capacity));
    units = calloc(total, sizeof *units);
    left = 0;
    atomic_store(&taken, 0);
    atomic_store(&credit, 0);
    CHECK(as_reorder_init(buffer, now->scheme, capacity, now->start, leave, &left, 1) == AS_OK);
    run_threads(work, numbers, sizeof numbers[0],
                threads + now->refusing > MOST_THREADS ? threads : threads + now->refusing);
    as_reorder_statistics_read(buffer, &statistics);
    CHECK(left == total && statistics.next == now->start + total);
    CHECK(statistics.most_units >= 1 && statistics.most_units <= total);
    free(buffer);
    free(units);
}

int stress_reorder(const char *mode, uint64_t rounds) {
    const char *dash = strrchr(mode, '-');
    for (now = loads; dash != NULL && now < loads + sizeof loads / sizeof loads[0]; now++) {
        if (strlen(now->name) == (size_t)(dash - mode) && strncmp(now->name, mode, strlen(now->name)) == 0) {
            total =
                rounds /
                (now->refusing ? 16 : 4); /* a credit goes from thread to thread, which takes long on a busy machine */
            alarm(PATIENCE);
            for (size_t i = 0; i < sizeof capacities / sizeof capacities[0]; i++) {
                for (selectivity = 0; selectivity <= TUPLES; selectivity += TUPLES) {
                    run(capacities[i], atoi(dash + 1));
                }
            }
            return 0;
        }
    }
    return -1;
}
