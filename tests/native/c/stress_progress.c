/*
 * Progress: threads that say they have looked, while one looks in their place when they have not, and is opened and closed.
 *
 *   FORBIDDEN: a call after the end; two calls at a time; a call that is not counted; a thread that does not end; a thread that
 *   sleeps although a message has come.
 */
#include "progress.h"
#include "stress.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { SOURCE = -2, TAG = 77, COMM = 99, OPENINGS = 20 };

static _Atomic uint64_t calls, inside, mail;
static uint64_t each;

static int probe(int source, int tag, uintptr_t comm, int *flag, void *status) {
    CHECK(source == SOURCE && tag == TAG && comm == COMM);
    CHECK(atomic_fetch_add(&inside, 1) == 0);
    *flag = atomic_load(&mail) != 0;
    memset(status, 1, 64);
    atomic_fetch_add(&calls, 1);
    atomic_fetch_sub(&inside, 1);
    return 0;
}

static void *work(void *argument) {
    uint64_t state = 16;
    for (uint64_t i = 0; i < each; i++) {
        as_progress_looked(*(as_progress **)argument);
        dither(&state);
    }
    return NULL;
}

/* Sleeps until a message has come, again and again; it comes before the thread watches or afterwards. */
static void *sleep_often(void *argument) {
    as_progress *progress = *(as_progress **)argument;
    struct pollfd told = {.fd = eventfd(0, EFD_NONBLOCK), .events = POLLIN};
    uint64_t state = 19, count;
    for (uint64_t i = 0; i < each; i++) {
        as_progress_watch(progress, told.fd, 1000, 20000, 100000);
        dither(&state);
        atomic_store(&mail, 1);
        if (i % 3 == 0)
            as_progress_watch(progress, told.fd, 1000, 20000, 100000);
        CHECK(poll(&told, 1, 60000) == 1);
        CHECK(read(told.fd, &count, sizeof count) == sizeof count);
        atomic_store(&mail, 0);
    }
    return NULL;
}

static void stress_asleep(void) {
    as_progress *progress = as_progress_open((uint64_t)(uintptr_t)probe, SOURCE, TAG, COMM, 1000000, 1000000);
    CHECK(progress != NULL);
    run_threads(sleep_often, &progress, sizeof progress, 1);
    CHECK(as_progress_close(progress) == atomic_load(&calls));
}

int stress_progress(const char *mode, uint64_t rounds) {
    each = rounds / OPENINGS;
    if (strcmp(mode, "asleep") == 0) {
        stress_asleep();
        return 0;
    }
    if (strcmp(mode, "busy") != 0)
        return -1;
    for (int i = 0; i < OPENINGS; i++) {
        const uint64_t before = atomic_load(&calls);
        as_progress *progress = as_progress_open((uint64_t)(uintptr_t)probe, SOURCE, TAG, COMM, 1000, 1000);
        CHECK(progress != NULL);
        as_progress *both[2] = {progress, progress};
        run_threads(work, both, sizeof both[0], 2);
        while (i == 0 && atomic_load(&calls) == before)
            sched_yield();
        CHECK(as_progress_close(progress) == atomic_load(&calls) - before);
    }
    return 0;
}
