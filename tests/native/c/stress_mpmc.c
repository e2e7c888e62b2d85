/* MPMC ring: every item comes out exactly once, and each producer's items in the order he pushed them. */
#include "mpmc.h"
#include "stress.h"

typedef struct load {
    const char *name;
    int producers, consumers;
    uint32_t slots;
    uint64_t start;
} load;

static const load loads[] = {
    {"one-to-one", 1, 1, 8, 0},
    {"two-slots", 2, 2, 2, 0},
    {"many", 3, 3, 64, 0},
    {"wrap-around", 2, 2, 4, UINT64_MAX - 100},
};

static as_mpmc *ring;
static const load *now;
static uint64_t each;
static _Atomic uint64_t popped;
static _Atomic uint8_t *seen;

static void *work(void *argument) {
    int number = *(int *)argument;
    if (number < now->producers) {
        for (uint64_t i = 0; i < each; i++) {
            while (as_mpmc_push(ring, (uint64_t)number << 32 | i) == AS_AGAIN) {
                sched_yield();
            }
        }
        return NULL;
    }
    uint64_t last[MOST_THREADS] = {0}, item, total = each * (uint64_t)now->producers;
    while (atomic_load(&popped) < total) {
        if (as_mpmc_pop(ring, &item) == AS_AGAIN) {
            sched_yield();
            continue;
        }
        uint64_t from = item >> 32, position = item & UINT32_MAX;
        CHECK(from < (uint64_t)now->producers && position < each);
        CHECK(position + 1 > last[from]); /* of one producer, a consumer sees a rising sequence */
        last[from] = position + 1;
        CHECK(atomic_fetch_add(&seen[from * each + position], 1) == 0);
        atomic_fetch_add(&popped, 1);
    }
    return NULL;
}

int stress_mpmc(const char *mode, uint64_t rounds) {
    for (now = loads; now < loads + sizeof loads / sizeof loads[0]; now++) {
        if (strcmp(now->name, mode) == 0) {
            int numbers[MOST_THREADS] = {0, 1, 2, 3, 4, 5, 6, 7};
            each = rounds;
            ring = aligned(as_mpmc_size(now->slots));
            seen = calloc(each * (uint64_t)now->producers, 1);
            CHECK(as_mpmc_init(ring, now->slots, now->start) == AS_OK);
            run_threads(work, numbers, sizeof numbers[0], now->producers + now->consumers);
            CHECK(as_mpmc_count(ring) == 0);
            free(ring);
            free((void *)seen);
            return 0;
        }
    }
    return -1;
}
