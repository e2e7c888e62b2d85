/*
 * The baton's word: its state, and above that a number that grows with each change, so that who waits sees whether it has
 * been lent all the time. A sleeper counts itself, then sleeps on the word as it saw it; who gives or lends changes the
 * word, then looks at the count (both seq_cst), so that no wake-up is lost.
 */
#include "baton.h"
#include "machine.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FREE = 0, HELD = 1, LENT = 2, STATE = 3, CHANGE = 4 };
enum { LOOKS = 16 };          /* between two looks at the clock, well under a microsecond */
enum { LEAST_NS = 2000 };     /* of looking, where any was asked for */
enum { PASS_LOOKS = 64 };     /* for who is awake to take what was passed */
enum { STARVING_NS = 500000 };
enum { PASS_YIELDS = 64 };    /* for who was asleep, and has waited for STARVING_NS */

static _Alignas(64) _Atomic uint32_t word;
static _Alignas(64) _Atomic uint32_t waiting, sleeping, starving;
static _Alignas(64) _Atomic uint64_t most_ns, spin_ns; /* of looking: as set, and as it is worth at present */
static _Atomic uint64_t waits, sleeps, stolen, waited_ns;
static _Thread_local uint32_t mine = FREE; /* what the caller has: FREE none, HELD, LENT */
static _Thread_local uint32_t lent;        /* the word as it was lent */
static _Thread_local uint64_t lent_at, lent_ns, own_wait_ns;

static inline uint32_t changed(uint32_t seen, uint32_t state) {
    return ((seen & ~(uint32_t)STATE) + CHANGE) | state;
}

/* Takes the word from the state in which it was seen. */
static inline int seize(uint32_t seen) {
    /* acquire; partner: the exchange in leave, of whoever gave or lent it. On failure nothing is known. */
    return atomic_compare_exchange_strong_explicit(&word, &seen, changed(seen, HELD), memory_order_acquire,
                                                   memory_order_relaxed);
}

/* The caller's word into another state; wakes a sleeper. Answers the word. */
static uint32_t leave(uint32_t state) {
    uint32_t made = changed(atomic_load_explicit(&word, memory_order_relaxed), state);
    atomic_exchange_explicit(&word, made, memory_order_seq_cst);            /* partner: the acquire in seize */
    if (atomic_load_explicit(&sleeping, memory_order_seq_cst) != 0) {       /* partner: the count in doze */
        syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
    return made;
}

/* Sleeps while the word is as it was seen. */
static void doze(uint32_t seen) {
    atomic_fetch_add_explicit(&sleeping, 1, memory_order_seq_cst); /* partner: the look in leave */
    syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
    atomic_fetch_sub_explicit(&sleeping, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&sleeps, 1, memory_order_relaxed);
}

/* Looking is for a holder who runs. Where he does not, since others have the processors, it is time taken from him: each
 * look that ended asleep halves the next ones, each that did not brings them back. */
static void learn(uint64_t spin, int slept) {
    uint64_t most = atomic_load_explicit(&most_ns, memory_order_relaxed);
    uint64_t made = slept ? spin / 2 : spin + (most - spin) / 8;
    if (made < LEAST_NS) {
        made = LEAST_NS;
    }
    atomic_store_explicit(&spin_ns, made < most ? made : most, memory_order_relaxed); /* a lost update loses little */
}

/* A fork's child has the caller's thread alone: what others held is free, and nobody waits. */
static void after_fork(void) {
    const uint32_t seen = atomic_load_explicit(&word, memory_order_relaxed);
    atomic_store_explicit(&word, changed(seen, mine == HELD ? HELD : FREE), memory_order_relaxed);
    atomic_store_explicit(&waiting, 0, memory_order_relaxed);
    atomic_store_explicit(&sleeping, 0, memory_order_relaxed);
    atomic_store_explicit(&starving, 0, memory_order_relaxed);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, after_fork);
}

