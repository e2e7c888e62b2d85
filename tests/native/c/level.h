/* Comes before every file of a test's build: the versions of a loop (src/simd.h) are chosen by the environment, and texts are
   looked through (src/texts.h) also where there are few. */
extern int as_most_level;
#define AS_MOST_LEVEL as_most_level
#define AS_TEXTS_FEW 4
#define AS_TEXTS_STALE 64
