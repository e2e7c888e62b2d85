/* Two lanes that alternate finely. Where many rows are alike in time, as those of one second are, the tie column that differs
   orders them: 2 to 4 ns a row instead of 7. See include/merge.h. */
#ifndef ACTORSTREAM_MERGE_PAIR_H
#define ACTORSTREAM_MERGE_PAIR_H
#include "merge_run.h"

enum {
    PAIR_RUN = 16, /* rows of one lane in a row, from which on they are a run to find by galloping */
    PAIR_ROWS = 512, /* of each lane, in which it is looked at once how many are alike */
    PAIR_LEAST = 64 /* rows that are worth being divided into quarters */
};

static inline bool merge_is_alike(const as_merge_lane *lane, uint64_t row, uint32_t ties) {
    const uint64_t first = lane->first;
    bool alike = lane->time[row] == lane->time[first];
    for (uint32_t n = 0; alike && n < ties; n++)
        alike = lane->tie[n][row] == lane->tie[n][first];
    return alike;
}

/* How many rows from a lane's next on, at most `most`, are alike in time and in the first `ties` tie columns; 0: less than
   PAIR_RUN. */
static inline uint64_t merge_alike(const as_merge_lane *lane, uint64_t most, uint32_t ties) {
    const uint64_t first = lane->first, end = lane->rows - first < most ? lane->rows : first + most;
    if (end - first < PAIR_RUN || !merge_is_alike(lane, first + PAIR_RUN - 1, ties))
        return 0;
    if (merge_is_alike(lane, end - 1, ties))
        return end - first;
#define IS_ALIKE(row) merge_is_alike(lane, row, ties)
    MERGE_GALLOP(first, end, IS_ALIKE)
#undef IS_ALIKE
}

/* How many of the first `done` rows of the merge of two columns are `left`'s. Each column has at least `done` values; of equal
   values `right`'s goes first. */
