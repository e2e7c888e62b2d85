/* User functions of USER and ROWS steps in random programs of cells. */
#ifndef AGGREGATE_USER_H
#define AGGREGATE_USER_H
#include "aggregate_rows.h"

/* -- user functions: of two columns the sums, and how many rows; of a state that begins as 77 */

enum { USER_ARGUMENTS = 2, USER_BEGIN = 77 };
static const uint32_t USER_VALUE[USER_ARGUMENTS] = {1, 0};

typedef struct sums { /* 28 bytes of its 32 are the state: it ends in the middle of a word */
    int64_t begun, rows;
    uint64_t sum;
    uint32_t small;
} sums;
enum { SUMS_BYTES = 28 };

static inline int32_t sums_begin(const void *const *columns, int64_t rows, void *out) {
    CHECK(columns == NULL && rows == 0);
    for (int at = 0; at < SUMS_BYTES; at++)
        CHECK(((const uint8_t *)out)[at] == 0);
    ((sums *)out)->begun = USER_BEGIN;
    return 0;
}

static inline int32_t sums_add(const void *const *columns, int64_t rows, void *out) {
    sums *to = out;
    const int16_t *small = columns[0];
    const int64_t *large = columns[1];
    CHECK(rows > 0 && to->begun == USER_BEGIN);
    CHECK((uintptr_t)small % 2 == 0 && (uintptr_t)large % 8 == 0 && (uintptr_t)out % 8 == 0);
    to->rows += rows;
    for (int64_t i = 0; i < rows; i++) {
        to->sum += (uint64_t)large[i];
        to->small += (uint32_t)small[i];
    }
    return 0;
}

static inline int32_t sums_merge(const void *const *columns, int64_t rows, void *out) {
    sums *to = out;
    const sums *from = columns[0];
    CHECK(rows == 1 && from->begun == USER_BEGIN && to->begun == USER_BEGIN && from->rows > 0);
    to->rows += from->rows;
    to->sum += from->sum;
    to->small += from->small;
    return 0;
}
#endif
