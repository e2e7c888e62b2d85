/*
 * How long as_groups_find takes for a row whose key is known, of a million keys in random order: integers and texts of 20 bytes,
 * in turn, by the processor time of the thread; medians and their ratio. The figures of texts.h come from here. Not a test. From
 * the project's folder:
 *   gcc -std=gnu11 -O3 -fno-strict-aliasing -Iactorstream/native/include \
 *       actorstream/native/src/{groups,groups_change,texts,operand,order,zeroed,kernels,seed}.c \
 *       tests/native/c/texts_speed.c -o /tmp/texts_speed -lm && /tmp/texts_speed
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "groups.h"
#include "kernels.h"

#define KEYS 1000000
#define ROWS 4000000
#define PART (32 * AS_GROUPS_BLOCK) /* rows that are timed at once */
#define ROUNDS 4
#define TIMES (ROUNDS * (ROWS / PART))

static double nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint64_t drawn(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static int ascending(const void *a, const void *b) {
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}

int main(void) {
    static uint32_t group[AS_GROUPS_BLOCK];
    static double times[2][TIMES];
    int64_t *numbers = malloc(ROWS * sizeof *numbers);
    int32_t *offsets = malloc((ROWS + 1) * sizeof *offsets);
    char *texts = malloc(ROWS * 20 + 1);
    if (numbers == NULL || offsets == NULL || texts == NULL)
        return 1;
    for (int64_t row = 0; row < ROWS; row++) {
        const uint64_t key = drawn() % KEYS;
        numbers[row] = (int64_t)as_hash_int64((int64_t)key);
        offsets[row] = (int32_t)(row * 20);
        snprintf(texts + row * 20, 21, "customer-%011llu", (unsigned long long)key);
    }
    offsets[ROWS] = ROWS * 20;
    const uint32_t how[2] = {AS_HASH_SIGNED, AS_HASH_BYTES}, nullable = 0;
    const as_operand keys[2] = {{.column = {.width = 8, .data = numbers}, .how = how[0]},
                                {.column = {.data = texts, .offsets = offsets}, .how = how[1]}};
    as_groups *groups[2];
    for (int kind = 0; kind < 2; kind++) {
        groups[kind] = as_groups_create(1, &how[kind], &nullable);
        for (int64_t row = 0; groups[kind] != NULL && row + AS_GROUPS_BLOCK <= ROWS; row += AS_GROUPS_BLOCK)
            if (as_groups_find(groups[kind], &keys[kind], row, AS_GROUPS_BLOCK, group) != 0)
                return 1;
    }
    if (groups[0] == NULL || groups[1] == NULL)
        return 1;
    for (int64_t time = 0; time < TIMES; time++) {
        const int64_t part = time % (ROWS / PART) * PART;
        for (int kind = 0; kind < 2; kind++) {
            const double begun = nanoseconds();
            for (int64_t row = part; row < part + PART; row += AS_GROUPS_BLOCK)
                as_groups_find(groups[kind], &keys[kind], row, AS_GROUPS_BLOCK, group);
            times[kind][time] = (nanoseconds() - begun) / PART;
        }
    }
    for (int kind = 0; kind < 2; kind++)
        qsort(times[kind], TIMES, sizeof times[kind][0], ascending);
    const double number = times[0][TIMES / 2], text = times[1][TIMES / 2];
    printf("int64 %.1f, text %.1f ns a row: %.2f times\n", number, text, text / number);
    return 0;
}
