/*
 * How fast one core hashes, partitions and copies jumbo tuples of 4096 rows: best of many runs, in M rows/s.
 * The numbers in comments of jumbo.c and kernels.c come from here. Not a test. From the project's folder:
 *   gcc -std=gnu11 -O3 -Iactorstream/native/include actorstream/native/src/{jumbo,kernels}.c \
 *       tests/native/c/jumbo_speed.c -o /tmp/jumbo_speed && /tmp/jumbo_speed
 * With -DAS_MOST_LEVEL=1 or 0: as on older CPUs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "jumbo.h"
#include "kernels.h"

#define ROWS 4096
#define REPEATS 400
#define BLOCKS 16 /* written in turn, as an arena's blocks are */
#define BLOCK_BYTES (1 << 19)

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#define SPEED(label, rows, statement)                                                                                  \
    do {                                                                                                               \
        double best = 1e9;                                                                                             \
        for (int run = 0; run < 15; run++) {                                                                           \
            double start = seconds();                                                                                  \
            for (int turn = 0; turn < REPEATS; turn++) {                                                               \
                statement;                                                                                             \
            }                                                                                                          \
            double took = (seconds() - start) / REPEATS;                                                               \
            best = took < best ? took : best;                                                                          \
        }                                                                                                              \
        printf("%-36s %8.0f M/s %8.2f us\n", label, (double)(rows) / best / 1e6, best * 1e6);                          \
    } while (0)

static int64_t numbers[5][ROWS], counts[64];
static uint64_t hash[ROWS];
static uint32_t rows_index[ROWS], destination[128], group[ROWS];
static int32_t offsets[ROWS + 1];
static uint8_t text[ROWS * 16], mask[ROWS], *blocks[BLOCKS];

static void write_one(const as_piece *piece, uint32_t columns, int number) {
    char table[32 * 8];
    uint64_t bytes = as_jumbo_measure(piece, 1, columns, table);
    if (bytes == 0 || bytes > BLOCK_BYTES ||
        as_jumbo_write(blocks[number % BLOCKS], bytes, table, piece, 1, columns, 1, 2, 0))
        abort();
}

static void exchange(const as_column *columns, uint32_t count, uint32_t how, uint32_t destinations, int turn) {
    uint32_t *index = rows_index;
    if (as_partition_key(columns, how, ROWS, destination, 128, destinations, index, counts))
        abort();
    for (uint32_t d = 0; d < destinations; d++) {
        as_piece piece = {columns, index, 0, counts[d]};
        write_one(&piece, count, turn * (int)destinations + (int)d);
        index += counts[d];
    }
}

static void partitions(const as_column *key) {
    static const uint32_t destinations[] = {1, 2, 4, 8, 9, 16, 64};
    for (size_t n = 0; n < sizeof destinations / sizeof *destinations; n++) {
        char label[64];
        uint32_t many = destinations[n];
        for (uint32_t g = 0; g < 128; g++)
            destination[g] = g % many;
        for (int row = 0; row < ROWS; row++)
            group[row] = (uint32_t)rand() % many;
        snprintf(label, sizeof label, "partition by int64 key, %u ways", many);
        SPEED(label, ROWS, as_partition_key(key, AS_HASH_SIGNED, ROWS, destination, 128, many, rows_index, counts));
        snprintf(label, sizeof label, "partition by given rows, %u ways", many);
        SPEED(label, ROWS, as_partition_rows(group, ROWS, many, rows_index, counts));
    }
}

int main(void) {
    as_column integers[5], strings[2];
    memset(integers, 0, sizeof integers);
    memset(strings, 0, sizeof strings);
    for (int c = 0; c < 5; c++) {
        for (int row = 0; row < ROWS; row++)
            numbers[c][row] = rand() * INT64_C(77777);
        integers[c].width = 8;
        integers[c].data = numbers[c];
    }
    for (int row = 0; row < ROWS; row++) {
        mask[row] = rand() & 1;
        offsets[row + 1] = offsets[row] + 1 + rand() % 9; /* 5 bytes on average */
    }
    for (size_t at = 0; at < sizeof text; at++)
        text[at] = (uint8_t)('a' + rand() % 26);
    strings[0].data = text;
    strings[0].offsets = offsets;
    strings[1] = integers[0];
    for (int b = 0; b < BLOCKS; b++)
        blocks[b] = aligned_alloc(64, BLOCK_BYTES);

    SPEED("hash int64", ROWS, as_hash_column(integers, AS_HASH_SIGNED, ROWS, hash, 0));
    SPEED("hash int64, combined", ROWS, as_hash_column(integers, AS_HASH_SIGNED, ROWS, hash, 1));
    SPEED("hash string", ROWS, as_hash_column(strings, AS_HASH_BYTES, ROWS, hash, 0));
    SPEED("key groups", ROWS, as_key_groups(hash, ROWS, 128, group));
    partitions(integers);
    SPEED("mask to index, half kept", ROWS, as_mask_to_index(mask, ROWS, rows_index));
    for (uint32_t g = 0; g < 128; g++)
        destination[g] = g % 2;
    SPEED("exchange 5 int64, 2 ways", ROWS, exchange(integers, 5, AS_HASH_SIGNED, 2, turn));
    SPEED("exchange string + int64, 2 ways", ROWS, exchange(strings, 2, AS_HASH_BYTES, 2, turn));
    as_piece whole = {integers, NULL, 0, ROWS}, words = {strings, NULL, 0, ROWS};
    SPEED("write 5 int64", ROWS, write_one(&whole, 5, turn));
    SPEED("memcpy 5 int64", ROWS, memcpy(blocks[turn % BLOCKS], numbers, sizeof numbers));
    SPEED("write string + int64", ROWS, write_one(&words, 2, turn));
    as_piece kept = {integers, rows_index, 0, as_mask_to_index(mask, ROWS, rows_index)};
    SPEED("gather 5 int64, half kept", kept.rows, write_one(&kept, 5, turn));
    return 0;
}
