/* See progress.h. The thread owns `calls`; `mutex` guards `is_over`. */
#define _GNU_SOURCE
#include "progress.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { STATUS_BYTES = 128 }; /* more than an MPI_Status of any implementation */

typedef int probe_function(int source, int tag, uintptr_t comm, int *flag, void *status);

struct as_progress {
    probe_function *probe;
    uintptr_t comm;
    uint64_t busy_ns, every_ns, calls;
    int source, tag;
    _Atomic uint64_t
        looks; /* as_progress_looked adds (relaxed), the thread loads (relaxed): nothing else is read by it */
    int is_over;
    pthread_mutex_t mutex;
    pthread_cond_t over;
    pthread_t thread;
};

/* Waits for so long, or until it is over. Returns whether it is. */
static int rest(as_progress *progress, uint64_t ns) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t nanoseconds = (uint64_t)until.tv_nsec + ns;
    until.tv_sec += (time_t)(nanoseconds / 1000000000u);
    until.tv_nsec = (long)(nanoseconds % 1000000000u);
    pthread_mutex_lock(&progress->mutex);
    while (!progress->is_over && pthread_cond_timedwait(&progress->over, &progress->mutex, &until) == 0) {
    }
    const int is_over = progress->is_over;
    pthread_mutex_unlock(&progress->mutex);
    return is_over;
}

static void *look(void *argument) {
    as_progress *progress = argument;
    uint64_t seen = 0, pause = progress->busy_ns;
    _Alignas(16) char status[STATUS_BYTES];
    while (!rest(progress, pause)) {
        const uint64_t looks = atomic_load_explicit(&progress->looks, memory_order_relaxed);
        if (looks != seen) {
            seen = looks;
            pause = progress->busy_ns;
            continue;
        }
        int flag = 0;
        progress->probe(progress->source, progress->tag, progress->comm, &flag, status);
        progress->calls++;
        pause = progress->every_ns;
    }
    return NULL;
}

static int started(as_progress *progress) {
    sigset_t all, before;
    sigfillset(&all); /* signals are for Python's main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int code = pthread_create(&progress->thread, NULL, look, progress);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

as_progress *as_progress_open(uint64_t probe, int source, int tag, uint64_t comm, uint64_t busy_ns, uint64_t every_ns) {
    as_progress *progress = probe && busy_ns && every_ns ? calloc(1, sizeof *progress) : NULL;
    if (progress == NULL) {
        errno = probe && busy_ns && every_ns ? ENOMEM : EINVAL;
        return NULL;
    }
    progress->probe = (probe_function *)(uintptr_t)probe;
    progress->source = source;
    progress->tag = tag;
    progress->comm = (uintptr_t)comm;
    progress->busy_ns = busy_ns;
    progress->every_ns = every_ns;
    pthread_condattr_t by_clock;
    pthread_condattr_init(&by_clock);
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&progress->over, &by_clock);
    pthread_condattr_destroy(&by_clock);
    pthread_mutex_init(&progress->mutex, NULL);
    const int code = started(progress);
    if (code == 0)
        return progress;
    pthread_cond_destroy(&progress->over);
    pthread_mutex_destroy(&progress->mutex);
    free(progress);
    errno = code;
    return NULL;
}

void as_progress_looked(as_progress *progress) {
    atomic_fetch_add_explicit(&progress->looks, 1, memory_order_relaxed);
}

uint64_t as_progress_close(as_progress *progress) {
    pthread_mutex_lock(&progress->mutex);
    progress->is_over = 1;
    pthread_cond_signal(&progress->over);
    pthread_mutex_unlock(&progress->mutex);
    pthread_join(progress->thread, NULL);
    const uint64_t calls = progress->calls;
    pthread_cond_destroy(&progress->over);
    pthread_mutex_destroy(&progress->mutex);
    free(progress);
    return calls;
}
