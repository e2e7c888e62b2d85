/*
 * Bounded MPMC ring of u64 references for the threads of ONE process (pool worklists); never between processes.
 * Slots carry a sequence number (Vyukov's bounded queue). Any number of threads may push and pop at once; the caller owns
 * the memory, 64-byte aligned. Nobody waits for a lock, but it is not lock-free in the strict sense: a thread that is
 * suspended between claiming a slot and publishing it makes pops answer "empty" at that slot until it goes on.
 */
#ifndef ACTORSTREAM_MPMC_H
#define ACTORSTREAM_MPMC_H
#include "status.h"
/* cffi: begin */
typedef struct as_mpmc as_mpmc;
uint64_t as_mpmc_size(uint32_t slots);              /* slots: a power of two, at least 2 */
int as_mpmc_init(void *memory, uint32_t slots, uint64_t start);  /* start: first index, for testing wrap-around */
int as_mpmc_push(as_mpmc *ring, uint64_t item);     /* AS_OK | AS_AGAIN (full) */
int as_mpmc_pop(as_mpmc *ring, uint64_t *item);     /* AS_OK | AS_AGAIN (empty) */
uint64_t as_mpmc_count(const as_mpmc *ring);        /* approximate while others work on it */
/* cffi: end */
#endif
