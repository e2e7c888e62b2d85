/* The worker loop of a pool: see pool.h for who does what and why nobody is left asleep. */
#include "../include/pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../include/reorder.h"
#include "../include/worklist.h"
#include "machine.h"

#define LINE 64u
#define MOST_LANES 4096u
#define MOST_CAPACITY (1u << 16)
#define MOST_WORKERS 1024u

enum { LOOKS = 16 }; /* between two looks at the clock */

typedef int32_t (*job_function)(void *);

typedef struct lane {
    as_worklist *list;
    as_reorder *buffer;
    uint64_t submitted, collected; /* the loop's */
    _Alignas(64) _Atomic uint64_t ready; /* the next serial number to leave; written in the exit section */
    _Alignas(64) _Atomic uint32_t allotted;
} lane;

typedef struct worker {
    _Alignas(64) _Atomic uint32_t recalled;
} worker;

struct as_pool {
    uint32_t lanes, capacity, workers;
    int eventfd;
    uint64_t spin_ns;
    lane *all;
    _Atomic uint32_t *order; /* rank -> lane */
    worker *each;
    _Alignas(64) _Atomic uint32_t word; /* changes whenever there may be something for who sleeps */
    _Alignas(64) _Atomic uint32_t sleeping;
    _Alignas(64) _Atomic uint32_t parked;
    _Alignas(64) _Atomic uint64_t jobs, helped, turns, sleeps, rung;
};

static inline void delay(uint64_t ns) {
    if (ns != 0) {
        const struct timespec span = {(time_t)(ns / UINT64_C(1000000000)), (long)(ns % UINT64_C(1000000000))};
        nanosleep(&span, NULL);
    }
}

static uint64_t lines(uint64_t bytes) {
    return (bytes + LINE - 1) / LINE * LINE;
}

static int fits(uint32_t lanes, uint32_t capacity, uint32_t workers) {
    return lanes >= 1 && lanes <= MOST_LANES && capacity >= 2 && capacity <= MOST_CAPACITY &&
           (capacity & (capacity - 1)) == 0 && workers >= 1 && workers <= MOST_WORKERS;
}

uint64_t as_pool_size(uint32_t lanes, uint32_t capacity, uint32_t workers) {
    if (!fits(lanes, capacity, workers)) {
        return 0;
    }
    uint64_t each = lines(as_worklist_size(AS_WORKLIST_STATELESS, capacity, 1)) + lines(as_reorder_size(capacity));
    return lines(sizeof(as_pool)) + lines(lanes * sizeof(lane)) + lines(lanes * sizeof(_Atomic uint32_t)) +
           lines(workers * sizeof(worker)) + lanes * each;
}

/* The exit function of a lane's buffer: the job is the loop's now. */
static int leave(void *context, uint64_t serial, uint64_t unit) {
    lane *at = context;
    (void)unit;
    /* seq_cst: before the look at parked, in tell. Partners: the loads in as_pool_ready, as_pool_park, all_left */
    atomic_store_explicit(&at->ready, serial + 1, memory_order_seq_cst);
    return AS_OK;
}

int as_pool_init(void *memory, uint32_t lanes, uint32_t capacity, uint32_t workers, uint32_t scheme, uint64_t start,
                 uint64_t spin_ns, int eventfd) {
    const uint64_t size = as_pool_size(lanes, capacity, workers);
    if (memory == NULL || (uintptr_t)memory % LINE || size == 0) {
        return AS_E_ARGUMENT;
    }
    memset(memory, 0, size);
    as_pool *pool = memory;
    char *at = (char *)memory + lines(sizeof *pool);
    pool->lanes = lanes;
    pool->capacity = capacity;
    pool->workers = workers;
    pool->eventfd = eventfd;
    pool->spin_ns = spin_ns;
    pool->all = (lane *)at;
    at += lines(lanes * sizeof(lane));
    pool->order = (_Atomic uint32_t *)at;
    at += lines(lanes * sizeof(_Atomic uint32_t));
    pool->each = (worker *)at;
    at += lines(workers * sizeof(worker));
    for (uint32_t i = 0; i < lanes; i++) {
        lane *one = &pool->all[i];
        one->list = (as_worklist *)at;
        at += lines(as_worklist_size(AS_WORKLIST_STATELESS, capacity, 1));
        one->buffer = (as_reorder *)at;
        at += lines(as_reorder_size(capacity));
        one->submitted = one->collected = start;
        atomic_init(&one->ready, start);
        atomic_init(&one->allotted, 1);
        atomic_init(&pool->order[i], i);
        if (as_worklist_init(one->list, AS_WORKLIST_STATELESS, capacity, 1, start) != AS_OK ||
            as_reorder_init(one->buffer, scheme, capacity, start, leave, one, 0) != AS_OK) {
            return AS_E_ARGUMENT;
        }
    }
    return AS_OK;
}

