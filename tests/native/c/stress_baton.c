/* The baton: one thread at a time has it, what one did is seen by the next, and nobody who waits is left asleep. */
#include "baton.h"
#include "stress.h"

typedef struct load {
    const char *name;
    int threads;
    uint64_t spin;
} load;

static const load loads[] = {
    {"two", 2, 50000}, {"four", 4, 5000}, {"asleep-two", 2, 0}, {"asleep-eight", 8, 0}, {"outsider", 3, 1000},
};

static const load *now;
static uint64_t each, shared, lent; /* plain: who holds the baton writes them */
static _Atomic int inside;

static void hold(void) {
    CHECK(as_baton_is_held());
    CHECK(atomic_fetch_add(&inside, 1) == 0);
    shared++;
    CHECK(atomic_fetch_sub(&inside, 1) == 1);
}

static int long_function(uint64_t *random) {
    for (uint64_t i = next_random(random) % 8; i > 0; i--) { /* up to several times AS_BATON_LENT_NS */
        for (int k = 0; k < 4; k++) {
            dither(random);
        }
    }
    return 7;
}

static void *work(void *argument) {
    int number = *(int *)argument;
    uint64_t random = 88172645463325252u + (uint64_t)number;
    if (strcmp(now->name, "outsider") == 0 && number == 0) { /* holds none: nothing of this may matter */
        for (uint64_t i = 0; i < each; i++) {
            CHECK(AS_LENDING(long_function, &random) == 7);
            as_baton_pass();
            as_baton_give();
            CHECK(!as_baton_is_held());
        }
        return NULL;
    }
    as_baton_take();
    as_baton_take(); /* nothing: it is held */
    for (uint64_t i = 0; i < each; i++) {
        hold();
        switch (next_random(&random) % 4) {
        case 0:
            as_baton_pass();
            break;
        case 1:
            as_baton_give();
            dither(&random);
            as_baton_take();
            break;
        default:
            CHECK(AS_LENDING(long_function, &random) == 7);
            lent++;
        }
    }
    hold();
    as_baton_give();
    CHECK(!as_baton_is_held());
    return NULL;
}

int stress_baton(const char *mode, uint64_t rounds) {
    for (now = loads; now < loads + sizeof loads / sizeof loads[0]; now++) {
        if (strcmp(now->name, mode) == 0) {
            int numbers[MOST_THREADS] = {0, 1, 2, 3, 4, 5, 6, 7};
            int holders = now->threads - (strcmp(now->name, "outsider") == 0);
            each = rounds / 5 + 1;
            as_baton_spin(now->spin);
            run_threads(work, numbers, sizeof numbers[0], now->threads);
            CHECK(shared == (each + 1) * (uint64_t)holders && lent <= shared);
            as_baton_statistics found;
            as_baton_statistics_read(&found);
            CHECK(found.sleeps == 0 || found.waits > 0);
            return 0;
        }
    }
    return -1;
}
