/* The worker loop: every job is run once, by somebody; each lane's leave in the order in which they were submitted, with
 * what was made of them; nobody is left asleep, and who is recalled comes. */
#include "pool.h"
#include "reorder.h"
#include "stress.h"

#include <sys/eventfd.h>
#include <unistd.h>

enum { MOST_LANES = 3, MOST_CAPACITY = 64, PATIENCE = 600 };

typedef struct load {
    const char *name;
    uint32_t workers, lanes, capacity, scheme;
    uint64_t spin_ns;
    int recalls;
} load;

static const load loads[] = {
    {"one", 1, 1, 2, AS_REORDER_NON_BLOCKING, 5000, 0},       {"two-slots", 3, 2, 2, AS_REORDER_NON_BLOCKING, 2000, 0},
    {"asleep", 2, 2, 8, AS_REORDER_NON_BLOCKING, 0, 0},       {"asleep-many", 7, 3, 64, AS_REORDER_NON_BLOCKING, 0, 1},
    {"recalled", 3, 3, 16, AS_REORDER_NON_BLOCKING, 1000, 1}, {"lock-based", 3, 2, 16, AS_REORDER_LOCK_BASED, 1000, 1},
};
static const uint64_t start = UINT64_MAX - 40;

typedef struct task { /* plain on purpose: from the loop to a worker and back */
    as_pool_job job;
    uint64_t number, made, random;
} task;

static const load *now;
static as_pool *pool;
static task tasks[MOST_LANES][MOST_CAPACITY];
static uint64_t total, submitted[MOST_LANES], collected[MOST_LANES];
static int eventfd_of_loop;
static _Atomic int closing;
static _Atomic uint64_t returned;

static int32_t multiply(void *context) {
    task *own = context;
    dither(&own->random);
    own->made = own->number * 3 + 1;
    return (int32_t)(own->number % 7);
}

static void submit_some(uint32_t lane, uint64_t *random) {
    for (uint64_t burst = next_random(random) % now->capacity + 1; burst > 0 && submitted[lane] < total; burst--) {
        if (submitted[lane] - collected[lane] == now->capacity - 1) {
            task none = {.job = {.context = &none}};
            CHECK(as_pool_submit(pool, lane, &none.job) == AS_AGAIN);
            return;
        }
        task *own = &tasks[lane][submitted[lane] % now->capacity];
        own->number = submitted[lane];
        own->made = 0;
        own->random = next_random(random) | 1;
        own->job.function = (uintptr_t)multiply;
        own->job.context = own;
        own->job.outcome = -1;
        CHECK(as_pool_submit(pool, lane, &own->job) == AS_OK);
        submitted[lane]++;
    }
}

static void collect(uint32_t lane) {
    const uint64_t ready = as_pool_ready(pool, lane) - start;
    CHECK(ready >= collected[lane] && ready <= submitted[lane]);
    for (; collected[lane] < ready; collected[lane]++) {
        const task *own = &tasks[lane][collected[lane] % now->capacity];
        CHECK(own->number == collected[lane] && own->made == own->number * 3 + 1);
        CHECK(own->job.outcome == (int32_t)(own->number % 7) && own->job.worker <= now->workers);
    }
    as_pool_collected(pool, lane, start + ready);
}

static int all_done(void) {
    for (uint32_t lane = 0; lane < now->lanes; lane++) {
        if (collected[lane] < total) {
            return 0;
        }
    }
    return 1;
}

static void loop(void) {
    uint64_t random = 88172645463325252u;
    while (!all_done()) {
        uint32_t lane = (uint32_t)(next_random(&random) % now->lanes);
        submit_some(lane, &random);
        as_pool_rank(pool, (uint32_t)(next_random(&random) % now->lanes), lane);
        as_pool_allot(pool, lane, (uint32_t)(next_random(&random) % 5));
        switch (next_random(&random) % 8) {
        case 0: as_pool_help(pool); break;
        case 1:
            as_pool_settle(pool, lane);
            CHECK(as_pool_ready(pool, lane) - start == submitted[lane]);
            break;
        case 2:
            if (now->recalls) {
                as_pool_recall(pool, (uint32_t)(next_random(&random) % now->workers));
            }
            break;
        case 3:
        case 4: {
            int under_way = 0;
            for (uint32_t i = 0; i < now->lanes; i++) {
                under_way |= submitted[i] != collected[i];
            }
            if (as_pool_park(pool) == AS_OK) {
                if (under_way) { /* else nobody has anything to tell */
                    uint64_t count;
                    sleep_on(eventfd_of_loop);
                    CHECK(read(eventfd_of_loop, &count, sizeof count) == sizeof count);
                }
            }
            as_pool_unpark(pool);
            break;
        }
        }
        for (uint32_t i = 0; i < now->lanes; i++) {
            collect(i);
        }
    }
    CHECK(as_pool_waiting(pool) == 0);
    atomic_store(&closing, 1);
    for (uint32_t i = 0; i < now->workers; i++) {
        as_pool_recall(pool, i);
    }
}

static void *work(void *argument) {
    int number = *(int *)argument;
    if (number == 0) {
        loop();
        return NULL;
    }
    while (!atomic_load(&closing)) {
        as_pool_work(pool, (uint32_t)number - 1);
        atomic_fetch_add(&returned, 1);
    }
    return NULL;
}

int stress_pool(const char *mode, uint64_t rounds) {
    for (now = loads; now < loads + sizeof loads / sizeof loads[0]; now++) {
        if (strcmp(now->name, mode) == 0) {
            int numbers[MOST_THREADS] = {0, 1, 2, 3, 4, 5, 6, 7};
            total = rounds / 2 + 50;
            alarm(PATIENCE);
            eventfd_of_loop = eventfd(0, EFD_NONBLOCK);
            CHECK(eventfd_of_loop >= 0);
            CHECK(as_pool_size(0, 2, 1) == 0 && as_pool_size(1, 3, 1) == 0 && as_pool_size(1, 1, 1) == 0);
            pool = aligned(as_pool_size(now->lanes, now->capacity, now->workers));
            CHECK(as_pool_init(pool, now->lanes, now->capacity, now->workers, now->scheme, start, now->spin_ns,
                               eventfd_of_loop) == AS_OK);
            run_threads(work, numbers, sizeof numbers[0], (int)now->workers + 1);
            as_pool_statistics found;
            as_pool_statistics_read(pool, &found);
            CHECK(found.jobs + found.helped >= total && found.helped > 0);
            free(pool);
            close(eventfd_of_loop);
            return 0;
        }
    }
    return -1;
}
