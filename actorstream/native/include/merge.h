/*
 * The merge of sorted lanes by readiness: viper-scalegate Definition 1, made strict for ties. Private to its caller: no
 * atomics, no memory of its own. The ScaleGate (scalegate.h) and the gate at a reader between processes both run it.
 *
 * A lane is what came from one source so far: rows [first, rows) of `time` and, where sources share a rank, of the tie
 * columns (origin, position, ordinals), sorted by (time, ties); and `bound`: once those rows are gone, nothing below it
 * will follow. The order of all rows is (time, rank, ties). Rows of two lanes that are equal in all of it keep the
 * order of the lanes.
 *
 * The next row of a lane is ready when no lane that has run out of rows could still bring one before it: those of
 * higher rank promise nothing below its time, all others nothing at its time either.
 */
#ifndef ACTORSTREAM_MERGE_H
#define ACTORSTREAM_MERGE_H
#include "status.h"
/* cffi: begin */
enum { AS_MERGE_TIES = 8, AS_MERGE_LANES = 65535, AS_MERGE_MIXED = 65535 };
typedef struct as_merge_node {
    uint64_t time, rank;
    uint32_t lane, has_rows;
} as_merge_node;               /* src/merge_tree.h */
typedef struct as_merge_lane {
    const int64_t *time;
    const int64_t *tie[8];     /* AS_MERGE_TIES */
    uint64_t first, rows;
    int64_t bound;             /* INT64_MAX: the lane has ended */
    int64_t rank;              /* of the input that it belongs to */
    as_merge_node node;        /* scratch of as_merge_ready: of any contents before and after */
} as_merge_lane;
/* The next rows in order, at most `limit`, and moves `first` of the lanes past them. If they are a run of one lane that
   is at least `shortest` rows long, that lane in `lane` and `tags` untouched; else AS_MERGE_MIXED there, and for each
   row in tags the lane that it comes from. Answers how many, 0: none is ready. */
uint64_t as_merge_ready(as_merge_lane *lanes, uint32_t count, uint32_t ties, uint64_t limit, uint64_t shortest,
                        uint16_t *tags, uint32_t *lane);
/* Whether the rows that have not gone are sorted by (time, ties). */
int as_merge_is_sorted(const as_merge_lane *lane, uint32_t ties);
/* Puts values of `width` bytes (1, 2, 4, 8) in the order of the tags: of each row the next value of the part that its tag
   names. The tags of stretch n end before ends[n]; its parts are from[n * parts] on: addresses, which are moved. */
int as_merge_gather(const uint16_t *tags, const uint64_t *ends, uint64_t stretches, uint32_t parts, uint64_t *from,
                    uint32_t width, void *to);
/* cffi: end */
#endif
