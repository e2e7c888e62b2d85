/*
 * Words of lines: a writer stores plainly and then says so in a word; a reader that has seen the word reads plainly, and
 * says so in a word of its own. FORBIDDEN: values from before, or a race of the plain accesses (ThreadSanitizer).
 */
#include "line.h"
#include "stress.h"

static uint32_t line[2][32];
static uint64_t plain[16], each;

static void *work(void *argument) {
    const uint32_t own = *(uint32_t *)argument;
    for (uint64_t i = 1; i <= each; i++) {
        if (own == 0) {
            for (int k = 0; k < 16; k++)
                plain[k] = i * (uint64_t)(k + 1);
            as_line_write(line[0], 1, (uint32_t)i);
        }
        while (as_line_read(line[1 - own], 1) != (uint32_t)i)
            sched_yield();
        if (own == 1) {
            for (int k = 0; k < 16; k++)
                CHECK(plain[k] == i * (uint64_t)(k + 1));
            as_line_write(line[1], 1, (uint32_t)i);
        }
    }
    return NULL;
}

int stress_line(const char *mode, uint64_t rounds) {
    uint32_t numbers[2] = {0, 1};
    if (strcmp(mode, "told") != 0)
        return -1;
    each = rounds;
    run_threads(work, numbers, sizeof numbers[0], 2);
    return 0;
}
