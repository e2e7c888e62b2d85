/* What random tests begin with: numbers that a seed decides, and a check that names the seed where it fails. */
#ifndef SEEDED_H
#define SEEDED_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: seed %llu, round %d: %s\n", __FILE__, __LINE__, seed, round_number, #condition);   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static unsigned long long seed;
static uint64_t state;
static int round_number;

static inline uint64_t random64(void) {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static inline uint64_t below(uint64_t limit) {
    return (random64() >> 11) % limit;
}
#endif
