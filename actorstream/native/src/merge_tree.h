/* Any number of lanes that alternate finely, row by row, by a tree of losers: a row costs the logarithm of their number,
   14 ns with 16 lanes and 21 with 64 (benchmark `scalegate`, cases lanes-*), also where only tie columns order the rows.

   The tree lies in the lanes. Lane n holds its node n, for 1 <= n < count: the loser of the match between the winners of
   its children 2n and 2n + 1. The lanes themselves are the leaves count .. 2 * count - 1. */
#ifndef ACTORSTREAM_MERGE_TREE_H
#define ACTORSTREAM_MERGE_TREE_H
#include "merge_run.h"

enum {
    TREE_RUN = 16,
    TREE_AHEAD = 32
}; /* rows of one lane in a row, from which on they are a run to find by galloping;
                                            rows whose times are fetched ahead */
#define TREE_NOBODY UINT32_MAX

/* Compares as an unsigned number as the value does as a signed one. */
static inline uint64_t tree_word(int64_t value) {
    return (uint64_t)value ^ (uint64_t)1 << 63;
}

/* The time and rank of a lane's next row. Those of the least row that could still come if it has run out: nothing behind
   it is ready. A lane that has ended goes behind every row. */
static inline as_merge_node tree_leaf(const as_merge_lane *lanes, uint32_t lane) {
    const as_merge_lane *each = &lanes[lane];
    if (each->first < each->rows)
        return (as_merge_node){tree_word(each->time[each->first]), tree_word(each->rank), lane, 1};
    if (each->bound == INT64_MAX)
        return (as_merge_node){UINT64_MAX, UINT64_MAX, lane, 0};
    return (as_merge_node){tree_word(each->bound), tree_word(each->rank), lane, 0};
}

/* Whether `a` goes before `b`, which has the same time and rank. */
static inline bool tree_tied(const as_merge_lane *lanes, const as_merge_node *a, const as_merge_node *b,
                             uint32_t ties) {
    const as_merge_lane *left = &lanes[a->lane], *right = &lanes[b->lane];
    if (a->has_rows && b->has_rows)
        return merge_before(left, left->first, right, ties);
    if (a->has_rows)
        return right->bound == INT64_MAX;
    return !b->has_rows || left->bound != INT64_MAX;
}

/* Leaves the loser in `node` and the winner in `best`, without a branch that depends on which is which. */
static inline void tree_play(const as_merge_lane *lanes, as_merge_node *node, as_merge_node *best, uint32_t ties) {
    const as_merge_node a = *node, b = *best;
    uint64_t takes = (a.time < b.time) | ((a.time == b.time) & (a.rank < b.rank));
    if (__builtin_expect(a.time == b.time && a.rank == b.rank, 0))
        takes = tree_tied(lanes, &a, &b, ties);
    uint64_t mask = -takes;
    __asm__ volatile("" : "+r"(mask)); /* or it becomes a branch again */
    const uint64_t time = (a.time ^ b.time) & mask, rank = (a.rank ^ b.rank) & mask;
    const uint32_t lane = (a.lane ^ b.lane) & (uint32_t)mask, rows = (a.has_rows ^ b.has_rows) & (uint32_t)mask;
    *node = (as_merge_node){a.time ^ time, a.rank ^ rank, a.lane ^ lane, a.has_rows ^ rows};
    *best = (as_merge_node){b.time ^ time, b.rank ^ rank, b.lane ^ lane, b.has_rows ^ rows};
}

/* Plays all matches; returns the winner. Whoever comes to a node first waits there for the winner of its other child. */
static inline as_merge_node tree_build(as_merge_lane *lanes, uint32_t count, uint32_t ties) {
    as_merge_node best = {0};
    for (uint32_t n = 0; n < count; n++)
        lanes[n].node.lane = TREE_NOBODY;
    for (uint32_t n = 0; n < count; n++) {
        best = tree_leaf(lanes, n);
        uint32_t at = (count + n) / 2;
        for (; at > 0 && lanes[at].node.lane != TREE_NOBODY; at /= 2)
            tree_play(lanes, &lanes[at].node, &best, ties);
        if (at == 0)
            return best; /* the last lane: all matches are played */
        lanes[at].node = best;
    }
    return best;
}

/* Tags the next rows, at most `limit`, until none is ready or many of one lane follow each other. Moves `first` past
   them. */
static inline uint64_t merge_tree(as_merge_lane *lanes, uint32_t count, uint32_t ties, uint64_t limit, uint16_t *tags) {
    as_merge_node best = tree_build(lanes, count, ties);
    uint64_t done = 0, run = 0;
    uint32_t before = TREE_NOBODY;
    while (done < limit && best.has_rows && run < TREE_RUN) {
        const uint32_t lane = best.lane;
        run = lane == before ? run + 1 : 0;
        before = lane;
        tags[done++] = (uint16_t)lane;
        lanes[lane].first++;
        __builtin_prefetch(lanes[lane].time + lanes[lane].first + TREE_AHEAD);
        best = tree_leaf(lanes, lane);
        for (uint32_t at = (count + lane) / 2; at > 0; at /= 2)
            tree_play(lanes, &lanes[at].node, &best, ties);
    }
    return done;
}
#endif
