/* Binds memory to nodes, and measures how long cores take to read it. See node.h. */
#define _GNU_SOURCE
#include "../include/node.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PREFERRED = 1, NODES = 1024, BITS = 64 };

int as_node_bind(uint64_t address, uint64_t bytes, uint32_t node) {
    unsigned long mask[NODES / BITS];
    if (node >= NODES) {
        return EINVAL;
    }
    memset(mask, 0, sizeof mask);
    mask[node / BITS] = 1ul << (node % BITS);
    /* one bit more than there are: the kernel reads one less than it is told */
    return syscall(SYS_mbind, (uintptr_t)address, bytes, PREFERRED, mask, (unsigned long)NODES + 1, 0) == 0 ? 0 : errno;
}

int as_node_of(uint64_t address) {
    void *page = (void *)(uintptr_t)(address & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1));
    int status = -1;
    if (syscall(SYS_move_pages, 0, 1ul, &page, (void *)NULL, &status, 0) != 0 || status < 0) {
        return -1;
    }
    return status;
}

/* Processor time of this thread: other programs that run on its core for a while are not counted. */
static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void put(uint8_t *memory, uint64_t line, uint64_t value) {
    memcpy(memory + line, &value, sizeof value);
}

static uint64_t get(const uint8_t *memory, uint64_t line) {
    uint64_t value;
    memcpy(&value, memory + line, sizeof value);
    return value;
}

void as_node_weave(uint8_t *memory, uint64_t lines, uint32_t line) {
    uint64_t state = 0x9e3779b97f4a7c15u;
    for (uint64_t i = 0; i < lines; i++) {
        put(memory, i * line, i * line);
    }
    for (uint64_t i = lines; i > 1; i--) { /* Sattolo's shuffle: the permutation is one cycle */
        state = state * 6364136223846793005u + 1442695040888963407u;
        uint64_t other = (state >> 33) % (i - 1) * line, last = (i - 1) * line;
        uint64_t value = get(memory, last);
        put(memory, last, get(memory, other));
        put(memory, other, value);
    }
}

uint64_t as_node_chase(const uint8_t *memory, uint64_t steps) {
    uint64_t begun = now_ns(), line = 0;
    for (uint64_t i = 0; i < steps; i++) {
        line = get(memory, line);
    }
    __asm__ volatile("" : : "r"(line) : "memory"); /* so that the loop is not left out */
    return now_ns() - begun;
}

uint64_t as_node_stream(const uint8_t *memory, uint64_t bytes) {
    uint64_t begun = now_ns(), sums[8] = {0};
    for (uint64_t i = 0; i + 64 <= bytes; i += 64) {
        for (uint64_t j = 0; j < 8; j++) {
            sums[j] += get(memory + i, j * 8);
        }
    }
    uint64_t sum = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
    __asm__ volatile("" : : "r"(sum) : "memory");
    return now_ns() - begun;
}
