/* Times in nanoseconds, counted in 16 buckets for each power of two, and the clocks that give them. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H
#include <stdint.h>
#include <time.h>

enum { BUCKETS = 64 * 16 };

typedef struct histogram {
    uint64_t count, sum_ns, buckets[BUCKETS];
} histogram;

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

static void note(histogram *into, uint64_t ns) {
    int high = ns < 16 ? 0 : 59 - __builtin_clzll(ns);
    into->buckets[ns < 16 ? (int)ns : (high + 1) * 16 + (int)((ns >> high) & 15)]++;
    into->count++;
    into->sum_ns += ns;
}

static void add_up(histogram *into, const histogram *other) {
    into->count += other->count;
    into->sum_ns += other->sum_ns;
    for (int i = 0; i < BUCKETS; i++) {
        into->buckets[i] += other->buckets[i];
    }
}

static double quantile_us(const histogram *of, double share) {
    uint64_t seen = 0, wanted = (uint64_t)(share * (double)of->count);
    for (int i = 0; i < BUCKETS; i++) {
        seen += of->buckets[i];
        if (seen > wanted) {
            int high = i < 16 ? 0 : i / 16 - 1;
            double low = i < 16 ? i : (double)((uint64_t)(16 + i % 16) << high);
            return (low + (double)(UINT64_C(1) << high) / 2) / 1000;
        }
    }
    return 0;
}
#endif
