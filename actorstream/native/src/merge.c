/* The merge of sorted lanes for one reader; see include/merge.h. */
#include "merge.h"

#include <string.h>

#include "merge_run.h"
#include "merge_spell.h"
#include "merge_tree.h"

enum { SHORT = 4 }; /* rows of a run below which it looks for more than the next run */

uint64_t as_merge_run(const as_merge_lane *lanes, uint32_t count, uint32_t ties, uint64_t limit, uint32_t *lane)
{
    return merge_run(lanes, count, ties, limit, lane);
}

uint64_t as_merge_ready(as_merge_lane *lanes, uint32_t count, uint32_t ties, uint64_t limit, uint64_t shortest,
                        uint16_t *tags, uint32_t *lane)
{
    uint64_t done = 0;
    bool tied = false;
    uint32_t from;
    while (done < limit) {
        const uint64_t run = merge_run(lanes, count, ties, limit - done, &from);
        if (run == 0)
            break;
        if (run >= shortest) {
            if (done)
                break; /* the next call finds it again, as a run */
            lanes[from].first += run;
            *lane = from;
            return run;
        }
        for (uint64_t n = 0; n < run; n++)
            tags[done + n] = (uint16_t)from;
        lanes[from].first += run;
        done += run;
        if (run >= SHORT)
            continue;
        uint64_t more = 0;
        if (!tied) /* rows that tie once do so again and again */
            more = merge_spell(lanes, count, limit - done, tags + done, &tied);
        if (more == 0)
            more = merge_pair(lanes, count, ties, limit - done, tags + done);
        if (more == 0)
            more = merge_tree(lanes, count, ties, limit - done, tags + done);
        done += more;
    }
    *lane = AS_MERGE_MIXED;
    return done;
}

#define GATHER(type)                                                                                         \
    {                                                                                                        \
        type *out = to;                                                                                      \
        const type **next = (const type **)from;                                                             \
        for (uint64_t n = 0; n < rows; n++)                                                                  \
            out[n] = *next[tags[n]]++;                                                                       \
        return AS_OK;                                                                                        \
    }

int as_merge_gather(const uint16_t *tags, uint64_t rows, const void **from, uint32_t width, void *to)
{
    switch (width) {
    case 1: GATHER(uint8_t)
    case 2: GATHER(uint16_t)
    case 4: GATHER(uint32_t)
    case 8: GATHER(uint64_t)
    default: return AS_E_ARGUMENT;
    }
}

/* Rows that come in runs of one lane are copied run by run. */
static void pour_runs(const uint16_t *tags, uint64_t rows, uint64_t *at, uint32_t width, uint8_t *to)
{
    for (uint64_t n = 0, length; n < rows; n += length) {
        const uint16_t lane = tags[n];
        for (length = 1; n + length < rows && tags[n + length] == lane;)
            length++;
        memcpy(to + n * width, (const void *)(uintptr_t)at[lane], length * width);
        at[lane] += length * width;
    }
}

#define POUR(type)                                                                                           \
    {                                                                                                        \
        type *out = (type *)to;                                                                              \
        for (uint64_t n = 0; n < rows; n++) {                                                                \
            out[n] = *(const type *)(uintptr_t)at[tags[n]];                                                  \
            at[tags[n]] += sizeof(type);                                                                     \
        }                                                                                                    \
        return AS_OK;                                                                                        \
    }

static int pour_rows(const uint16_t *tags, uint64_t rows, uint64_t *at, uint32_t width, void *to)
{
    switch (width) {
    case 1: POUR(uint8_t)
    case 2: POUR(uint16_t)
    case 4: POUR(uint32_t)
    case 8: POUR(uint64_t)
    default: return AS_E_ARGUMENT;
    }
}

enum { RUN = 8 }; /* rows of a lane in a row, on the average, from which on runs are copied */

int as_merge_pour(const as_merge_lane *lanes, uint32_t count, const uint16_t *tags, uint64_t rows, const uint64_t *from,
                  const uint32_t *widths, uint32_t columns, uint64_t *to, uint64_t *scratch)
{
    uint64_t *first = scratch, *at = scratch + count, turns = 1;
    memset(first, 0, count * sizeof *first);
    for (uint64_t n = 0; n < rows; n++) {
        first[tags[n]]++;
        turns += n > 0 && tags[n] != tags[n - 1];
    }
    for (uint32_t n = 0; n < count; n++)
        first[n] = lanes[n].first - first[n]; /* the rows have gone already */
    for (uint32_t column = 0; column < columns; column++) {
        const uint32_t width = widths[column];
        for (uint32_t n = 0; n < count; n++)
            at[n] = from[(uint64_t)n * columns + column] + first[n] * width;
        if (rows >= RUN * turns)
            pour_runs(tags, rows, at, width, (uint8_t *)(uintptr_t)to[column]);
        else if (pour_rows(tags, rows, at, width, (void *)(uintptr_t)to[column]) != AS_OK)
            return AS_E_ARGUMENT;
        to[column] += rows * width;
    }
    return AS_OK;
}