/* Who sleeps looks again. */
static void stir(as_pool *pool, int sleepers) {
    atomic_fetch_add_explicit(&pool->word, 1, memory_order_seq_cst);          /* partner: the load in doze */
    if (atomic_load_explicit(&pool->sleeping, memory_order_seq_cst) != 0) {   /* partner: the count in doze */
        syscall(SYS_futex, &pool->word, FUTEX_WAKE_PRIVATE, sleepers, NULL, NULL, 0);
    }
}

/* Something is ready: the loop is told if it is parked. */
static void tell(as_pool *pool) {
    /* seq_cst; partner: the store in as_pool_park */
    if (atomic_load_explicit(&pool->parked, memory_order_seq_cst) != 0 &&
        atomic_exchange_explicit(&pool->parked, 0, memory_order_seq_cst) != 0) {
        const uint64_t one = 1;
        atomic_fetch_add_explicit(&pool->rung, 1, memory_order_relaxed);
        while (write(pool->eventfd, &one, sizeof one) < 0 && errno == EINTR) {
        }
    }
}

int as_pool_run(as_pool_job *job) {
    const uint64_t begun = as_now_ns();
    job->outcome = ((job_function)job->function)(job->context);
    job->took_ns = as_now_ns() - begun;
    return AS_OK;
}

/* Runs jobs of the first lane that has one, at most as many as are allotted. Answers how many. */
static uint32_t take_turn(as_pool *pool, uint32_t number, uint32_t most) {
    as_work work;
    for (uint32_t rank = 0; rank < pool->lanes; rank++) {
        lane *at = &pool->all[atomic_load_explicit(&pool->order[rank], memory_order_relaxed)];
        uint32_t allotted = atomic_load_explicit(&at->allotted, memory_order_relaxed), done = 0;
        allotted = most < allotted ? most : allotted;
        while (done < allotted && as_worklist_pop(at->list, number, as_reorder_limit(at->buffer), &work) == AS_OK) {
            as_pool_job *job = (as_pool_job *)(uintptr_t)work.item;
            delay(job->delay_ns);
            as_pool_run(job);
            job->worker = number;
            /* has a free slot: the limit. It may not be touched any more: it is the loop's as soon as it has left */
            as_reorder_send(at->buffer, work.serial, (uint64_t)(uintptr_t)job);
            tell(pool);
            done++;
            if (number < pool->workers &&
                atomic_load_explicit(&pool->each[number].recalled, memory_order_relaxed) != 0) {
                break; /* a hint; as_pool_work takes it */
            }
        }
        if (done != 0) {
            return done;
        }
    }
    return 0;
}

static int has_job(const as_pool *pool) {
    for (uint32_t i = 0; i < pool->lanes; i++) {
        if (as_worklist_ready(pool->all[i].list, as_reorder_limit(pool->all[i].buffer)) != 0) {
            return 1;
        }
    }
    return 0;
}

