/* Counts the forks that this process descends from; see process.h. */
#include "process.h"

#include <pthread.h>

_Atomic uint32_t as_process_forks;

static void after_fork(void) {
    atomic_fetch_add_explicit(&as_process_forks, 1, memory_order_relaxed);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, after_fork);
}
