/*
 * litmus_reorder SECONDS: does a wake-up get lost? In each round two threads send one unit each through the non-blocking
 * buffer; when both have come out of send, both units must have left. Prints rounds and losses; ends at the first loss.
 *
 * The race: one thread clears the flag and looks at the next slot again while the other stores that slot and tries to set
 * the flag. ALLOWED: either of them sees the other. FORBIDDEN: neither does. Built with AS_REORDER_RELEASE_STORE, the look
 * may overtake the clearing, and the forbidden outcome comes up.
 */
#define _GNU_SOURCE
#include <time.h>

#include "../../../actorstream/native/include/reorder.h"
#include "stress.h"

typedef struct player {
    uint64_t number;
    uint64_t rounds, lost;
} player;

enum { LINES = 8 };

static as_reorder *buffer;
static struct {
    _Alignas(64) _Atomic uint64_t word;
} lines[LINES]; /* written by the exit function and read by both before: its stores take a while to leave the core */
static uint64_t left;
static _Atomic uint64_t arrived;
static _Atomic int stop;
static double seconds;

static int leave(void *context, uint64_t serial, uint64_t unit) {
    (void)context, (void)unit;
    CHECK(serial == left);
    left++;
    for (int i = 0; i < LINES; i++) {
        atomic_store_explicit(&lines[i].word, serial, memory_order_relaxed);
    }
    return AS_OK;
}

static double now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

/* Both threads go on together, as nearly as two cores can. */
static void meet(uint64_t *meetings) {
    *meetings += 2;
    atomic_fetch_add(&arrived, 1);
    for (int spins = 0; atomic_load(&arrived) < *meetings; spins++) {
        if (spins > 10000) {
            sched_yield();
        }
    }
}

/* On the number-th CPU that this process may use: two threads on one CPU never meet. */
static void pin(uint64_t number) {
    cpu_set_t may, one;
    CHECK(sched_getaffinity(0, sizeof may, &may) == 0);
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &may) && number-- == 0) {
            CPU_SET(cpu, &one);
            CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
        }
    }
}

static void *play(void *argument) {
    player *me = argument;
    uint64_t state = 77 + me->number, meetings = 0;
    double end = now() + seconds;
    pin(me->number);
    for (;;) {
        for (int i = 0; i < LINES; i++) {
            (void)atomic_load_explicit(&lines[i].word, memory_order_relaxed);
        }
        meet(&meetings);
        if (atomic_load(&stop)) {
            return NULL;
        }
        for (uint64_t i = next_random(&state) % 64; i > 0; i--) {
            __asm__ __volatile__("");
        }
        CHECK(as_reorder_send(buffer, 2 * me->rounds + me->number, 2) == AS_OK);
        me->rounds++;
        meet(&meetings);
        if (me->number == 0) {
            me->lost += as_reorder_limit(buffer) != 2 * me->rounds + 2;
            as_reorder_send_pending(buffer);
            CHECK(left == 2 * me->rounds);
            if (me->lost || (me->rounds % 1024 == 0 && now() > end)) {
                atomic_store(&stop, 1);
            }
        }
    }
}

int main(int count, char **words) {
    player players[2] = {{.number = 0}, {.number = 1}};
    CHECK(count == 2);
    seconds = atof(words[1]);
    buffer = aligned(as_reorder_size(2));
    CHECK(as_reorder_init(buffer, AS_REORDER_NON_BLOCKING, 2, 0, leave, NULL, 0) == AS_OK);
    run_threads(play, players, sizeof players[0], 2);
    printf("%llu rounds, %llu lost\n", (unsigned long long)players[0].rounds, (unsigned long long)players[0].lost);
    return 0;
}
