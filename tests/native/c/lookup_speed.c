/*
 * How fast one core looks keys up in 32 batches of 4,096 rows (which lie in a shared cache, as jumbo tuples do): best of many runs, in M rows/s. The figures of docs/joins.md
 * come from here. Not a test. From the project's folder:
 *   gcc -std=gnu11 -O3 -Iactorstream/native/include actorstream/native/src/lookup_{build,find}.c \
 *       tests/native/c/lookup_speed.c -o /tmp/lookup_speed && /tmp/lookup_speed
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "lookup.h"

#define ROWS 4096
#define BATCHES 32

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t state = 88172645463325252u;

static uint64_t random64(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uint32_t left[ROWS], right[ROWS];

static as_lookup *built(const as_column *keys, const uint32_t *how, uint32_t columns, int64_t rows) {
    as_lookup *lookup = malloc(sizeof *lookup);
    if (as_lookup_measure(lookup, keys, how, columns, rows))
        abort();
    double start = seconds();
    void *memory = mmap(NULL, lookup->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, lookup->bytes, MADV_HUGEPAGE);
    as_lookup_init(lookup, memory);
    printf("  mode %u, %u keys, %.1f MB, built in %.2f ms\n", lookup->mode, lookup->keys, (double)lookup->bytes / 1e6,
           (seconds() - start) * 1e3);
    return lookup;
}

static void speed(const char *label, const as_lookup *lookup, const as_column *batches, uint32_t columns,
                  const uint32_t *how) {
    double best = 1e9;
    for (int run = 0; run < 25; run++) {
        double start = seconds();
        for (int batch = 0; batch < BATCHES; batch++)
            if (as_lookup_match(lookup, batches + batch * columns, how, NULL, ROWS, left, right) < 0)
                abort();
        double took = seconds() - start;
        best = took < best ? took : best;
    }
    printf("%-48s %8.0f M/s\n", label, ROWS * (double)BATCHES / best / 1e6);
}

static void integers(const char *label, int64_t keys, uint64_t factor, unsigned of_ten) {
    int64_t *table = malloc(8 * (size_t)keys), *rows = malloc(8 * ROWS * BATCHES);
    for (int64_t i = 0; i < keys; i++)
        table[i] = (int64_t)((uint64_t)i * factor);
    for (int64_t i = 0; i < ROWS * BATCHES; i++)
        rows[i] = random64() % 10 < of_ten ? table[random64() % (uint64_t)keys] : -1 - (int64_t)(random64() % 1000);
    const as_column key = {.width = 8, .data = table};
    const uint32_t how = AS_HASH_SIGNED;
    as_column batches[BATCHES];
    for (int i = 0; i < BATCHES; i++)
        batches[i] = (as_column){.width = 8, .data = rows + i * ROWS};
    speed(label, built(&key, &how, 1, keys), batches, 1, &how);
    free(table);
    free(rows);
}

static void texts(const char *label, int64_t keys, int length, int varied) {
    uint8_t *data = malloc((size_t)keys * (size_t)length);
    int32_t *offsets = malloc(4 * (size_t)(keys + 1));
    for (int64_t i = 0, at = 0; i <= keys; i++) {
        offsets[i] = (int32_t)at;
        int here = varied ? length - (int)(random64() % 8) : length;
        for (int n = 0; i < keys && n < here; n++)
            data[at++] = "0123456789abcdef"[random64() % 16];
    }
    as_column key = {.data = data, .offsets = offsets};
    uint8_t *rows = malloc((size_t)ROWS * BATCHES * (size_t)length);
    int32_t *from = malloc(4 * (size_t)(ROWS + 1) * BATCHES);
    as_column batches[BATCHES];
    size_t at = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        int32_t *own = from + batch * (ROWS + 1);
        uint8_t *start = rows + at;
        for (int i = 0; i <= ROWS; i++) {
            own[i] = (int32_t)(rows + at - start);
            if (i == ROWS)
                break;
            int64_t which = (int64_t)(random64() % (uint64_t)keys);
            memcpy(rows + at, data + offsets[which], (size_t)(offsets[which + 1] - offsets[which]));
            at += (size_t)(offsets[which + 1] - offsets[which]);
        }
        batches[batch] = (as_column){.data = start, .offsets = own};
    }
    const uint32_t how = AS_HASH_BYTES;
    as_lookup *lookup = built(&key, &how, 1, keys);
    speed(label, lookup, batches, 1, &how);
    lookup->word_at = UINT32_MAX;
    as_lookup_init(lookup, lookup->memory);
    speed("  the same by hashes of all bytes", lookup, batches, 1, &how);
}

static void pairs(int64_t keys) {
    int64_t *numbers = malloc(16 * (size_t)keys), *rows = malloc(16 * ROWS * BATCHES);
    for (int64_t i = 0; i < keys; i++) {
        numbers[i] = i % 100;
        numbers[keys + i] = i / 100;
    }
    const as_column key[2] = {{.width = 8, .data = numbers}, {.width = 8, .data = numbers + keys}};
    const uint32_t how[2] = {AS_HASH_SIGNED, AS_HASH_SIGNED};
    as_column batches[2 * BATCHES];
    for (int batch = 0; batch < BATCHES; batch++) {
        int64_t *own = rows + 2 * batch * ROWS;
        for (int i = 0; i < ROWS; i++) {
            uint64_t which = random64() % (uint64_t)keys;
            own[i] = numbers[which];
            own[ROWS + i] = numbers[(uint64_t)keys + which];
        }
        batches[2 * batch] = (as_column){.width = 8, .data = own};
        batches[2 * batch + 1] = (as_column){.width = 8, .data = own + ROWS};
    }
    speed("two int keys of 1,000 rows", built(key, how, 2, keys), batches, 2, how);
}

int main(void) {
    integers("int, 1,000 keys, dense", 1000, 1, 10);
    integers("int, 1,000 keys, dense, 30% match", 1000, 1, 3);
    integers("int, 1,000 keys, sparse", 1000, UINT64_C(0x9e3779b97f4a7c15), 10);
    integers("int, 1,000 keys, sparse, 30% match", 1000, UINT64_C(0x9e3779b97f4a7c15), 3);
    integers("int, 1,000,000 keys, dense", 1000000, 1, 10);
    integers("int, 1,000,000 keys, sparse", 1000000, UINT64_C(0x9e3779b97f4a7c15), 10);
    texts("36 bytes, 1,000 keys", 1000, 36, 0);
    texts("29 to 36 bytes, 1,000 keys", 1000, 36, 1);
    texts("36 bytes, 1,000,000 keys", 1000000, 36, 0);
    pairs(1000);
    return 0;
}
