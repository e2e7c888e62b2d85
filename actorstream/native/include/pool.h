/*
 * Kernels on the threads of a pool, without the interpreter (ordered-multicore, sections 3, 5 and 6). For the threads of ONE
 * process; the caller owns the memory, 64-byte aligned.
 *
 * A job is the kernel of one jumbo tuple, prepared by the event loop's thread (the loop below). A lane is the jobs of one
 * operator: a shared worklist (worklist.h) that numbers them, and a reordering buffer (reorder.h) behind it. Workers take
 * the first lane in the loop's order that has a job, run as many of its jobs as the loop says, and put each in the buffer;
 * what left the buffer in order is the loop's again, which is told by an eventfd if it is parked.
 *
 *     loop: submit -> worklist -> worker: run -> reordering buffer -> ready: loop: collected
 *
 * Which lane comes first and how many jobs a worker takes is the loop's to say, once per many jobs; nothing here decides.
 * A lane has at most capacity - 1 jobs under way, so a number is only given to what has its place in the buffer: no worker
 * ever waits for one. Whoever submits keeps job and context until the job has left.
 *
 * No wake-up is lost:
 *   a worker  counts itself as sleeping, reads the word, looks for a job, sleeps if the word is still so;
 *   submit    pushes, changes the word, looks whether somebody sleeps: all of it seq_cst.
 *   the loop  sets parked, looks at what is ready, sleeps;
 *   a worker  makes it ready, looks at parked: all of it seq_cst.
 */
#ifndef ACTORSTREAM_POOL_H
#define ACTORSTREAM_POOL_H
#include "status.h"
/* cffi: begin */
typedef struct as_pool as_pool;
typedef struct as_pool_job {
    uintptr_t function; /* int32_t (*)(void *context); any thread, once */
    void *context;
    int32_t outcome;    /* what it answered */
    uint32_t worker;    /* who has run it; the number of workers: the loop */
    uint64_t took_ns;
    uint64_t delay_ns;  /* a worker sleeps so long before it runs it, to shake out races; 0 but in tests */
} as_pool_job;
typedef struct as_pool_statistics {
    uint64_t jobs;   /* that were run by workers */
    uint64_t helped; /* by the loop */
    uint64_t turns;  /* times that a worker took a lane's jobs */
    uint64_t sleeps; /* of workers */
    uint64_t rung;   /* times that the loop was told */
} as_pool_statistics;

/* lanes: 1 to 4096. capacity: of each, a power of two, 2 to 2^16. workers: 1 to 1024. 0: one of these is wrong. */
uint64_t as_pool_size(uint32_t lanes, uint32_t capacity, uint32_t workers);
/* scheme: of the reordering buffers. start: the first serial number of each lane. spin_ns: how long a worker looks for a
 * job before it sleeps. eventfd: non-blocking. AS_OK | AS_E_ARGUMENT. */
int as_pool_init(void *memory, uint32_t lanes, uint32_t capacity, uint32_t workers, uint32_t scheme, uint64_t start,
                 uint64_t spin_ns, int eventfd);

/* The loop's; it never waits in these, but for as_pool_settle. */
int as_pool_submit(as_pool *pool, uint32_t lane, as_pool_job *job); /* AS_OK | AS_AGAIN: capacity - 1 are under way */
void as_pool_rank(as_pool *pool, uint32_t rank, uint32_t lane); /* changes places with the rank-th */
void as_pool_allot(as_pool *pool, uint32_t lane, uint32_t jobs); /* how many a worker takes at once; 1 unless set */
uint64_t as_pool_ready(const as_pool *pool, uint32_t lane); /* the serial number that leaves next */
void as_pool_collected(as_pool *pool, uint32_t lane,
                       uint64_t serial); /* all below it are the loop's again: they may go */
uint64_t as_pool_waiting(const as_pool *pool); /* jobs that nobody has begun, about */
int as_pool_help(as_pool *pool); /* runs one job. AS_OK | AS_AGAIN: there was none */
int as_pool_run(as_pool_job *job); /* AS_OK: has run a job that was not submitted, here and now */
int as_pool_settle(as_pool *pool, uint32_t lane); /* AS_OK: has helped, and waited, until all jobs of a lane left */
/* From now on the eventfd tells of what becomes ready. AS_AGAIN: something is ready that was not collected. */
int as_pool_park(as_pool *pool);
void as_pool_unpark(as_pool *pool);

/* A worker's: each number by one thread. Runs jobs, and sleeps while there are none, until it is recalled. */
void as_pool_work(as_pool *pool, uint32_t worker);
void as_pool_recall(as_pool *pool,
                    uint32_t worker); /* any thread: as_pool_work returns soon, or at once when next called */
void as_pool_statistics_read(const as_pool *pool, as_pool_statistics *out);
/* cffi: end */
#endif
