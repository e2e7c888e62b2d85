/* What the stress programs share: threads, failing, control memory, pseudo-random numbers. */
#ifndef STRESS_H
#define STRESS_H
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 8

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* Every program: runs the mode of that name and answers 0, or -1 if it has none of that name. */
int stress_arena(const char *mode, uint64_t rounds);
int stress_channel(const char *mode, uint64_t rounds);
int stress_doorbell(const char *mode, uint64_t rounds);
int stress_keepalive(const char *mode, uint64_t rounds);
int stress_line(const char *mode, uint64_t rounds);
int stress_mpmc(const char *mode, uint64_t rounds);
int stress_pool(const char *mode, uint64_t rounds);
int stress_progress(const char *mode, uint64_t rounds);
int stress_reorder(const char *mode, uint64_t rounds);
int stress_returned(const char *mode, uint64_t rounds);
int stress_runs(const char *mode, uint64_t rounds);
int stress_scalegate(const char *mode, uint64_t rounds);
int stress_worklist(const char *mode, uint64_t rounds);

static inline void *aligned(uint64_t bytes) {
    void *memory = aligned_alloc(128, (bytes + 127) / 128 * 128);
    CHECK(memory != NULL);
    memset(memory, 0, bytes);
    return memory;
}

static inline uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Passes a random while, up to about a microsecond, so that two threads meet at every point of their paths. */
static inline void dither(uint64_t *state) {
    for (uint64_t i = next_random(state) % 512; i > 0; i--) {
        __asm__ __volatile__("");
    }
}

/* Runs body(argument + i * size) on `count` threads and waits for all. */
static inline void run_threads(void *(*body)(void *), void *arguments, size_t size, int count) {
    pthread_t threads[MOST_THREADS];
    CHECK(count <= MOST_THREADS);
    for (int i = 0; i < count; i++) {
        CHECK(pthread_create(&threads[i], NULL, body, (char *)arguments + (size_t)i * size) == 0);
    }
    for (int i = 0; i < count; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

/* Sleeps until the eventfd is readable. Two minutes are no tuning knob: a ring that got lost never comes. */
static inline void sleep_on(int eventfd) {
    struct pollfd wait = {.fd = eventfd, .events = POLLIN};
    int ready;
    while ((ready = poll(&wait, 1, 120000)) < 0 && errno == EINTR) {
    }
    if (ready == 0) {
        fprintf(stderr, "lost wake-up: parked, and nobody rang\n");
        exit(1);
    }
}
#endif
