/*
 * Hashes, partitions and masks of random key columns against the plainest code that could be right. Every
 * buffer has exactly its size, so that AddressSanitizer sees an access of one byte too many. Usage:
 * jumbo_kernels SEED ROUNDS
 */
#include <stdbool.h>
#include <string.h>
#include "kernels.h"
#include "seeded.h"

static uint8_t *random_bytes(size_t bytes) {
    uint8_t *out = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)below(256);
    return out;
}

static as_column random_key(uint32_t how, int64_t rows) {
    static const uint32_t integers[] = {1, 2, 4, 8}, bytes[] = {0, 0, 0, 3, 16};
    as_column key = {.first = (int64_t)below(70)};
    const size_t values = (size_t)(key.first + rows);
    key.width = how == AS_HASH_BYTES ? bytes[below(5)] : how == AS_HASH_FLOAT ? 4u << below(2) : integers[below(4)];
    if (below(2))
        key.validity = random_bytes((values + 7) / 8);
    size_t data = values * key.width;
    if (key.width == 0) {
        size_t longest = below(2) ? 10 : 40;
        key.wide = (uint32_t)below(2);
        void *offsets = malloc((values + 1) * (key.wide ? 8 : 4));
        for (size_t i = 0; i <= values; i++) {
            if (key.wide)
                ((int64_t *)offsets)[i] = (int64_t)data;
            else
                ((int32_t *)offsets)[i] = (int32_t)data;
            data += i < values ? below(longest) : 0;
        }
        key.offsets = offsets;
    }
    key.data = random_bytes(data);
    return key;
}

static uint64_t plain_hash(const as_column *key, uint32_t how, int64_t row) {
    const int64_t at = key->first + row;
    const uint8_t *bits = key->validity, *value = (const uint8_t *)key->data + (size_t)at * key->width;
    if (bits != NULL && !((bits[at / 8] >> (at % 8)) & 1))
        return as_hash_null();
    if (how == AS_HASH_BYTES && key->width)
        return as_hash_bytes(value, key->width);
    if (how == AS_HASH_BYTES) {
        int64_t from = key->wide ? ((const int64_t *)key->offsets)[at] : ((const int32_t *)key->offsets)[at];
        int64_t to = key->wide ? ((const int64_t *)key->offsets)[at + 1] : ((const int32_t *)key->offsets)[at + 1];
        return as_hash_bytes((const uint8_t *)key->data + from, (uint64_t)(to - from));
    }
    if (how == AS_HASH_FLOAT) {
        float narrow;
        double wide;
        memcpy(&narrow, value, 4);
        if (key->width == 8)
            memcpy(&wide, value, 8);
        return as_hash_float64(key->width == 8 ? wide : (double)narrow);
    }
    uint64_t number = 0;
    memcpy(&number, value, key->width);
    if (how == AS_HASH_SIGNED && key->width < 8 && number >> (8 * key->width - 1))
        number |= ~UINT64_C(0) << (8 * key->width);
    return as_hash_int64((int64_t)number);
}

static void check_partition(const uint32_t *destination, int64_t rows, uint32_t destinations, const uint32_t *index,
                            const int64_t *counts) {
    int64_t at = 0;
    for (uint32_t d = 0; d < destinations; d++) {
        int64_t start = at;
        for (int64_t row = 0; row < rows; row++)
            if (destination[row] == d)
                CHECK(at < rows && index[at++] == (uint32_t)row);
        CHECK(counts[d] == at - start);
    }
    CHECK(at == rows);
}

static void one_round(void) {
    const uint32_t how = 1 + (uint32_t)below(4);
    const int64_t rows = (int64_t)below(below(50) ? below(8) ? 300 : 3 : 6000);
    const uint32_t groups = 1 + (uint32_t)below(below(4) ? 128 : 1000);
    const uint32_t destinations = 1 + (uint32_t)below(below(3) ? 8 : 40);
    as_column key = random_key(how, rows);
    uint64_t *hash = malloc((size_t)rows * 8), *combined = malloc((size_t)rows * 8);
    uint32_t *table = malloc(groups * 4), *index = malloc((size_t)rows * 4), *expected = malloc((size_t)rows * 4);
    uint32_t *group = malloc((size_t)rows * 4);
    int64_t *counts = malloc(destinations * 8);
    for (uint32_t g = 0; g < groups; g++)
        table[g] = (uint32_t)below(destinations);

    CHECK(as_hash_column(&key, how, rows, hash, 0) == AS_OK);
    memcpy(combined, hash, (size_t)rows * 8);
    CHECK(as_hash_column(&key, how, rows, combined, 1) == AS_OK);
    as_key_groups(hash, rows, groups, group);
    for (int64_t row = 0; row < rows; row++) {
        CHECK(hash[row] == plain_hash(&key, how, row));
        CHECK(combined[row] == as_hash_combine(hash[row], hash[row]));
        CHECK(group[row] == as_key_group(hash[row], groups) && group[row] < groups);
        expected[row] = table[group[row]];
    }
    CHECK(as_partition_key(&key, how, rows, table, groups, destinations, index, counts) == AS_OK);
    check_partition(expected, rows, destinations, index, counts);
    CHECK(as_partition_hash(hash, rows, table, groups, destinations, index, counts) == AS_OK);
    check_partition(expected, rows, destinations, index, counts);
    CHECK(as_partition_rows(expected, rows, destinations, index, counts) == AS_OK);
    check_partition(expected, rows, destinations, index, counts);
    if (rows) {
        expected[below((uint64_t)rows)] = destinations + (uint32_t)below(3);
        CHECK(as_partition_rows(expected, rows, destinations, index, counts) == AS_E_ARGUMENT);
    }
    table[below(groups)] = destinations;
    CHECK(as_partition_hash(hash, rows, table, groups, destinations, index, counts) == AS_E_ARGUMENT);

    uint8_t *mask = random_bytes((size_t)rows);
    int64_t kept = 0, threshold = (int64_t)below(257);
    for (int64_t row = 0; row < rows; row++)
        mask[row] = mask[row] < threshold ? 0 : mask[row];
    int64_t answered = as_mask_to_index(mask, rows, index);
    for (int64_t row = 0; row < rows; row++)
        if (mask[row])
            CHECK(kept < answered && index[kept++] == (uint32_t)row);
    CHECK(kept == answered);
    free(mask);
    free(counts);
    free(group);
    free(expected);
    free(index);
    free(table);
    free(combined);
    free(hash);
    free((void *)key.validity);
    free((void *)key.data);
    free((void *)key.offsets);
}

int main(int count, char **arguments) {
    if (count != 3)
        return 2;
    seed = strtoull(arguments[1], NULL, 10);
    state = seed * 2 + 1;
    CHECK(as_hash_int64(0) == UINT64_C(0xfbe18f9e65e57173) &&
          as_hash_bytes("actor", 5) == UINT64_C(0x9d99d346a79534d9));
    for (round_number = atoi(arguments[2]); round_number > 0; round_number--)
        one_round();
    puts("ok");
    return 0;
}
