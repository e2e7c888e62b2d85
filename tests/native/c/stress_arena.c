/*
 * Arena: threads allocate, fill, retain, hand over and release blocks. No block is given out twice at a time, contents
 * stay, and at the end nothing is in use.
 */
#define _GNU_SOURCE
#include "arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include "mpmc.h"
#include "stress.h"

typedef struct load {
    const char *name;
    int threads;
    uint64_t limit, step, largest;
    uint32_t generation;
} load;

static const load loads[] = {
    {"mixed", 3, 8 << 20, 256 << 10, 64 << 10, 1},
    {"scarce", 3, 256 << 10, 64 << 10, 60 << 10, 1}, /* most allocations fail, sweeps are frequent */
    {"generation-wrap-around", 2, 4 << 20, 64 << 10, 4 << 10, UINT32_MAX - 40},
};

enum { KEPT = 8 };

static const load *now;
static uint64_t each;
static as_arena *arena;
static as_mpmc *exchange; /* holds that another thread is to release */
static _Atomic uint64_t refused;

/* Fills a block with a mark that depends on its generation, or checks that it still has it. */
static void mark(as_hold *hold, int check) {
    uint8_t *data = as_hold_data(hold), value = (uint8_t)(as_hold_generation(hold) >> 1);
    uint64_t bytes = as_hold_bytes(hold), places[3] = {0, bytes / 2, bytes - 1};
    for (int i = 0; i < 3; i++) {
        if (check) {
            CHECK(data[places[i]] == value);
        } else {
            data[places[i]] = value;
        }
    }
}

static void let_go(as_hold *hold, uint64_t chance) {
    uint64_t other;
    mark(hold, 1);
    if (chance % 4 == 0) {
        as_hold_retain(hold);
        CHECK(as_hold_uses(hold) >= 2);
        as_hold_drop(hold, NULL);
    }
    if (chance % 2 || as_mpmc_push(exchange, (uint64_t)(uintptr_t)hold) != AS_OK) {
        as_hold_release(hold);
    }
    if (as_mpmc_pop(exchange, &other) == AS_OK) {
        mark((as_hold *)(uintptr_t)other, 1);
        as_hold_release((as_hold *)(uintptr_t)other);
    }
}

static void *work(void *argument) {
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(*(int *)argument + 1);
    as_hold *kept[KEPT] = {NULL};
    for (uint64_t i = 0; i < each; i++) {
        uint64_t chance = next_random(&state);
        as_hold **place = &kept[chance % KEPT];
        if (*place != NULL) {
            let_go(*place, chance >> 8);
        }
        uint64_t bytes = (chance >> 16) % (1 + (now->largest >> (chance >> 60) % 8));
        *place = as_hold_allocate(arena, bytes);
        if (*place == NULL) {
            CHECK(errno == ENOMEM);
            atomic_fetch_add(&refused, 1);
        } else {
            CHECK(as_hold_bytes(*place) >= bytes && as_hold_generation(*place) % 2 == 1 && as_hold_is_own(*place));
            CHECK(as_hold_offset(*place) % 64 == 0 && as_hold_uses(*place) == 1);
            mark(*place, 0);
        }
    }
    for (int i = 0; i < KEPT; i++) {
        if (kept[i] != NULL) {
            let_go(kept[i], 1);
        }
    }
    return NULL;
}

int stress_arena(const char *mode, uint64_t rounds) {
    for (now = loads; now < loads + sizeof loads / sizeof loads[0]; now++) {
        if (strcmp(now->name, mode) == 0) {
            int numbers[MOST_THREADS] = {0, 1, 2, 3, 4, 5, 6, 7};
            uint64_t figures[4], left;
            int fd = memfd_create("stress", MFD_CLOEXEC | MFD_ALLOW_SEALING);
            each = rounds;
            exchange = aligned(as_mpmc_size(16));
            CHECK(as_mpmc_init(exchange, 16, 0) == AS_OK);
            arena = as_arena_create(fd, now->limit, 7, now->step);
            CHECK(arena != NULL);
            close(fd);
            as_arena_start_generation(arena, now->generation);
            run_threads(work, numbers, sizeof numbers[0], now->threads);
            while (as_mpmc_pop(exchange, &left) == AS_OK) {
                as_hold_release((as_hold *)(uintptr_t)left);
            }
            as_arena_statistics(arena, figures);
            CHECK(figures[0] <= now->limit && figures[1] == 0 && figures[2] == 0 && figures[3] <= figures[0]);
            CHECK((strcmp(mode, "scarce") == 0) == (atomic_load(&refused) > 0));
            /* all of it is one piece again: a block as large as what is committed fits */
            as_hold *whole = as_hold_allocate(arena, now->limit * 3 / 4 - 64);
            CHECK(whole != NULL);
            as_arena_close(arena); /* the last hold keeps the mapping */
            as_hold_data(whole)[0] = 1;
            as_hold_release(whole);
            free(exchange);
            return 0;
        }
    }
    return -1;
}
