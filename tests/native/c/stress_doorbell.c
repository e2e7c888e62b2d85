/*
 * Doorbell, as a litmus of the parking protocol. Ringers publish by adding to a counter of their bit, then ring; the
 * owner, after collecting a bit, must find all that was published before that ring.
 *
 *   FORBIDDEN: the owner sleeps while something published and rung has not been seen (it would sleep forever).
 */
#include <sys/eventfd.h>
#include <unistd.h>

#include "doorbell.h"
#include "stress.h"

typedef struct load {
    const char *name;
    int ringers;
    uint32_t bits;
    uint32_t stride; /* ringer i uses bit i * stride */
    int answer;      /* wait for the owner to see each ring before the next: he parks almost every time */
    uint32_t most;   /* bits collected at once */
} load;

static const load loads[] = {
    {"one-bit", 1, 1, 1, 0, 1},          {"answered", 1, 1, 1, 1, 1},       {"shared-bit", 4, 64, 0, 0, 64},
    {"many-words", 4, 9000, 2500, 0, 4}, {"collect-one", 4, 256, 60, 0, 1}, {"answered-many", 4, 9000, 2500, 1, 4},
};

static const load *now;
static uint64_t each;
static void *memory;
static int event;
static _Atomic uint64_t published[MOST_THREADS], taken[MOST_THREADS];

static void *work(void *argument) {
    int number = *(int *)argument;
    as_doorbell *bell = as_doorbell_open(memory, event);
    CHECK(bell != NULL);
    uint64_t state = 77 + (uint64_t)number;
    if (number < now->ringers) {
        for (uint64_t i = 1; i <= each; i++) {
            if (now->answer) {
                dither(&state);
            }
            atomic_store(&published[number], i);
            as_doorbell_ring(bell, (uint32_t)number * now->stride);
            while (now->answer && atomic_load(&taken[number]) < i) {
                sched_yield();
            }
        }
    } else {
        uint32_t *bits = calloc(now->most, sizeof *bits);
        uint64_t total = 0, sleeps = 0;
        while (total < each * (uint64_t)now->ringers) {
            uint32_t count = as_doorbell_collect(bell, bits, now->most);
            for (uint32_t i = 0; i < count; i++) {
                CHECK(bits[i] < now->bits);
                for (int ringer = 0; ringer < now->ringers; ringer++) {
                    if ((uint32_t)ringer * now->stride == bits[i]) {
                        uint64_t value = atomic_load(&published[ringer]);
                        total += value - atomic_load(&taken[ringer]);
                        atomic_store(&taken[ringer], value);
                    }
                }
            }
            if (count != 0 || total == each * (uint64_t)now->ringers) {
                continue;
            }
            if (as_doorbell_park(bell) == AS_OK) {
                sleeps++;
                sleep_on(event);
                as_doorbell_unpark(bell);
            }
        }
        free(bits);
        CHECK(!now->answer || sleeps > 0);
    }
    as_doorbell_close(bell);
    return NULL;
}

int stress_doorbell(const char *mode, uint64_t rounds) {
    for (now = loads; now < loads + sizeof loads / sizeof loads[0]; now++) {
        if (strcmp(now->name, mode) == 0) {
            int numbers[MOST_THREADS] = {0, 1, 2, 3, 4, 5, 6, 7};
            each = rounds;
            memory = aligned(as_doorbell_size(now->bits));
            event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
            CHECK(event >= 0 && as_doorbell_init(memory, now->bits) == AS_OK);
            run_threads(work, numbers, sizeof numbers[0], now->ringers + 1);
            close(event);
            free(memory);
            return 0;
        }
    }
    return -1;
}
