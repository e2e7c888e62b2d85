/* The merge of sorted lanes for one reader; see include/merge.h. */
#include "merge.h"

#include <string.h>

#include "merge_pair.h"
#include "merge_spell.h"
#include "merge_tree.h"

enum { SHORT = 4 }; /* rows of a run below which it looks for more than the next run */

uint64_t as_merge_ready(as_merge_lane *lanes, uint32_t count, uint32_t ties, uint64_t limit, uint64_t shortest,
                        uint16_t *tags, uint32_t *lane) {
    uint64_t done = 0;
    bool tied = false, quarters = true;
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
        as_merge_lane *a, *b;
        int64_t end;
        merge_two(lanes, count, &a, &b, &end);
        if (b != NULL && a->time[a->first] < end)
            more = merge_tied_pair(lanes, a, b, ties, limit - done, tags + done, &quarters);
        if (more == 0 && !tied) /* rows that tie once do so again and again */
            more = merge_spell(lanes, count, limit - done, tags + done, &tied);
        if (more == 0 && b != NULL)
            more = merge_pair(lanes, a, b, end, ties, limit - done, tags + done);
        if (more == 0)
            more = merge_tree(lanes, count, ties, limit - done, tags + done);
        done += more;
    }
    *lane = AS_MERGE_MIXED;
    return done;
}

int as_merge_is_sorted(const as_merge_lane *lane, uint32_t ties) {
    for (uint64_t row = lane->first + 1; row < lane->rows; row++) {
        if (lane->time[row] > lane->time[row - 1])
            continue;
        if (lane->time[row] < lane->time[row - 1])
            return 0;
        for (uint32_t n = 0; n < ties; n++) {
            const int64_t before = lane->tie[n][row - 1], now = lane->tie[n][row];
            if (now < before)
                return 0;
            if (now > before)
                break;
        }
    }
    return 1;
}

/* Rows that come in runs of one part are copied run by run. */
static void gather_runs(const uint16_t *tags, uint64_t rows, uint64_t *from, uint32_t width, uint8_t *to) {
    for (uint64_t n = 0, length; n < rows; n += length) {
        const uint16_t part = tags[n];
        for (length = 1; n + length < rows && tags[n + length] == part;)
            length++;
        memcpy(to + n * width, (const void *)(uintptr_t)from[part], length * width);
        from[part] += length * width;
    }
}

#define GATHER(type)                                                                                                   \
    {                                                                                                                  \
        type *out = (type *)to;                                                                                        \
        for (uint64_t n = 0; n < rows; n++) {                                                                          \
            out[n] = *(const type *)(uintptr_t)from[tags[n]];                                                          \
            from[tags[n]] += sizeof(type);                                                                             \
        }                                                                                                              \
        break;                                                                                                         \
    }

static void gather_rows(const uint16_t *tags, uint64_t rows, uint64_t *from, uint32_t width, void *to) {
    switch (width) {
    case 1: GATHER(uint8_t)
    case 2: GATHER(uint16_t)
    case 4: GATHER(uint32_t)
    default: GATHER(uint64_t)
    }
}

enum { RUN = 8 }; /* rows of a part in a row, on the average, from which on runs are copied */

int as_merge_gather(const uint16_t *tags, const uint64_t *ends, uint64_t stretches, uint32_t parts, uint64_t *from,
                    uint32_t width, void *to) {
    if (width != 1 && width != 2 && width != 4 && width != 8)
        return AS_E_ARGUMENT;
    uint64_t first = 0;
    for (uint64_t at = 0; at < stretches; at++, from += parts) {
        const uint64_t rows = ends[at] - first;
        const uint16_t *own = tags + first;
        uint8_t *out = (uint8_t *)to + first * width;
        uint64_t turns = 1;
        for (uint64_t n = 1; n < rows; n++)
            turns += own[n] != own[n - 1];
        if (rows >= RUN * turns)
            gather_runs(own, rows, from, width, out);
        else
            gather_rows(own, rows, from, width, out);
        first = ends[at];
    }
    return AS_OK;
}
