/* What the core asks of the machine: its clock, and hints to the processor and its caches. Private to src/. */
#ifndef ACTORSTREAM_MACHINE_H
#define ACTORSTREAM_MACHINE_H
#include <stdint.h>
#include <time.h>

static inline uint64_t as_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
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