static void wait(void) {
    const uint64_t begun = as_now_ns();
    const uint64_t spin = atomic_load_explicit(&spin_ns, memory_order_relaxed);
    uint64_t now = begun, until = begun + spin, since = begun;
    uint32_t seen = 0;
    int slept = 0, starves = 0;
    atomic_fetch_add_explicit(&waiting, 1, memory_order_relaxed); /* a hint for pass */
    for (uint32_t looks = 1;; looks++) {
        uint32_t found = atomic_load_explicit(&word, memory_order_relaxed); /* seize acquires */
        if (found != seen) {
            seen = found;
            since = now;
        }
        if ((found & STATE) == FREE && seize(found)) {
            break;
        }
        if ((found & STATE) == LENT && (spin == 0 || now - since >= AS_BATON_LENT_NS) && seize(found)) {
            atomic_fetch_add_explicit(&stolen, 1, memory_order_relaxed);
            break;
        }
        if ((found & STATE) == HELD && now >= until) {
            doze(found);
            slept = 1;
            now = as_now_ns();
            until = now + spin;
            if (!starves && now - begun > STARVING_NS) {
                starves = 1;
                atomic_fetch_add_explicit(&starving, 1, memory_order_relaxed); /* a hint for pass */
            }
            continue;
        }
        as_relax();
        if (looks % LOOKS == 0) {
            now = as_now_ns();
        }
    }
    atomic_fetch_sub_explicit(&waiting, 1, memory_order_relaxed);
    if (starves) {
        atomic_fetch_sub_explicit(&starving, 1, memory_order_relaxed);
    }
    learn(spin, slept);
    atomic_fetch_add_explicit(&waits, 1, memory_order_relaxed);
    const uint64_t took = as_now_ns() - begun;
    own_wait_ns += took;
    atomic_fetch_add_explicit(&waited_ns, took, memory_order_relaxed);
}

void as_baton_spin(uint64_t ns) {
    atomic_store_explicit(&most_ns, ns, memory_order_relaxed);
    atomic_store_explicit(&spin_ns, ns, memory_order_relaxed);
}

void as_baton_take(void) {
    if (mine != FREE) {
        return;
    }
    uint32_t seen = atomic_load_explicit(&word, memory_order_relaxed);
    if ((seen & STATE) != FREE || !seize(seen)) {
        wait();
    }
    mine = HELD;
}

void as_baton_give(void) {
    if (mine == HELD) {
        mine = FREE;
        leave(FREE);
    }
}

void as_baton_pass(void) {
    if (mine != HELD || atomic_load_explicit(&waiting, memory_order_relaxed) == 0) {
        return;
    }
    mine = FREE;
    uint32_t given = leave(FREE);
    for (int i = 0; i < PASS_LOOKS && atomic_load_explicit(&word, memory_order_relaxed) == given; i++) {
        as_relax();
    }
    for (int i = 0; i < PASS_YIELDS && atomic_load_explicit(&starving, memory_order_relaxed) != 0 &&
                    atomic_load_explicit(&word, memory_order_relaxed) == given; i++) {
        sched_yield(); /* he is on his way, and may need this processor */
    }
    as_baton_take();
}

void as_baton_lend(void) {
    if (mine == HELD) {
        mine = LENT;
        lent_at = as_now_ns();
        lent = leave(LENT);
    }
}

void as_baton_reclaim(void) {
    if (mine != LENT) {
        return;
    }
    lent_ns += as_now_ns() - lent_at;
    mine = FREE;
    if (!seize(lent)) {
        as_baton_take();
    }
    mine = HELD;
}

uint64_t as_baton_waited_ns(void) {
    return own_wait_ns;
}

uint64_t as_baton_lent_ns(void) {
    return lent_ns;
}

int as_baton_is_held(void) {
    return mine == HELD;
}

void as_baton_statistics_read(as_baton_statistics *out) {
    out->waits = atomic_load_explicit(&waits, memory_order_relaxed);
    out->sleeps = atomic_load_explicit(&sleeps, memory_order_relaxed);
    out->stolen = atomic_load_explicit(&stolen, memory_order_relaxed);
    out->waited_ns = atomic_load_explicit(&waited_ns, memory_order_relaxed);
}
