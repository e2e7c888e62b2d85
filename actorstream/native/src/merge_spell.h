/* Lanes that alternate finely, a spell at a time: all rows below one time are merged pair by pair, without a branch
   that depends on them. 390 M rows/s a level, whatever the interleaving; picking the least of k heads row by row is
   60 M/s with four lanes, nearly all of it mispredicted branches. */
#ifndef ACTORSTREAM_MERGE_SPELL_H
#define ACTORSTREAM_MERGE_SPELL_H
#include "merge_run.h"

enum { SPELL_LANES = 16, SPELL_ROWS = 2048, SPELL_LEAST = 8 };

typedef struct spell_part {
    const int64_t *time;
    const uint16_t *tag; /* NULL: all of them `lane` */
    uint64_t rows;
    uint16_t lane;
} spell_part;

/* Merges two parts, at equal times the first goes first. Answers whether there were any. */
static inline uint64_t spell_pair(const spell_part *a, const spell_part *b, int64_t *time, uint16_t *tags) {
    uint64_t i = 0, j = 0, done = 0, tied = 0;
    const int64_t *left = a->time, *right = b->time;
    if (a->tag == NULL && b->tag == NULL) {
        while (i < a->rows && j < b->rows) {
            const uint64_t x = (uint64_t)left[i], y = (uint64_t)right[j];
            const uint64_t takes = left[i] <= right[j], mask = -takes;
            tied |= x == y;
            time[done] = (int64_t)((x & mask) | (y & ~mask));
            tags[done++] = (uint16_t)((a->lane & mask) | (b->lane & ~mask));
            i += takes;
            j += 1 - takes;
            __asm__ volatile("" : "+r"(i), "+r"(j)); /* or it becomes a branch again */
        }
    } else {
        const uint16_t *left_tag = a->tag, *right_tag = b->tag; /* parts of one level are alike */
        while (i < a->rows && j < b->rows) {
            const uint64_t x = (uint64_t)left[i], y = (uint64_t)right[j];
            const uint64_t takes = left[i] <= right[j], mask = -takes;
            tied |= x == y;
            time[done] = (int64_t)((x & mask) | (y & ~mask));
            tags[done++] = (uint16_t)((left_tag[i] & mask) | (right_tag[j] & ~mask));
            i += takes;
            j += 1 - takes;
            __asm__ volatile("" : "+r"(i), "+r"(j));
        }
    }
    for (; i < a->rows; i++, done++) {
        time[done] = left[i];
        tags[done] = a->tag != NULL ? a->tag[i] : a->lane;
    }
    for (; j < b->rows; j++, done++) {
        time[done] = right[j];
        tags[done] = b->tag != NULL ? b->tag[j] : b->lane;
    }
    return tied;
}

/* The lanes with rows as parts, by rank: those rows of each, `most` at the most, whose time is below what any lane could
   still bring. Answers how many lanes; the sum of rows in `rows`, whether two share a rank in `shared`. */
static inline uint32_t spell_parts(const as_merge_lane *lanes, uint32_t count, uint64_t limit, spell_part *parts,
                                   uint64_t *rows, bool *shared) {
    uint32_t found = 0;
    for (uint32_t n = 0; n < count; n++) {
        if (lanes[n].first >= lanes[n].rows)
            continue;
        if (found == SPELL_LANES)
            return 0;
        uint32_t at = found++;
        for (; at > 0 && lanes[parts[at - 1].lane].rank > lanes[n].rank; at--)
            parts[at] = parts[at - 1];
        parts[at] = (spell_part){.lane = (uint16_t)n};
    }
    if (found < 2)
        return 0;
    const uint64_t most = (limit < SPELL_ROWS ? limit : SPELL_ROWS) / found;
    int64_t end = INT64_MAX;
    for (uint32_t n = 0; n < count; n++) {
        const as_merge_lane *each = &lanes[n];
        const int64_t until = each->first + most < each->rows ? each->time[each->first + most] : each->bound;
        end = until < end ? until : end;
    }
    *rows = 0;
    *shared = false;
    for (uint32_t n = 0; n < found; n++) {
        const as_merge_lane *each = &lanes[parts[n].lane];
        const uint64_t there = each->rows - each->first < most ? each->rows : each->first + most;
        parts[n].time = each->time + each->first;
        if (there > each->first && each->time[each->first] < end)
            parts[n].rows = merge_gallop(each->time, each->first, there, end);
        *rows += parts[n].rows;
        *shared |= n > 0 && each->rank == lanes[parts[n - 1].lane].rank;
    }
    return found;
}

/* Tags as many of the next rows as it can see in order, at most `limit`, and moves `first` past them. 0: too few, or
   rows tie (`ties`) that only their tie columns can order. */
static inline uint64_t merge_spell(as_merge_lane *lanes, uint32_t count, uint64_t limit, uint16_t *tags, bool *ties) {
    int64_t times[2][SPELL_ROWS];
    uint16_t marks[2][SPELL_ROWS];
    spell_part parts[SPELL_LANES];
    uint64_t rows = 0, tied = 0;
    bool shared = false;
    *ties = false;
    const uint32_t found = spell_parts(lanes, count, limit, parts, &rows, &shared);
    if (found == 0 || rows < SPELL_LEAST)
        return 0;
    uint64_t taken[SPELL_LANES];
    uint16_t lane[SPELL_LANES];
    for (uint32_t n = 0; n < found; n++) {
        taken[n] = parts[n].rows;
        lane[n] = parts[n].lane;
    }
    uint32_t into = 0;
    for (uint32_t left = found; left > 1; into = 1 - into) {
        uint32_t kept = 0;
        uint64_t at = 0;
        for (uint32_t n = 0; n < left; n += 2) {
            /* the odd one moves along, so that no part lies in what the next level overwrites */
            const spell_part none = {.time = parts[n].time, .tag = parts[n].tag};
            const spell_part *other = n + 1 < left ? &parts[n + 1] : &none;
            tied |= spell_pair(&parts[n], other, times[into] + at, left == 2 ? tags : marks[into] + at);
            const uint64_t both = parts[n].rows + other->rows;
            parts[kept++] = (spell_part){times[into] + at, marks[into] + at, both, 0};
            at += both;
        }
        left = kept;
    }
    if (tied && shared) {
        *ties = true;
        return 0;
    }
    for (uint32_t n = 0; n < found; n++)
        lanes[lane[n]].first += taken[n];
    return rows;
}
#endif
