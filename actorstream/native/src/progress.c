/* See progress.h. The thread owns `calls`; `mutex` guards what stands behind it. */
#define _GNU_SOURCE
#include "progress.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { STATUS_BYTES = 128 }; /* more than an MPI_Status of any implementation */
enum { SHARE = 8, SLACK_NS = 5000, LOOKS = 3 };
enum { SHORT_PAUSES = 16 }; /* a pause of so many of the least ones is not cut short by a further watch */

typedef int probe_function(int source, int tag, uintptr_t comm, int *flag, void *status);

struct as_progress {
    probe_function *probe;
    uintptr_t comm;
    uint64_t busy_ns, every_ns, calls;
    int source, tag;
    _Atomic uint64_t
        looks; /* as_progress_looked adds (relaxed), the thread loads (relaxed): nothing else is read by it */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int is_over, is_watching, has_changed;
    int eventfd;
    uint64_t least_ns, most_ns, rested_ns, since_ns, pause_ns;
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* With the mutex: waits for the pause, or until it is over or changed. Returns whether the pause has passed. */
static int rest(as_progress *progress) {
    const uint64_t at = now_ns() + progress->pause_ns;
    const struct timespec until = {.tv_sec = (time_t)(at / 1000000000u), .tv_nsec = (long)(at % 1000000000u)};
    while (!progress->is_over && !progress->has_changed) {
        if (pthread_cond_timedwait(&progress->changed, &progress->mutex, &until) != 0)
            break;
    }
    const int has_changed = progress->has_changed;
    progress->has_changed = 0;
    return !has_changed;
}

static int has_come_now(const as_progress *progress) {
    _Alignas(16) char status[STATUS_BYTES];
    int flag = 0;
    progress->probe(progress->source, progress->tag, progress->comm, &flag, status);
    return flag;
}

/* Calls the function up to `LOOKS` times: MPI looks among what it has taken in, and takes in more only then. Returns whether a
   message has come. */
static int has_come(as_progress *progress) {
    int flag = 0;
    for (int i = 0; i < LOOKS && !flag; i++) {
        flag = has_come_now(progress);
        progress->calls++;
    }
    return flag;
}

static uint64_t clamped(uint64_t value, uint64_t least, uint64_t most) {
    return value < least ? least : value > most ? most : value;
}

/* With the mutex, which it gives back meanwhile: looks in place of the thread that sleeps. */
static void watch(as_progress *progress) {
    pthread_mutex_unlock(&progress->mutex);
    const int come = has_come(progress);
    pthread_mutex_lock(&progress->mutex);
    if (come) {
        const uint64_t one = 1;
        while (write(progress->eventfd, &one, sizeof one) < 0 && errno == EINTR) {
        }
        progress->is_watching = 0;
        progress->pause_ns = progress->busy_ns;
    } else {
        const uint64_t quiet = now_ns() - progress->since_ns;
        progress->pause_ns = quiet < progress->rested_ns ? clamped(quiet / SHARE, progress->least_ns, progress->most_ns)
                                                         : progress->most_ns;
    }
}

static void *look(void *argument) {
    as_progress *progress = argument;
    uint64_t seen = 0;
    prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0); /* else the kernel adds 50 us to each pause */
    pthread_mutex_lock(&progress->mutex);
    while (!progress->is_over) {
        const int has_passed = rest(progress);
        if (progress->is_over)
            break;
        const uint64_t looks = atomic_load_explicit(&progress->looks, memory_order_relaxed);
        if (!has_passed) {
            progress->pause_ns = progress->least_ns;
        } else if (progress->is_watching) {
            watch(progress);
        } else if (looks != seen) {
            progress->pause_ns = progress->busy_ns;
        } else {
            pthread_mutex_unlock(&progress->mutex);
            has_come(progress);
            pthread_mutex_lock(&progress->mutex);
            progress->pause_ns = progress->every_ns;
        }
        seen = looks;
    }
    pthread_mutex_unlock(&progress->mutex);
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
    progress->pause_ns = busy_ns;
    pthread_condattr_t by_clock;
    pthread_condattr_init(&by_clock);
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&progress->changed, &by_clock);
    pthread_condattr_destroy(&by_clock);
    pthread_mutex_init(&progress->mutex, NULL);
    const int code = started(progress);
    if (code == 0)
        return progress;
    pthread_cond_destroy(&progress->changed);
    pthread_mutex_destroy(&progress->mutex);
    free(progress);
    errno = code;
    return NULL;
}

void as_progress_looked(as_progress *progress) {
    atomic_fetch_add_explicit(&progress->looks, 1, memory_order_relaxed);
}

int as_progress_look(as_progress *progress, const as_doorbell *bell, uint64_t ns) {
    const uint64_t start = now_ns();
    int come = 0;
    while (!as_doorbell_pending(bell) && !(come = has_come_now(progress)) && now_ns() - start < ns)
        sched_yield(); /* a peer that has no core of its own could not send */
    as_progress_looked(progress);
    return come ? AS_OK : AS_AGAIN;
}

void as_progress_watch(as_progress *progress, int eventfd, uint64_t least_ns, uint64_t most_ns, uint64_t rested_ns) {
    pthread_mutex_lock(&progress->mutex);
    progress->eventfd = eventfd;
    progress->least_ns = least_ns;
    progress->most_ns = most_ns;
    progress->rested_ns = rested_ns;
    progress->since_ns = now_ns();
    progress->is_watching = progress->has_changed = 1;
    if (progress->pause_ns > SHORT_PAUSES * least_ns)
        pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->mutex);
}

uint64_t as_progress_close(as_progress *progress) {
    pthread_mutex_lock(&progress->mutex);
    progress->is_over = 1;
    pthread_cond_signal(&progress->changed);
    pthread_mutex_unlock(&progress->mutex);
    pthread_join(progress->thread, NULL);
    const uint64_t calls = progress->calls;
    pthread_cond_destroy(&progress->changed);
    pthread_mutex_destroy(&progress->mutex);
    free(progress);
    return calls;
}
