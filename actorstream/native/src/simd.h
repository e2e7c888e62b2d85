/*
 * One loop, compiled for the baseline CPU, for AVX2 and for AVX-512, chosen at each call. Not ifunc
 * (target_clones): that breaks under the sanitizers, and a predicted branch per call costs nothing.
 * AS_MOST_LEVEL is the highest version that is chosen: 0, 1 or 2 (tests make it a variable, to run each version of
 * one object). All versions give the same bits. Hash of int64 on Zen 4 (jumbo_speed.c): 0.9, 2.0 and 5.8 G rows/s.
 */
#ifndef ACTORSTREAM_SIMD_H
#define ACTORSTREAM_SIMD_H
#ifndef AS_MOST_LEVEL
#define AS_MOST_LEVEL 2
#endif
#ifdef __x86_64__
#include <immintrin.h>
#define AS_AVX512 1
#define AS_TARGET_AVX2 __attribute__((target("avx2,bmi2,popcnt")))
#ifdef __clang__ /* uses vectors of 512 bits by itself where no processor is named, and knows no such preference */
#define AS_WIDEST
#else
#define AS_WIDEST ",prefer-vector-width=512"
#endif
#define AS_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi2,popcnt" AS_WIDEST)))

static inline int cpu_has_avx2(void) {
    return AS_MOST_LEVEL >= 1 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
}

static inline int cpu_has_avx512(void) {
    return AS_MOST_LEVEL >= 2 && cpu_has_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

/* Defines `name` as a call of `name_body`, an always-inlined loop, in each compilation. */
#define AS_VERSIONS(name, parameters, arguments)                                                                       \
    AS_TARGET_AVX512 static void name##_avx512 parameters {                                                            \
        name##_body arguments;                                                                                         \
    }                                                                                                                  \
    AS_TARGET_AVX2 static void name##_avx2 parameters {                                                                \
        name##_body arguments;                                                                                         \
    }                                                                                                                  \
    static void name##_baseline parameters {                                                                           \
        name##_body arguments;                                                                                         \
    }                                                                                                                  \
    static inline void name parameters {                                                                               \
        if (cpu_has_avx512())                                                                                          \
            name##_avx512 arguments;                                                                                   \
        else if (cpu_has_avx2())                                                                                       \
            name##_avx2 arguments;                                                                                     \
        else                                                                                                           \
            name##_baseline arguments;                                                                                 \
    }
#else
#define AS_VERSIONS(name, parameters, arguments)                                                                       \
    static inline void name parameters {                                                                               \
        name##_body arguments;                                                                                         \
    }
#endif
#endif