static inline uint64_t merge_split(const int64_t *left, const int64_t *right, uint64_t done) {
    uint64_t low = 0, high = done;
    while (low < high) {
        const uint64_t middle = (low + high) / 2;
        const bool before = left[middle] < right[done - 1 - middle];
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

/* Tags the first `rows` rows of the merge of two columns, a multiple of 4; each column has at least as many values. The rows are
   divided into quarters, which are merged side by side: a step waits for the one before it in its own quarter only. `lefts`: how
   many of the rows are `left`'s. False: two values are equal, a quarter is almost all of one column, or a column is not sorted;
   the tags mean nothing then. */
static inline bool merge_quarters(const int64_t *left, const int64_t *right, uint64_t rows, const uint64_t names[2],
                                  uint16_t *tags, uint64_t *lefts) {
    const uint64_t part = rows / 4, few = part / 8;
    uint64_t starts[5], unfit = 0;
    for (uint64_t quarter = 0; quarter < 5; quarter++)
        starts[quarter] = merge_split(left, right, quarter * part);
    for (int quarter = 0; quarter < 4; quarter++)
        /* in unsorted columns a quarter may even begin before the one in front of it: then this is a very large number */
        unfit |= starts[quarter + 1] - starts[quarter] - few > part - 2 * few;
    uint64_t i0 = starts[0], i1 = starts[1], i2 = starts[2], i3 = starts[3];
#define STEP(quarter, i)                                                                                               \
    do {                                                                                                               \
        const uint64_t at = (quarter) * part + k;                                                                      \
        const int64_t x = left[i], y = right[at - (i)];                                                                \
        const uint64_t takes = x < y;                                                                                  \
        unfit |= x == y;                                                                                               \
        tags[at] = (uint16_t)((names[1] & -takes) | (names[0] & (takes - 1)));                                         \
        i += takes;                                                                                                    \
    } while (0)
    for (uint64_t k = 0; k < part && !unfit; k++) {
        STEP(0, i0);
        STEP(1, i1);
        STEP(2, i2);
        STEP(3, i3);
        __asm__ volatile("" : "+r"(i0), "+r"(i1), "+r"(i2), "+r"(i3)); /* or they become branches */
    }
#undef STEP
    *lefts = i3;
    return !unfit && i0 == starts[1] && i1 == starts[2] && i2 == starts[3] && i3 == starts[4];
}

/* If the next rows of two lanes of one rank are alike in all but one tie column, and perhaps those behind it: tags them by
   that column, without a branch that depends on it, while no run is long. Moves `first` past them. 0: they are not. */
static inline uint64_t merge_tied_pair(const as_merge_lane *lanes, as_merge_lane *a, as_merge_lane *b, uint32_t ties,
                                       uint64_t limit, uint16_t *tags, bool *quarters) {
    uint32_t by = 0;
    if (a->time[a->first] != b->time[b->first] || a->rank != b->rank)
        return 0;
    while (by < ties && a->tie[by][a->first] == b->tie[by][b->first])
        by++;
    const uint64_t most = limit < PAIR_ROWS ? limit : PAIR_ROWS;
    const uint64_t rows = by == ties ? 0 : merge_alike(a, most, by);
    const uint64_t others = rows == 0 ? 0 : merge_alike(b, most, by);
    if (others == 0)
        return 0;
    const uint64_t names[2] = {(uint16_t)(b - lanes), (uint16_t)(a - lanes)};
    const int64_t *left = a->tie[by] + a->first, *right = b->tie[by] + b->first;
    uint64_t i = 0, j = 0, done = 0, run = 0, before = 2;
    const uint64_t both = (rows < others ? rows : others) / 4 * 4;
    if (*quarters && both >= PAIR_LEAST) {
        *quarters = merge_quarters(left, right, both, names, tags, &i);
        if (*quarters) {
            a->first += i;
            b->first += both - i;
            return both;
        }
        i = 0;
    }
    while (done < limit && i < rows && j < others && run < PAIR_RUN) {
        const int64_t x = left[i], y = right[j];
        if (x == y)
            break;
        const uint64_t takes = x < y;
        tags[done++] = (uint16_t)((names[1] & -takes) | (names[0] & (takes - 1)));
        run = (run + 1) & -(uint64_t)(takes == before);
        before = takes;
        i += takes;
        j += 1 - takes;
        __asm__ volatile("" : "+r"(i), "+r"(j)); /* or it becomes a branch again */
    }
    a->first += i;
    b->first += j;
    return done;
}

/* Tags the next rows of two lanes row by row while both have some below `end` and no run is long; at most `limit`. Moves `first`
   past them. */
static inline uint64_t merge_pair(const as_merge_lane *lanes, as_merge_lane *a, as_merge_lane *b, int64_t end,
                                  uint32_t ties, uint64_t limit, uint16_t *tags) {
    const uint16_t left = (uint16_t)(a - lanes), right = (uint16_t)(b - lanes);
    uint64_t i = a->first, j = b->first, done = 0, run = 0, before = 2;
    while (done < limit && i < a->rows && j < b->rows && run < PAIR_RUN) {
        const int64_t x = a->time[i], y = b->time[j];
        if ((x < y ? x : y) >= end)
            break; /* also where `end` is the greatest time there is: those rows are for merge_run */
        b->first = j;
        const uint64_t takes = x != y ? x < y : merge_before(a, i, b, ties);
        tags[done++] = takes ? left : right;
        run = takes == before ? run + 1 : 0;
        before = takes;
        i += takes;
        j += 1 - takes;
    }
    a->first = i;
    b->first = j;
    return done;
}

/* The lanes with rows, if these are two; NULL in the second if they are not. end: the least that any other lane could still bring. */
static inline void merge_two(as_merge_lane *lanes, uint32_t count, as_merge_lane **a, as_merge_lane **b, int64_t *end) {
    *a = *b = NULL;
    *end = INT64_MAX;
    for (uint32_t n = 0; n < count; n++) {
        as_merge_lane *each = &lanes[n];
        if (each->first >= each->rows) {
            *end = each->bound < *end ? each->bound : *end;
        } else if (*a == NULL) {
            *a = each;
        } else if (*b == NULL) {
            *b = each;
        } else {
            *b = NULL;
            return;
        }
    }
}
#endif
