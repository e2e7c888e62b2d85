/*
 * Keys that somebody chose to share a place in a hash table of the stable hash, which is public: with the constants that
 * the process has drawn they lie apart. Looks at the longest run of slots without an empty one, which is what a search
 * has to go through. Usage: flood SEED KEYS
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#pragma GCC diagnostic ignored "-Wunused-function"
#include "../../../actorstream/native/src/groups.h"
#include "../../../actorstream/native/src/hash.h"
#include "../../../actorstream/native/src/lookup_slots.h"
#include "../../../actorstream/native/src/pairs.h"

static uint64_t keys;

/* x with x * odd == 1. */
static uint64_t inverse(uint64_t odd) {
    uint64_t x = odd;
    for (int round = 0; round < 6; round++)
        x *= 2 - odd * x;
    return x;
}

/* The word whose mix is `hash`. */
static uint64_t unmix(uint64_t hash) {
    hash ^= hash >> 32;
    hash *= inverse(R7);
    hash ^= hash >> 29 ^ hash >> 58;
    hash *= inverse(R5);
    return hash ^ hash >> 32;
}

/* The longest run of slots that are not empty; of a slot of `bytes` bytes the `size` at `at` are 0, or `empty`. */
static uint64_t longest(const void *slots, uint64_t count, uint64_t bytes, uint64_t at, uint64_t size, int empty) {
    uint8_t none[64];
    uint64_t most = 0, run = 0;
    memset(none, empty, sizeof none);
    for (uint64_t slot = 0; slot < count; slot++) {
        run = memcmp((const uint8_t *)slots + slot * bytes + at, none, size) ? run + 1 : 0;
        most = run > most ? run : most;
    }
    return most;
}

/* Groups of int64 keys whose stable hashes have the same low half. */
static uint64_t run_of_numbers(void) {
    const uint32_t how = AS_HASH_SIGNED, null = 0;
    uint64_t *number = malloc(keys * 8);
    uint32_t group[AS_GROUPS_BLOCK];
    as_groups *groups = as_groups_create(1, &how, &null);
    for (uint64_t i = 0; i < keys; i++)
        number[i] = unmix((i + 1) << 32) ^ R2;
    const as_operand key = {.column = {.width = 8, .data = number}, .how = how};
    for (uint64_t at = 0; at < keys; at += AS_GROUPS_BLOCK)
        if (as_groups_find(groups, &key, (int64_t)at,
                           (int64_t)(keys - at < AS_GROUPS_BLOCK ? keys - at : AS_GROUPS_BLOCK), group) != AS_OK)
            exit(1);
    const uint64_t most = longest(groups->slots, groups->mask + 1, 8, 0, 8, 0);
    as_groups_destroy(groups);
    free(number);
    return most;
}

/* Texts with the same stable hash: the second word undoes what the first has left. */
static uint64_t run_of_texts(void) {
    uint64_t (*text)[3] = malloc(keys * sizeof *text), number[1024];
    int32_t *offset = malloc((keys + 1) * sizeof *offset);
    as_texts texts = {0};
    for (uint64_t i = 0; i <= keys; i++) {
        offset[i] = (int32_t)(i * sizeof *text);
        if (i < keys)
            memcpy(text[i], (uint64_t[3]){i, fold(R3 ^ sizeof *text * R11 ^ i), 7}, sizeof *text);
    }
    const as_operand key = {.column = {.data = text, .offsets = offset}, .how = AS_HASH_BYTES};
    for (uint64_t at = 0; at < keys; at += 1024)
        if (as_texts_find(&texts, &key, (int64_t)at, (int64_t)(keys - at < 1024 ? keys - at : 1024), number) != AS_OK)
            exit(1);
    const uint64_t most = longest(texts.slots, texts.mask + 1, 8, 0, 8, 0);
    as_texts_clear(&texts);
    free(text);
    free(offset);
    return most;
}

/* Values of which each undoes what the number of its group changes. */
static uint64_t run_of_pairs(void) {
    as_pairs pairs = {0};
    for (uint64_t i = 0; i < keys; i++)
        if (as_pairs_put(&pairs, (uint32_t)i,
                         unmix(-(i * R2) * inverse(R17) << 33 | -(i * R2) * inverse(R17) >> 31) ^ R2) != 1)
            exit(1);
    const uint64_t most = longest(pairs.slots, pairs.mask + 1, sizeof(as_pair), 8, 4, 0);
    as_pairs_clear(&pairs);
    return most;
}

/* A lookup in a table of numbers, or (two columns) of rows, that share a bucket. */
static uint64_t run_of_lookup(uint32_t columns) {
    uint64_t *number = malloc(keys * 16), most;
    const uint32_t how[2] = {AS_HASH_SIGNED, AS_HASH_SIGNED};
    const as_column key[2] = {{.width = 8, .data = number}, {.width = 8, .data = number + keys}};
    as_lookup lookup;
    for (uint64_t i = 0; i < keys; i++) {
        number[i] = columns == 1 ? unmix(i) ^ R2 : i;
        const uint64_t first = mix(i ^ R2);
        number[keys + i] = unmix(-((first << 31 | first >> 33) * R17)) ^ R2;
    }
    if (as_lookup_measure(&lookup, key, how, columns, (int64_t)keys) != AS_OK)
        exit(1);
    void *memory = aligned_alloc(64, lookup.bytes);
    as_lookup_init(&lookup, memory);
    most = longest(memory, lookup.buckets, sizeof(bucket), offsetof(bucket, row) + 4 * (SLOTS - 1), 4, 0xff) * SLOTS;
    free(memory);
    free(number);
    return most;
}

static int check(const char *where, uint64_t chosen, uint64_t drawn) {
    if (chosen < keys / 2 || drawn > keys / 10)
        fprintf(stderr, "%s: %llu of %llu keys in a row with the stable hash, %llu with what was drawn\n", where,
                (unsigned long long)chosen, (unsigned long long)keys, (unsigned long long)drawn);
    return chosen < keys / 2 || drawn > keys / 10;
}

int main(int count, char **arguments) {
    keys = count > 2 ? strtoull(arguments[2], NULL, 10) : 10000;
    const hash_start drawn = as_hash_secret;
    uint64_t found[2][5];
    for (int secret = 0; secret < 2; secret++) {
        as_hash_secret = secret ? drawn : STABLE;
        found[secret][0] = run_of_numbers();
        found[secret][1] = run_of_texts();
        found[secret][2] = run_of_pairs();
        found[secret][3] = run_of_lookup(1);
        found[secret][4] = run_of_lookup(2);
    }
    static const char *const where[] = {"groups", "texts", "pairs", "lookup of numbers", "lookup of rows"};
    for (int table = 0; table < 5; table++)
        if (check(where[table], found[0][table], found[1][table]))
            return 1;
    puts("ok");
    return 0;
}
