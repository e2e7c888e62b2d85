/* Comes before every file of a test's build: the versions of a loop (src/simd.h) are chosen by the environment. */
extern int as_most_level;
#define AS_MOST_LEVEL as_most_level
