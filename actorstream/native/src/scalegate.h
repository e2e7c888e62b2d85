/* What a ScaleGate is made of: private to scalegate.c (sources, and the merge) and scalegate_readers.c. Indices only grow;
   their low bits say the slot. */
#ifndef AS_SCALEGATE_PRIVATE_H
#define AS_SCALEGATE_PRIVATE_H
#include <stdatomic.h>
#include <string.h>

#include "../include/scalegate.h"

enum { FREE = 0, HELD = 1, ASKED = 2, MOST = AS_MERGE_LANES, BLOCK = AS_SCALEGATE_BLOCK, SHORTEST = 16 };

typedef struct run {
    const int64_t *time;
    const int64_t *tie[AS_MERGE_TIES];
    uint64_t reference;
    uint32_t rows;
} run;

typedef struct source {
    _Alignas(64) _Atomic uint64_t added; /* runs; written by the source */
    _Atomic int64_t bound; /* its promise; written after `added` that it covers */
    int64_t least; /* the source's own: what its next row must not be below */
    int64_t last; /* the source's own: the time of its last row */
    uint64_t acknowledged; /* the source's own: as it last saw it */
    _Alignas(64) uint64_t taken; /* the merge's: runs that have been in the lane */
    int64_t until; /* the merge's: the time of the last row of these, which `bound` may not say yet */
} source;

typedef struct reader {
    _Alignas(64) _Atomic uint64_t passed; /* stretches; written by the reader */
    _Atomic uint64_t passed_tags; /* their tags; written by the reader */
    uint64_t given; /* the reader's own: ends among the stretches that it has been given last */
} reader;

struct as_scalegate {
    uint32_t sources, readers, runs, stretches, ties;
    uint64_t run_mask, log_mask;
    source *source;
    run *run; /* [source][slot] */
    reader *reader;
    _Atomic uint64_t *passed; /* [reader][source]: runs that the reader has passed */
    uint64_t *reading; /* [reader][source], the reader's own: runs that it passes when it comes back */
    as_merge_lane *lane; /* from here on the merge's own: touched by who holds `turn` */
    uint64_t *before; /* by source: the lane's `first` before what is logged now */
    as_stretch *log;
    uint16_t *tag; /* of the mixed rows in the log; the `reference` of a mixed stretch says where its own begin */
    uint64_t tagged; /* tags so far */
    uint64_t room_until, tags_until; /* stretches and tags up to here have room, as last seen */
    int64_t floor; /* the greatest time in the log */
    _Alignas(64) _Atomic uint32_t turn;
    _Alignas(64) _Atomic uint64_t logged; /* stretches; written by the merge */
    _Atomic uint32_t ended;
};

static inline uint64_t lines(uint64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static inline _Atomic uint64_t *passed_of(as_scalegate *gate, uint32_t reader_number) {
    return (void *)((char *)gate->passed + reader_number * lines(gate->sources * sizeof(uint64_t)));
}

static inline uint64_t *reading_of(as_scalegate *gate, uint32_t reader_number) {
    return (void *)((char *)gate->reading + reader_number * lines(gate->sources * sizeof(uint64_t)));
}

/* Copies tags into the log or out of it, which wraps around; `at`: of the first. */
static inline void put_tags(as_scalegate *gate, uint64_t at, const uint16_t *tags, uint64_t rows) {
    const uint64_t first = at & gate->log_mask, end = gate->stretches - first, whole = rows < end ? rows : end;
    memcpy(gate->tag + first, tags, whole * sizeof *tags);
    memcpy(gate->tag, tags + whole, (rows - whole) * sizeof *tags);
}

static inline void take_tags(const as_scalegate *gate, uint64_t at, uint16_t *tags, uint64_t rows) {
    const uint64_t first = at & gate->log_mask, end = gate->stretches - first, whole = rows < end ? rows : end;
    memcpy(tags, gate->tag + first, whole * sizeof *tags);
    memcpy(tags + whole, gate->tag, (rows - whole) * sizeof *tags);
}

static inline int is_ring(const as_scalegate *gate) {
    return gate->sources == 1 && gate->readers == 1;
}

/* Merges, or tells the thread that is merging to go round again; `view`: what the merge leaves, NULL: not asked for. Whether
   this thread did it. In scalegate.c. */
int as_scalegate_drive(as_scalegate *gate, as_scalegate_view *view);
#endif
