/*
 * How fast one core writes jumbo tuples of 5 x 16384 int64 for another that adds their values up, in a ring of 5 MiB: with plain
 * stores, and past the caches where lines are far (past_caches.h, whose numbers come from here). Not a test. From the
 * project's folder, with the numbers of two cores:
 *   gcc -std=gnu11 -O3 -pthread -Iactorstream/native/{include,src} actorstream/native/src/jumbo.c \
 *       tests/native/c/away_speed.c -o /tmp/away_speed && /tmp/away_speed 0 1
 * With -DAS_FAR_NS=1: past the caches in any case.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "jumbo.h"
#include "past_caches.h"

#define ROWS 16384
#define COLUMNS 5
#define BLOCKS 8
#define TUPLES 4000
#define ROUND_TRIPS 20000
#define TRIES 200

static _Alignas(128) _Atomic long written, taken, ball;
static uint8_t *blocks[BLOCKS];
static int64_t numbers[COLUMNS][ROWS], sum;
static int cores[2];

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void use_core(int core) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    if (sched_setaffinity(0, sizeof set, &set))
        abort();
}

static void *reader(void *unused) {
    as_column columns[COLUMNS];
    int64_t rows;
    use_core(cores[1]);
    for (long turn = 1; turn < 2 * ROUND_TRIPS; turn += 2) {
        while (atomic_load(&ball) != turn)
            ;
        atomic_store(&ball, turn + 1);
    }
    for (long tuple = 0; tuple < 2 * TUPLES; tuple++) {
        while (atomic_load(&written) <= tuple)
            ;
        if (as_jumbo_open(blocks[tuple % BLOCKS], UINT64_C(1) << 30, 1, COLUMNS, columns, &rows))
            abort();
        for (int c = 0; c < COLUMNS; c++)
            for (int64_t row = 0; row < rows; row++)
                sum += ((const int64_t *)columns[c].data)[row];
        atomic_store(&taken, tuple + 1);
    }
    return unused;
}

static int ascending(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* What it takes to try lines that the other core has read. */
static void try_lines(void) {
    double took[TRIES];
    for (int i = 0; i < TRIES; i++) {
        uint8_t *lines = blocks[i % BLOCKS] + 4096 * (1 + i / BLOCKS);
        const double start = seconds();
        lines_are_far(lines);
        took[i] = (seconds() - start) * 1e9;
    }
    qsort(took, TRIES, sizeof *took, ascending);
    printf("trying %d lines %.0f ns, of ten one less than %.0f and one more than %.0f\n", AS_TRIED_LINES,
           took[TRIES / 2], took[TRIES / 10], took[TRIES * 9 / 10]);
}

int main(int count, char **arguments) {
    as_column columns[COLUMNS] = {0};
    char table[32 * COLUMNS];
    pthread_t thread;
    for (int i = 0; i < 2; i++)
        cores[i] = count == 3 ? atoi(arguments[1 + i]) : i;
    for (int c = 0; c < COLUMNS; c++)
        columns[c] = (as_column){.width = 8, .data = numbers[c]};
    memset(numbers, 1, sizeof numbers);
    const as_piece piece = {columns, NULL, 0, ROWS};
    const uint64_t bytes = as_jumbo_measure(&piece, 1, COLUMNS, table);
    for (int b = 0; b < BLOCKS; b++)
        blocks[b] = aligned_alloc(64, bytes);
    use_core(cores[0]);
    if (pthread_create(&thread, NULL, reader, NULL))
        abort();
    double start = seconds();
    for (long turn = 1; turn < 2 * ROUND_TRIPS; turn += 2) {
        atomic_store(&ball, turn);
        while (atomic_load(&ball) != turn + 1)
            ;
    }
    printf("round trip of a line %.0f ns\n", (seconds() - start) / ROUND_TRIPS * 1e9);
    for (uint32_t away = 0; away < 2; away++) {
        start = seconds();
        for (long tuple = away * TUPLES; tuple < (away + 1L) * TUPLES; tuple++) {
            while (tuple - atomic_load(&taken) >= BLOCKS)
                ;
            if (as_jumbo_write(blocks[tuple % BLOCKS], bytes, table, &piece, 1, COLUMNS, 1, 2, away))
                abort();
            atomic_store(&written, tuple + 1);
        }
        printf("%s %.1f GB/s\n", away ? "past the caches where lines are far" : "plain",
               (double)bytes * TUPLES / (seconds() - start) / 1e9);
        while (atomic_load(&taken) < (away + 1L) * TUPLES)
            ;
        if (!away)
            try_lines();
    }
    pthread_join(thread, NULL);
    return sum == 1;
}
