/* Columns of groups and texts as new operands: what puts a state back. */
#ifndef AGGREGATE_RESTORED_H
#define AGGREGATE_RESTORED_H
#include "aggregate_steps.h"

/* The key column `key` of some groups, as a new operand. */
static inline column key_column(const as_groups *groups, uint32_t how, bool nullable, uint32_t key,
                                const uint32_t *group, int64_t count) {
    column made = {.rows = count, .operand = {.how = how, .column = {.width = how == AS_HASH_BYTES ? 0 : 8}}};
    uint8_t *valid = malloc((size_t)count + 1), *bits = calloc((size_t)count / 8 + 1, 1);
    as_groups_valid(groups, key, group, count, valid);
    for (int64_t i = 0; i < count; i++)
        bits[i / 8] |= (uint8_t)(valid[i] << (i % 8));
    free(valid);
    made.validity = bits;
    if (nullable)
        made.operand.column.validity = bits;
    if (how == AS_HASH_BYTES) {
        int64_t *offsets = malloc((size_t)(count + 1) * 8);
        made.data = malloc((size_t)as_groups_texts(groups, key, group, count, offsets, NULL) + 1);
        as_groups_texts(groups, key, group, count, offsets, made.data);
        made.offsets = offsets;
        made.operand.column.offsets = offsets;
        made.operand.column.wide = 1;
    } else {
        made.data = malloc((size_t)count * 8 + 1);
        as_groups_words(groups, key, group, count, made.data);
    }
    made.operand.column.data = made.data;
    return made;
}

typedef int64_t (*read_texts)(const void *from, uint32_t value, const uint64_t *number, int64_t rows, int64_t *offsets,
                              uint8_t *data);

/* The first `count` texts of a value column, as a new operand. */
static inline column text_column(const void *from, read_texts read, uint32_t value, int64_t count) {
    column made = {.rows = count, .operand = {.how = AS_HASH_BYTES, .column = {.wide = 1}}};
    uint64_t *number = malloc((size_t)count * 8 + 1);
    int64_t *offsets = malloc((size_t)(count + 1) * 8);
    for (int64_t i = 0; i < count; i++)
        number[i] = (uint64_t)i;
    made.data = malloc((size_t)read(from, value, number, count, offsets, NULL) + 1);
    read(from, value, number, count, offsets, made.data);
    made.offsets = offsets;
    made.operand.column.offsets = offsets;
    made.operand.column.data = made.data;
    free(number);
    return made;
}
#endif
