/*
 * ScaleGate (viper-scalegate section 3.3): what k sources add, each in non-decreasing order of time, comes out for every
 * one of r readers in one order, (time, rank of the source, ties), as soon as it is ready (merge.h). For the threads of
 * ONE process. The caller owns the memory, 64-byte aligned, and the columns of a run until the run is acknowledged.
 *
 * A source adds runs: sorted rows that lie in its own memory, with a reference that means something to the caller. The
 * gate moves no row: readers get stretches, which rows of which run go next. Rows of several runs that alternate are one
 * mixed stretch, and a tag for each says whose it is.
 *
 *     source 0  [run][run]      \                                               / reader 0  (cursor)
 *     source 1  [run]            >  merged by whichever thread comes by  [log] <
 *     source 2  [run][run][run] /   (one at a time; nobody waits for it)        \ reader 1  (cursor)
 *
 * There is no merging thread: a reader that finds nothing, and a source that promises or finds its ring half full, does
 * the merge unless another thread is at it; that one is then told, and goes round again. Nobody blocks: a thread that is suspended inside
 * delays results, never the other threads' calls.
 *
 * Flow control: a run's end is the watermark tuple of the paper. A reader that passes it acknowledges the run to its
 * source; a source with `runs` runs that some reader has not passed is told AS_AGAIN. So the slowest reader bounds what
 * lies in the gate. With one source and one reader the gate is a plain ring.
 */
#ifndef ACTORSTREAM_SCALEGATE_H
#define ACTORSTREAM_SCALEGATE_H
#include "merge.h"
/* cffi: begin */
typedef struct as_scalegate as_scalegate;
enum { AS_SCALEGATE_BLOCK = 512 }; /* the most rows of a mixed stretch */
/* A mixed stretch has AS_MERGE_MIXED as its `source`; `rows` counts its rows, and `first` the runs that they are of. One stretch
   for each of these runs follows it, by source, and says which rows of the run they are. */
typedef struct as_stretch {
    uint64_t reference; /* of the run */
    uint32_t source;
    uint32_t first, rows; /* of the run */
    uint32_t ends; /* 1: the run's last rows; its memory is free once all readers have passed it */
} as_stretch;
/* What the merge has come to. `runs`, `first`: the caller's, by source. */
typedef struct as_scalegate_view {
    uint64_t logged; /* stretches so far */
    int64_t reached; /* no row of a later stretch is below it */
    int64_t waited; /* the least time of rows that were added and are in no stretch yet; INT64_MAX: there are none */
    uint32_t is_full; /* such a row may be ready: the slowest reader leaves no room for more stretches */
    uint64_t *runs; /* whose rows are all in stretches */
    uint64_t *first; /* rows of the run behind these that are */
} as_scalegate_view;
/* sources, readers: 1 to 65,535; runs: per source, stretches: in the log; both powers of two. 0: out of range. */
uint64_t as_scalegate_size(uint32_t sources, uint32_t readers, uint32_t runs, uint32_t stretches);
/* rank: by source. Sources of equal rank have `ties` tie columns that order rows of equal time. */
int as_scalegate_init(void *memory, uint32_t sources, uint32_t readers, uint32_t runs, uint32_t stretches,
                      const int64_t *rank, uint32_t ties);
/* A source's next rows. tie: `ties` columns, or NULL if there are none. AS_OK | AS_AGAIN (flow control) | AS_E_ARGUMENT
   (no rows, a time below what the source has added or promised, or it has left). One thread a source. */
int as_scalegate_add(as_scalegate *gate, uint32_t source, const int64_t *time, const int64_t *const *tie, uint32_t rows,
                     uint64_t reference);
/* The source adds nothing below `bound` any more (a heartbeat); INT64_MAX: it leaves. A lower one than before does
   nothing. */
void as_scalegate_promise(as_scalegate *gate, uint32_t source, int64_t bound);
/* A source that has left comes back: answers the time from which on it may add, `bound` or later. Not once all have
   left. */
int64_t as_scalegate_join(as_scalegate *gate, uint32_t source, int64_t bound);
/* Up to `room` stretches that are ready and that this reader has not got, and no further one once they have `rows` rows; what
   it was given before is acknowledged. room: 1 + the number of sources, or more than AS_SCALEGATE_BLOCK, and better more.
   tags: of the mixed rows, one after another, the source of each; room for `rows` + AS_SCALEGATE_BLOCK.
   Answers how many; 0: none now; AS_E_CLOSED: never again; AS_E_ARGUMENT: too little room. One thread a reader. */
int as_scalegate_get_rows(as_scalegate *gate, uint32_t reader, as_stretch *stretches, uint32_t room, uint16_t *tags,
                          uint64_t rows);
/* The reader is done with all that it was given. Its own thread says so; get_rows does, too. */
void as_scalegate_acknowledge(as_scalegate *gate, uint32_t reader);
/* The time of the row that the reader gets next. AS_OK | AS_AGAIN: nothing is ready. The reader's own thread asks. */
int as_scalegate_next(as_scalegate *gate, uint32_t reader, int64_t *time);
/* Merges what is ready, and says what it has come to. AS_OK | AS_AGAIN: another thread is at it, and goes round again. Any
   thread. Not of a plain ring: AS_E_ARGUMENT. */
int as_scalegate_look(as_scalegate *gate, as_scalegate_view *view);
/* How many runs of a source all readers have passed; the source's own thread asks. */
uint64_t as_scalegate_acknowledged(as_scalegate *gate, uint32_t source);
/* cffi: end */
#endif
