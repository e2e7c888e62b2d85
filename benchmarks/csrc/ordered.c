/*
 * Drives the core's reordering buffers and worklists by threads: one operator of parametric cost, or two in a row
 * (ordered-multicore, section 7). The operators multiply matrices until their cost is reached, and tuples have 64 bytes; a
 * run's outputs are counted where they leave, between a tenth of its time and its end.
 */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "histogram.h"
#include "multiply.h"
#include "reorder.h"
#include "worklist.h"

/* cdef */
enum { UNORDERED = 2 }; /* as a scheme, beside those of reorder.h: outputs leave as they come */
typedef struct run_settings {
    uint32_t threads, scheme, kind, partitions, window, selectivity;
    int timed;         /* reads the clock around every send and exit */
    double cost_us;    /* of the (first) operator */
    double next_us;    /* of the second */
    double sigma;      /* keys are |N(0, sigma)| below 1, by range; 0: uniform */
    double seconds;
} run_settings;
typedef struct run_result {
    double rate;       /* outputs of the last operator a second, one for each of its inputs */
    double unit_us;    /* processor time of all threads for one of them */
    double work_us;    /* mean time in the (first) operator, without the send; timed only, as all below */
    double cost_us;    /* mean time in it and its send */
    double send_p99_us, send_p999_us;
    double latency_us; /* mean: from the start of the operator to the exit of its output */
    double latency_p50_us;
    double latency_p99_us;
} run_result;
int run_operator(const run_settings *settings, run_result *result);
int run_pipeline(const run_settings *settings, run_result *result);
/* end */

enum {
    MOST_THREADS = 16,
    MOST_SELECTIVITY = 256,
    LIST = 1024,
    DRAWS = 1 << 16,
    QUEUES = 128,
    QUEUE = 64,
    MASTER = 1 << 13,
    PASSED = 1 << 12, /* more than LIST and the largest window that a pipeline may have */
    SLICE_US = 2000 /* how long a thread of a pipeline stays with an operator before it looks for the last one again */
};

typedef struct tuple {
    uint64_t words[8];
} tuple;

typedef struct worker {
    _Alignas(128) struct bench *bench;
    uint32_t number;
    double matrix[DIMENSION][DIMENSION];
    tuple scratch[MOST_SELECTIVITY];
    _Alignas(64) _Atomic uint64_t left;
    uint64_t work_count, work_ns, cost_ns, processor_ns;
    histogram sends;
} worker;

typedef struct stage {
    uint64_t iterations; /* of its operator, for one input */
    int slice; /* inputs that a thread takes at most before it looks at the operators again */
    as_worklist *list;
    as_reorder *buffer;
    tuple *units; /* outputs by serial number, of as many as the buffer has slots */
    uint64_t *starts;
    uint64_t mask;
    uint32_t selectivity;
} stage;

typedef struct bench {
    run_settings settings;
    stage stages[2];
    int count;
    double speed; /* products of matrices in a microsecond */
    uint16_t *draws; /* partitions of the items, again and again */
    uint64_t pushed; /* to the first worklist; by one thread at a time, as is pushed_on to the second */
    uint64_t pushed_on;
    _Alignas(64) _Atomic uint32_t pushing;
    _Alignas(64) _Atomic int stop;
    _Atomic int blocked; /* the first buffer's exit function was refused room in the second worklist */
    /* The worklist downstream as figure 7 fills it, a queue a partition and their master; nobody reads it. Written in the
     * last exit section, or by all at once when nothing is ordered. */
    _Alignas(64) _Atomic uint64_t master_end;
    _Atomic uint64_t left;
    _Atomic uint32_t ends[QUEUES];
    uint8_t master[MASTER];
    tuple queues[QUEUES][QUEUE];
    histogram latency; /* of the last stage; written in its exit section */
    /* The tuples of the items in the second worklist, by serial number. A place is written again PASSED items later, when
     * its item has long left the second buffer: at most LIST wait, and what is taken lies within the window. */
    tuple passed[PASSED];
    worker *workers;
} bench;

static uint32_t queue_of(const tuple *given) {
    return (uint32_t)(given->words[0] * UINT64_C(0x9e3779b97f4a7c15) >> 57);
}

