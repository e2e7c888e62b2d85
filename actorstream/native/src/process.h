/* Which process a private handle belongs to: handles that a fork copies are dead in the child. Private to src/. */
#ifndef ACTORSTREAM_PROCESS_H
#define ACTORSTREAM_PROCESS_H
#include <stdatomic.h>
#include <stdint.h>

/* How often this process descends from a fork since the core was loaded; a handle keeps the number it was made under.
   Written only in a fork's child, while it has one thread: relaxed. */
extern _Atomic uint32_t as_process_forks;

static inline uint32_t as_process_now(void) {
    return atomic_load_explicit(&as_process_forks, memory_order_relaxed);
}

/* A hint to the core that this is a spinning thread. */
static inline void as_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Fetches the cache line at `at` to write to it (or to read it) while other lines are on their way, too: each comes from
   another core, and the operations on them have to wait for one another. A hint. */
static inline void as_expect_write(const void *at) {
#if defined(__x86_64__)
    __asm__ __volatile__("prefetchw (%0)" : : "r"(at)); /* gcc would only read unless built for newer machines */
#else
    __builtin_prefetch(at, 1, 3);
#endif
}

static inline void as_expect_read(const void *at) {
    __builtin_prefetch(at, 0, 3);
}
#endif
