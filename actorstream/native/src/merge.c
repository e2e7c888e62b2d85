/* The merge of sorted lanes for one reader; see include/merge.h. */
#include "merge.h"

#include "merge_run.h"
#include "merge_spell.h"

enum { SHORT = 4, REST = 64 }; /* runs that make it try a spell; rows until it tries again when one came to nothing */

uint64_t as_merge_run(const as_merge_lane *lanes, uint32_t count, uint32_t ties, uint64_t limit, uint32_t *lane)
{
    return merge_run(lanes, count, ties, limit, lane);
}

uint64_t as_merge_ready(as_merge_lane *lanes, uint32_t count, uint32_t ties, uint64_t limit, uint64_t shortest,
                        uint16_t *tags, uint32_t *lane)
{
    uint64_t done = 0, next_spell = 0;
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
        if (run < SHORT && done >= next_spell) {
            const uint64_t more = merge_spell(lanes, count, limit - done, tags + done);
            done += more;
            next_spell = more ? 0 : done + REST;
        }
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