/* One thread at a time. */
static void put_out(bench *bench, const tuple *tuples, uint32_t count) {
    uint64_t end = atomic_load_explicit(&bench->master_end, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = queue_of(&tuples[i]), at = atomic_load_explicit(&bench->ends[to], memory_order_relaxed);
        bench->queues[to][at % QUEUE] = tuples[i];
        atomic_store_explicit(&bench->ends[to], at + 1, memory_order_release);
        bench->master[end++ % MASTER] = (uint8_t)to;
        atomic_store_explicit(&bench->master_end, end, memory_order_release);
    }
}

/* Several threads at once: each takes places of its own. */
static void put_out_unordered(bench *bench, const tuple *tuples, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t to = queue_of(&tuples[i]), at = atomic_fetch_add_explicit(&bench->ends[to], 1, memory_order_release);
        bench->queues[to][at % QUEUE] = tuples[i];
        uint64_t end = atomic_fetch_add_explicit(&bench->master_end, 1, memory_order_release);
        bench->master[end % MASTER] = (uint8_t)to;
    }
}

static int leave_last(void *context, uint64_t serial, uint64_t unit) {
    bench *bench = context;
    stage *last = &bench->stages[bench->count - 1];
    (void)unit;
    if (bench->settings.timed) {
        note(&bench->latency, now_ns() - last->starts[serial & last->mask]);
    }
    put_out(bench, &last->units[(serial & last->mask) * last->selectivity], last->selectivity);
    atomic_store_explicit(&bench->left, atomic_load_explicit(&bench->left, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    return AS_OK;
}

/* Adds every tuple of the unit to the queue of its partition in the second worklist, one by one: figure 7's addInput. */
static int leave_first(void *context, uint64_t serial, uint64_t unit) {
    bench *bench = context;
    stage *first = &bench->stages[0];
    (void)unit;
    if (as_worklist_room(bench->stages[1].list) < first->selectivity) {
        atomic_store(&bench->blocked, 1);
        return AS_AGAIN;
    }
    const tuple *tuples = &first->units[(serial & first->mask) * first->selectivity];
    for (uint32_t i = 0; i < first->selectivity; i++) {
        uint64_t at = bench->pushed_on++;
        bench->passed[at % PASSED] = tuples[i];
        as_worklist_push(bench->stages[1].list, at % PASSED, bench->draws[at % DRAWS]);
    }
    return AS_OK;
}

static void refill(bench *bench) {
    as_worklist *list = bench->stages[0].list;
    if (as_worklist_count(list) >= LIST / 2 ||
        atomic_exchange_explicit(&bench->pushing, 1, memory_order_acquire) != 0) {
        return;
    }
    int keyed = bench->count == 1 && bench->settings.kind != AS_WORKLIST_STATELESS;
    while (as_worklist_push(list, bench->pushed, keyed ? bench->draws[bench->pushed % DRAWS] : 0) == AS_OK) {
        bench->pushed++;
    }
    atomic_store_explicit(&bench->pushing, 0, memory_order_release);
}

static void operate(worker *me, stage *on, const as_work *work) {
    bench *bench = me->bench;
    int ordered = on->buffer != NULL, timed = bench->settings.timed;
    uint64_t begun = timed ? now_ns() : 0;
    tuple *tuples = ordered ? &on->units[(work->serial & on->mask) * on->selectivity] : me->scratch;
    if (timed && ordered) {
        on->starts[work->serial & on->mask] = begun;
    }
    uint64_t value = multiply(me->matrix, on->iterations);
    if (on == &bench->stages[0]) {
        value += work->item;
    } else {
        tuple taken = bench->passed[work->item];
        for (size_t i = 0; i < sizeof taken.words / sizeof taken.words[0]; i++) {
            value += taken.words[i];
        }
    }
    for (uint32_t i = 0; i < on->selectivity; i++) {
        tuples[i] = (tuple){{value + i, work->serial, i}};
    }
    uint64_t worked = timed ? now_ns() : 0;
    if (ordered) {
        as_reorder_send(on->buffer, work->serial, on->selectivity == 0 ? AS_UNIT_NONE : 2);
    } else {
        put_out_unordered(bench, tuples, on->selectivity);
        atomic_store_explicit(&me->left, atomic_load_explicit(&me->left, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    }
    if (timed && on == &bench->stages[0]) {
        uint64_t sent = now_ns();
        me->work_count++;
        me->work_ns += worked - begun;
        me->cost_ns += sent - begun;
        note(&me->sends, sent - worked);
    }
}

/* What the first buffer's exit function was refused is tried again once there is room. */
static void unblock(bench *bench) {
    if (atomic_load(&bench->blocked) && as_worklist_room(bench->stages[1].list) >= bench->stages[0].selectivity) {
        atomic_store(&bench->blocked, 0);
        as_reorder_flush(bench->stages[0].buffer);
    }
}

static uint64_t limit_of(const stage *on) {
    return on->buffer != NULL ? as_reorder_limit(on->buffer) : as_worklist_end(on->list);
}

/* Works off what may be begun at the stage, at most a slice of it (and what is delegated meanwhile). */
static int serve(worker *me, stage *on) {
    bench *bench = me->bench;
    int slice = on->slice;
    as_work work;
    if (as_worklist_pop(on->list, me->number, limit_of(on), &work) != AS_OK) {
        return 0;
    }
    uint64_t limit;
    do {
        operate(me, on, &work);
        if (bench->count == 2) {
            unblock(bench);
        }
        refill(bench);
        int over = atomic_load_explicit(&bench->stop, memory_order_relaxed) || --slice <= 0;
        limit = over ? work.serial : limit_of(on); /* nothing precedes the item's own number: leave the partition */
    } while (as_worklist_done(on->list, limit, &work) == AS_OK);
    return 1;
}

static void *work(void *argument) {
    worker *me = argument;
    bench *bench = me->bench;
    while (!atomic_load_explicit(&bench->stop, memory_order_relaxed)) {
        int found = 0;
        for (int i = bench->count - 1; i >= 0 && !found; i--) { /* the last operator first */
            found = serve(me, &bench->stages[i]);
        }
        if (!found) {
            if (bench->count == 2) {
                unblock(bench);
            }
            refill(bench);
            sched_yield();
        }
    }
    me->processor_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return NULL;
}

static void *zeroed(uint64_t bytes) {
    void *memory = aligned_alloc(128, (bytes + 127) / 128 * 128);
    if (memory == NULL) {
        abort();
    }
    return memset(memory, 0, bytes);
}

/* Partitions of Gaussian keys by range: |x| in [0, 1), since the two halves would balance each other by symmetry. */
static uint16_t *draw(double sigma, uint32_t partitions) {
    uint16_t *draws = zeroed(DRAWS * sizeof *draws);
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < DRAWS;) {
        double u[2];
        for (int k = 0; k < 2; k++) {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            u[k] = ((double)(state >> 11) + 0.5) / 9007199254740992.0;
        }
        double key = sigma == 0 ? u[0] : fabs(sigma * sqrt(-2 * log(u[0])) * cos(6.283185307179586 * u[1]));
        if (key < 1) {
            draws[i++] = (uint16_t)(key * partitions);
        }
    }
    return draws;
}

static void open_stage(bench *bench, int at, uint32_t kind, uint32_t partitions, uint32_t selectivity) {
    stage *made = &bench->stages[at];
    const run_settings *settings = &bench->settings;
    uint32_t window = settings->window;
    double cost_us = at == 0 ? settings->cost_us : settings->next_us;
    made->iterations = (uint64_t)(cost_us * bench->speed);
    made->slice = bench->count == 1 ? 1 << 30 : (int)(SLICE_US / fmax(cost_us, 1)) + 1;
    made->list = zeroed(as_worklist_size(kind, LIST, partitions));
    as_worklist_init(made->list, kind, LIST, partitions, 0);
    made->mask = window - 1;
    made->selectivity = selectivity;
    made->units = zeroed((uint64_t)window * (selectivity + 1) * sizeof(tuple));
    made->starts = zeroed((uint64_t)window * 8);
    if (settings->scheme != UNORDERED) {
        made->buffer = zeroed(as_reorder_size(window));
        as_reorder_init(made->buffer, settings->scheme, window, 0, at + 1 < bench->count ? leave_first : leave_last,
                        bench, 0);
    }
}

static uint64_t left(const bench *bench) {
    uint64_t sum = atomic_load_explicit(&bench->left, memory_order_relaxed);
    for (uint32_t i = 0; i < bench->settings.threads; i++) {
        sum += atomic_load_explicit(&bench->workers[i].left, memory_order_relaxed);
    }
    return sum;
}

static void pass(double seconds) {
    struct timespec span = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};
    nanosleep(&span, NULL);
}

static void run(bench *bench, run_result *result) {
    const run_settings *settings = &bench->settings;
    pthread_t threads[MOST_THREADS];
    bench->workers = zeroed(settings->threads * sizeof(worker));
    refill(bench);
    for (uint32_t i = 0; i < settings->threads; i++) {
        bench->workers[i].bench = bench;
        bench->workers[i].number = i;
        unit_matrix(bench->workers[i].matrix);
        if (pthread_create(&threads[i], NULL, work, &bench->workers[i]) != 0) {
            abort();
        }
    }
    pass(settings->seconds / 10);
    uint64_t begun = now_ns(), first = left(bench);
    pass(settings->seconds * 0.9);
    uint64_t ended = now_ns(), last = left(bench);
    atomic_store(&bench->stop, 1);
    histogram *sends = zeroed(sizeof *sends);
    uint64_t worked = 0, work_ns = 0, cost_ns = 0, processor_ns = 0;
    for (uint32_t i = 0; i < settings->threads; i++) {
        worker *of = &bench->workers[i];
        pthread_join(threads[i], NULL);
        add_up(sends, &of->sends);
        worked += of->work_count;
        work_ns += of->work_ns;
        cost_ns += of->cost_ns;
        processor_ns += of->processor_ns;
    }
    uint64_t all = left(bench);
    double span = (double)(ended - begun) / 1e9, units = (double)(last - first), most = (double)(worked ? worked : 1);
    double exits = (double)(bench->latency.count ? bench->latency.count : 1);
    *result = (run_result){
        .rate = units / span,
        .unit_us = (double)processor_ns / 1000 / (double)(all ? all : 1),
        .work_us = (double)work_ns / 1000 / most,
        .cost_us = (double)cost_ns / 1000 / most,
        .send_p99_us = quantile_us(sends, 0.99),
        .send_p999_us = quantile_us(sends, 0.999),
        .latency_us = (double)bench->latency.sum_ns / 1000 / exits,
        .latency_p50_us = quantile_us(&bench->latency, 0.5),
        .latency_p99_us = quantile_us(&bench->latency, 0.99),
    };
    free(sends);
    free(bench->workers);
    free(bench->draws);
    for (int i = 0; i < bench->count; i++) {
        free(bench->stages[i].list);
        free(bench->stages[i].buffer);
        free(bench->stages[i].units);
        free(bench->stages[i].starts);
    }
    free(bench);
}

static bench *prepare(const run_settings *settings, int count, uint32_t partitions) {
    if (settings->threads == 0 || settings->threads > MOST_THREADS || settings->selectivity > MOST_SELECTIVITY ||
        partitions == 0 || partitions > UINT16_MAX || settings->window == 0 ||
        (settings->window & (settings->window - 1)) != 0) {
        return NULL;
    }
    bench *made = zeroed(sizeof *made);
    made->settings = *settings;
    made->count = count;
    made->speed = speed();
    made->draws = draw(settings->sigma, partitions);
    return made;
}

/* One operator. -1: a setting is out of range. */
int run_operator(const run_settings *settings, run_result *result) {
    bench *made = prepare(settings, 1, settings->partitions);
    if (made == NULL) {
        return -1;
    }
    open_stage(made, 0, settings->kind, settings->partitions, settings->selectivity);
    run(made, result);
    return 0;
}

/* A stateless operator, whose every output is an input of a partitioned one. */
int run_pipeline(const run_settings *settings, run_result *result) {
    bench *made = prepare(settings, 2, settings->partitions);
    if (made == NULL || settings->scheme == UNORDERED || settings->window > PASSED / 2) {
        free(made);
        return -1;
    }
    open_stage(made, 0, AS_WORKLIST_STATELESS, 1, settings->selectivity);
    open_stage(made, 1, settings->kind, settings->partitions, 1);
    run(made, result);
    return 0;
}
