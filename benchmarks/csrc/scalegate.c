/* Threads that drive the core's ScaleGate: k sources add runs of one size, r readers take all of them and add up the
   times of their rows, so that every row is touched once by each reader. Whoever can do nothing gives its core away. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scalegate.h"

/* cdef */
typedef struct {
    double seconds;       /* from the start of all threads to the last row at the last reader */
    double wrong;         /* rows that a reader did not get, or got out of order */
    double cpu;           /* seconds, of all threads */
} played;
played play(uint32_t sources, uint32_t readers, uint32_t jumbo, uint64_t rows, int in_turns, uint32_t runs,
            uint32_t stretches);
/* end */

typedef struct {
    as_scalegate *gate;
    const int64_t *time;
    uint32_t number, jumbo;
    uint64_t rows, got;
    int64_t sum, last, wrong;
    int reads;
    pthread_barrier_t *start;
} player;

static void source(player *self) {
    for (uint64_t at = 0; at < self->rows; at += self->jumbo) {
        while (as_scalegate_add(self->gate, self->number, self->time + at, NULL, self->jumbo,
                                (uint64_t)(uintptr_t)(self->time + at)) == AS_AGAIN)
            sched_yield();
    }
    as_scalegate_promise(self->gate, self->number, INT64_MAX);
}

static void take(player *self, const int64_t *time, uint32_t rows) {
    self->wrong += time[0] < self->last;
    int64_t sum = 0;
    for (uint32_t row = 0; row < rows; row++)
        sum += time[row];
    self->sum += sum;
    self->last = time[rows - 1];
    self->got += rows;
}

/* A jumbo tuple has 1,024 rows: no call ends before it has ROOM of them. */
enum { ROOM = 256, ROWS = ROOM * 1024, MOST_SOURCES = 64 };

static void reader(player *self) {
    as_stretch stretches[ROOM];
    uint16_t tags[ROWS + AS_SCALEGATE_BLOCK];
    int found;
    while ((found = as_scalegate_get_rows(self->gate, self->number, stretches, ROOM, tags, ROWS)) != AS_E_CLOSED) {
        const uint16_t *tag = tags;
        if (found == 0)
            sched_yield();
        for (const as_stretch *each = stretches, *end = stretches + found; each < end; each++) {
            if (each->source != AS_MERGE_MIXED) {
                take(self, (const int64_t *)(uintptr_t)each->reference + each->first, each->rows);
                continue;
            }
            const int64_t *next[MOST_SOURCES];
            const uint32_t rows = each->rows;
            for (const as_stretch *last = each + each->first; each < last;) {
                each++;
                next[each->source] = (const int64_t *)(uintptr_t)each->reference + each->first;
            }
            for (uint32_t row = 0; row < rows; row++)
                take(self, next[*tag++]++, 1);
        }
    }
}

static void *thread(void *argument) {
    player *self = argument;
    pthread_barrier_wait(self->start);
    if (self->reads)
        reader(self);
    else
        source(self);
    return NULL;
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* in_turns: 1: the sources' times alternate row by row; 0: run by run. */
played play(uint32_t sources, uint32_t readers, uint32_t jumbo, uint64_t rows, int in_turns, uint32_t runs,
            uint32_t stretches) {
    const uint32_t threads = sources + readers;
    int64_t rank[MOST_SOURCES];
    int64_t *times[MOST_SOURCES];
    player players[MOST_SOURCES];
    pthread_t ids[MOST_SOURCES];
    pthread_barrier_t start;
    void *memory = aligned_alloc(64, (as_scalegate_size(sources, readers, runs, stretches) + 63) / 64 * 64);
    played result = {0, 0, 0};
    for (uint32_t n = 0; n < sources; n++) {
        rank[n] = n;
        times[n] = malloc(rows * sizeof(int64_t));
        for (uint64_t row = 0; row < rows; row++) {
            const uint64_t block = row / jumbo;
            times[n][row] = (int64_t)(in_turns ? row * sources + n : (block * sources + n) * jumbo + row % jumbo);
        }
    }
    as_scalegate_init(memory, sources, readers, runs, stretches, rank, 0);
    pthread_barrier_init(&start, NULL, threads + 1);
    for (uint32_t n = 0; n < threads; n++) {
        const int reads = n >= sources;
        players[n] = (player){.gate = memory,
                              .time = reads ? NULL : times[n],
                              .number = reads ? n - sources : n,
                              .jumbo = jumbo,
                              .rows = rows,
                              .last = INT64_MIN,
                              .reads = reads,
                              .start = &start};
        pthread_create(&ids[n], NULL, thread, &players[n]);
    }
    const double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    pthread_barrier_wait(&start);
    const double begun = seconds_of(CLOCK_MONOTONIC);
    for (uint32_t n = 0; n < threads; n++)
        pthread_join(ids[n], NULL);
    result.seconds = seconds_of(CLOCK_MONOTONIC) - begun;
    result.cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    const int64_t total = (int64_t)(rows * sources), expected = total * (total - 1) / 2;
    for (uint32_t n = sources; n < threads; n++)
        result.wrong +=
            (double)(players[n].wrong + llabs((long long)players[n].got - total)) + (players[n].sum != expected);
    for (uint32_t n = 0; n < sources; n++)
        free(times[n]);
    pthread_barrier_destroy(&start);
    free(memory);
    return result;
}
