/* Round trip of one cache line between two pinned threads: what a hand-over between two cores costs at least.
   Two threads of one process share the line exactly as two processes would. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

/* cdef */
double cache_line_round_trip(int core_a, int core_b, int rounds);
/* end */

struct line {
    _Alignas(128) _Atomic uint32_t ball;
    char pad[124];
    int core, rounds;
};

static int pin(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    return pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *answer(void *argument) {
    struct line *line = argument;
    pin(line->core);
    for (int i = 0; i < line->rounds; i++) {
        while (atomic_load_explicit(&line->ball, memory_order_acquire) != 2u * (uint32_t)i + 1u) {
        }
        atomic_store_explicit(&line->ball, 2u * (uint32_t)i + 2u, memory_order_release);
    }
    return 0;
}

/* Nanoseconds a round trip, or -1 if a thread could not be made or pinned. Call from a process of one's own: it
   leaves the calling thread pinned to core_a. Spins; ends after `rounds` round trips. */
double cache_line_round_trip(int core_a, int core_b, int rounds) {
    static struct line line;
    struct timespec begun, ended;
    pthread_t other;
    atomic_store_explicit(&line.ball, 0, memory_order_release);
    line.core = core_b;
    line.rounds = rounds;
    if (pin(core_a) || pthread_create(&other, 0, answer, &line))
        return -1.0;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int i = 0; i < rounds; i++) {
        atomic_store_explicit(&line.ball, 2u * (uint32_t)i + 1u, memory_order_release);
        while (atomic_load_explicit(&line.ball, memory_order_acquire) != 2u * (uint32_t)i + 2u) {
        }
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    pthread_join(other, 0);
    return ((double)(ended.tv_sec - begun.tv_sec) * 1e9 + (double)(ended.tv_nsec - begun.tv_nsec)) / rounds;
}
