/* The next run of one lane in the order of all: what merge.c and scalegate.c are made of. See include/merge.h. */
#ifndef ACTORSTREAM_MERGE_RUN_H
#define ACTORSTREAM_MERGE_RUN_H
#include <stdbool.h>
#include <stddef.h>

#include "merge.h"

/* Whether row i of lane a comes before the next row of lane b. */
static inline bool merge_before(const as_merge_lane *a, uint64_t i, const as_merge_lane *b, uint32_t ties) {
    const int64_t x = a->time[i], y = b->time[b->first];
    if (x != y)
        return x < y;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    for (uint32_t n = 0; n < ties; n++) {
        const int64_t left = a->tie[n][i], right = b->tie[n][b->first];
        if (left != right)
            return left < right;
    }
    return a < b;
}

/* How many rows from `first` on are below `end`, or before the next row of `other` if there is one: one at least is
   known to be. Doubles its step until it has gone too far, then halves it: a long run costs the logarithm of its
   length, a short one a look. */
#define MERGE_GALLOP(first, rows, is_before)                                                                           \
    uint64_t low = first, step = 1;                                                                                    \
    while (low + step < rows && is_before(low + step)) {                                                               \
        low += step;                                                                                                   \
        step *= 2;                                                                                                     \
    }                                                                                                                  \
    uint64_t high = low + step < rows ? low + step : rows;                                                             \
    while (low + 1 < high) {                                                                                           \
        const uint64_t middle = low + (high - low) / 2;                                                                \
        if (is_before(middle))                                                                                         \
            low = middle;                                                                                              \
        else                                                                                                           \
            high = middle;                                                                                             \
    }                                                                                                                  \
    return high - first;

static inline uint64_t merge_gallop(const int64_t *time, uint64_t first, uint64_t rows, int64_t end) {
#define IS_BELOW(row) (time[row] < end)
    MERGE_GALLOP(first, rows, IS_BELOW)
#undef IS_BELOW
}

static inline uint64_t merge_gallop_to(const as_merge_lane *lane, uint64_t rows, const as_merge_lane *other,
                                       uint32_t ties) {
#define IS_BEFORE(row) merge_before(lane, row, other, ties)
    MERGE_GALLOP(lane->first, rows, IS_BEFORE)
#undef IS_BEFORE
}

/* How many rows of one lane go next, at most `limit`; its number in `lane`, whose `first` the caller moves. 0: none is
   ready. */
static inline uint64_t merge_run(const as_merge_lane *lanes, uint32_t count, uint32_t ties, uint64_t limit,
                                 uint32_t *lane) {
    const as_merge_lane *least = NULL, *second = NULL;
    for (uint32_t n = 0; n < count; n++) {
        const as_merge_lane *each = &lanes[n];
        if (each->first >= each->rows)
            continue;
        if (least == NULL || merge_before(each, each->first, least, ties)) {
            second = least;
            least = each;
        } else if (second == NULL || merge_before(each, each->first, second, ties)) {
            second = each;
        }
    }
    if (least == NULL || limit == 0)
        return 0;
    int64_t end = INT64_MAX; /* if `bounded`, rows below it are ready; else all are */
    bool bounded = false;
    for (uint32_t n = 0; n < count; n++) {
        const as_merge_lane *each = &lanes[n];
        if (each->first < each->rows || each->bound == INT64_MAX)
            continue;
        const int64_t until = each->bound + (each->rank > least->rank);
        end = until < end ? until : end;
        bounded = true;
    }
    if (bounded && least->time[least->first] >= end)
        return 0;
    *lane = (uint32_t)(least - lanes);
    uint64_t rows = least->rows - least->first > limit ? least->first + limit : least->rows;
    if (second != NULL)
        rows = least->first + merge_gallop_to(least, rows, second, ties);
    return bounded ? merge_gallop(least->time, least->first, rows, end) : rows - least->first;
}
#endif