static void doze(as_pool *pool, worker *self) {
    atomic_fetch_add_explicit(&pool->sleeping, 1, memory_order_seq_cst);              /* partner: the look in stir */
    uint32_t seen = atomic_load_explicit(&pool->word, memory_order_seq_cst);          /* partner: the count in stir */
    if (!has_job(pool) && atomic_load_explicit(&self->recalled, memory_order_seq_cst) == 0) {
        atomic_fetch_add_explicit(&pool->sleeps, 1, memory_order_relaxed);
        syscall(SYS_futex, &pool->word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    }
    atomic_fetch_sub_explicit(&pool->sleeping, 1, memory_order_relaxed);
}

void as_pool_work(as_pool *pool, uint32_t number) {
    worker *self = &pool->each[number];
    uint64_t since = as_now_ns();
    for (uint32_t looks = 1;; looks++) {
        /* acquire; partner: the store in as_pool_recall */
        if (atomic_load_explicit(&self->recalled, memory_order_acquire) != 0) {
            atomic_store_explicit(&self->recalled, 0,
                                  memory_order_relaxed); /* a recall meanwhile was for this return */
            return;
        }
        uint32_t done = take_turn(pool, number, UINT32_MAX);
        if (done != 0) {
            atomic_fetch_add_explicit(&pool->jobs, done, memory_order_relaxed);
            atomic_fetch_add_explicit(&pool->turns, 1, memory_order_relaxed);
            since = as_now_ns();
            continue;
        }
        if (pool->spin_ns == 0 || (looks % LOOKS == 0 && as_now_ns() - since > pool->spin_ns)) {
            doze(pool, self);
            since = as_now_ns();
        } else {
            as_relax();
        }
    }
}

void as_pool_recall(as_pool *pool, uint32_t number) {
    atomic_store_explicit(&pool->each[number].recalled, 1, memory_order_seq_cst); /* partners: as_pool_work, doze */
    stir(pool, INT_MAX); /* all: the kernel would wake any of them */
}

int as_pool_submit(as_pool *pool, uint32_t number, as_pool_job *job) {
    lane *at = &pool->all[number];
    if (at->submitted - at->collected >= pool->capacity - 1 ||
        as_worklist_push(at->list, (uint64_t)(uintptr_t)job, 0) != AS_OK) {
        return AS_AGAIN;
    }
    at->submitted++;
    stir(pool, 1);
    return AS_OK;
}

void as_pool_rank(as_pool *pool, uint32_t rank, uint32_t number) {
    uint32_t at = 0; /* only the loop writes the order; a look meanwhile may miss a lane: the next one does not */
    while (atomic_load_explicit(&pool->order[at], memory_order_relaxed) != number) {
        at++;
    }
    uint32_t other = atomic_load_explicit(&pool->order[rank], memory_order_relaxed);
    atomic_store_explicit(&pool->order[at], other, memory_order_relaxed);
    atomic_store_explicit(&pool->order[rank], number, memory_order_relaxed);
}

void as_pool_allot(as_pool *pool, uint32_t number, uint32_t jobs) {
    atomic_store_explicit(&pool->all[number].allotted, jobs == 0 ? 1 : jobs, memory_order_relaxed);
}

uint64_t as_pool_ready(const as_pool *pool, uint32_t number) {
    /* seq_cst, so acquire; partner: the store in leave. What the workers wrote to these jobs is visible */
    return atomic_load_explicit(&pool->all[number].ready, memory_order_seq_cst);
}

void as_pool_collected(as_pool *pool, uint32_t number, uint64_t serial) {
    pool->all[number].collected = serial;
}

uint64_t as_pool_waiting(const as_pool *pool) {
    uint64_t found = 0;
    for (uint32_t i = 0; i < pool->lanes; i++) {
        found += as_worklist_count(pool->all[i].list);
    }
    return found;
}

int as_pool_help(as_pool *pool) {
    if (take_turn(pool, pool->workers, 1) == 0) {
        return AS_AGAIN;
    }
    atomic_fetch_add_explicit(&pool->helped, 1, memory_order_relaxed);
    return AS_OK;
}

static int all_left(const as_pool *pool, uint32_t number) {
    return as_pool_ready(pool, number) == pool->all[number].submitted;
}

int as_pool_settle(as_pool *pool, uint32_t number) {
    while (!all_left(pool, number)) {
        if (as_pool_help(pool) == AS_OK) {
            continue;
        }
        atomic_store_explicit(&pool->parked, 1, memory_order_seq_cst); /* partner: the look in tell */
        if (!all_left(pool, number)) {
            struct pollfd wait = {.fd = pool->eventfd, .events = POLLIN};
            uint64_t count;
            while (poll(&wait, 1, -1) < 0 && errno == EINTR) {
            }
            while (read(pool->eventfd, &count, sizeof count) < 0 && errno == EINTR) {
            }
        }
        as_pool_unpark(pool);
    }
    return AS_OK;
}

int as_pool_park(as_pool *pool) {
    atomic_store_explicit(&pool->parked, 1, memory_order_seq_cst); /* partner: the look in tell */
    for (uint32_t i = 0; i < pool->lanes; i++) {
        if (as_pool_ready(pool, i) != pool->all[i].collected) {
            return AS_AGAIN;
        }
    }
    return AS_OK;
}

void as_pool_unpark(as_pool *pool) {
    atomic_store_explicit(&pool->parked, 0, memory_order_relaxed); /* a ring too many does nothing */
}

void as_pool_statistics_read(const as_pool *pool, as_pool_statistics *out) {
    out->jobs = atomic_load_explicit(&pool->jobs, memory_order_relaxed);
    out->helped = atomic_load_explicit(&pool->helped, memory_order_relaxed);
    out->turns = atomic_load_explicit(&pool->turns, memory_order_relaxed);
    out->sleeps = atomic_load_explicit(&pool->sleeps, memory_order_relaxed);
    out->rung = atomic_load_explicit(&pool->rung, memory_order_relaxed);
}
