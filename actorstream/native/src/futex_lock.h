/* A mutex of one word that sleeps in the kernel (Drepper, "Futexes are tricky", mutex 2). Private to src/. */
#ifndef AS_FUTEX_LOCK_H
#define AS_FUTEX_LOCK_H
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef _Atomic uint32_t as_futex_lock; /* 0 free, 1 taken, 2 taken and somebody may sleep */

static inline void as_lock(as_futex_lock *word) {
    uint32_t seen = 0;
    /* acquire; partner: the release in as_unlock */
    if (atomic_compare_exchange_strong_explicit(word, &seen, 1, memory_order_acquire, memory_order_relaxed)) {
        return;
    }
    if (seen != 2) {
        seen = atomic_exchange_explicit(word, 2, memory_order_acquire);
    }
    while (seen != 0) {
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
        seen = atomic_exchange_explicit(word, 2, memory_order_acquire);
    }
}

static inline void as_unlock(as_futex_lock *word) {
    /* release; partner: the acquires in as_lock */
    if (atomic_exchange_explicit(word, 0, memory_order_release) == 2) {
        syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}
#endif
