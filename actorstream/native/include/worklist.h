/*
 * The worklist of a data-parallel operator: inputs in arrival order, handed to several workers so that no two of them
 * are ever in one partition and each partition is worked off in order (ordered-multicore, section 4). For the threads of
 * ONE process; the caller owns the memory, 64-byte aligned. Items are 64-bit references that nobody here looks at.
 *
 *   AS_WORKLIST_STATELESS    no partitions: items go to whoever asks (the shared worklist of section 5).
 *   AS_WORKLIST_HYBRID       figure 7: a master queue of partitions, partition queues, delegation counters. Nobody waits.
 *   AS_WORKLIST_SHARED       4.1, for comparison: one queue; while the partition of its first item is busy, nobody gets
 *                            anything. A mutex makes looking and taking one step.
 *   AS_WORKLIST_PARTITIONED  4.2, for comparison: a worker takes a whole partition queue and leaves it when it is empty.
 *
 * The serial number of an item is its place in the order of pushes (from `start` on, mod 2^64). A worker passes as limit
 * the serial number that it may not reach: as_reorder_limit of the buffer behind the operator (a number is taken only
 * when its slot is free), or as_worklist_end for no limit. Limits only grow; an old one is merely too low.
 *
 * The number of partitions has nothing to do with that of workers. Of one worklist at most `capacity` items are waiting.
 */
#ifndef ACTORSTREAM_WORKLIST_H
#define ACTORSTREAM_WORKLIST_H
#include "status.h"
/* cffi: begin */
enum { AS_WORKLIST_STATELESS = 0, AS_WORKLIST_HYBRID = 1, AS_WORKLIST_SHARED = 2, AS_WORKLIST_PARTITIONED = 3 };
typedef struct as_worklist as_worklist;
typedef struct as_work {
    uint64_t item;
    uint64_t serial;
    uint32_t partition;
    uint32_t unused;
} as_work;

/* capacity: a power of two, 1 to 2^24. partitions: 1 to 2^20; 1 if stateless. 0: one of these is wrong. */
uint64_t as_worklist_size(uint32_t kind, uint32_t capacity, uint32_t partitions);
int as_worklist_init(void *memory, uint32_t kind, uint32_t capacity, uint32_t partitions, uint64_t start);
/* One thread at a time, each after the other (the exit section of the buffer before it does that); wait-free.
 * AS_OK | AS_AGAIN: full | AS_E_ARGUMENT: no such partition. */
int as_worklist_push(as_worklist *list, uint64_t item, uint32_t partition);
/* Any thread; lock-free, the shared queue waits for a mutex. AS_OK: the caller is now alone in out->partition, works on
 * the item and calls done. AS_AGAIN: there is nothing that may be begun now. worker: where AS_WORKLIST_PARTITIONED
 * begins to look (partition worker mod partitions); the others ignore it. */
int as_worklist_pop(as_worklist *list, uint32_t worker, uint64_t limit, as_work *out);
/* The worker has finished *work. AS_OK: *work is the next item of the same partition, to be worked on at once (it was
 * delegated to this worker, no other will). AS_AGAIN: the worker has left the partition. */
int as_worklist_done(as_worklist *list, uint64_t limit, as_work *work);
uint64_t as_worklist_end(const as_worklist *list);    /* the serial number that the next push will get */
/* Approximate while others work on it: */
uint64_t as_worklist_count(const as_worklist *list);  /* items that wait: pushed and not yet handed out */
uint64_t as_worklist_room(const as_worklist *list);   /* pushes that fit; for the pusher never too high */
uint64_t as_worklist_ready(const as_worklist *list, uint64_t limit);  /* at most so many can be begun now; 0: none */
/* cffi: end */
#endif
