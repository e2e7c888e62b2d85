/*
 * What a reader of a ScaleGate makes of stretches (scalegate.h): batches, as the rows of several runs in order, whose columns
 * as_merge_gather (merge.h) puts together. No atomics, no memory of its own. Here the reference of a run is its place in a
 * table of the caller.
 */
#ifndef ACTORSTREAM_STRETCHES_H
#define ACTORSTREAM_STRETCHES_H
#include "scalegate.h"
/* cffi: begin */
/* What was given, and memory to work in. */
typedef struct as_stretches {
    const as_stretch *stretch;
    const uint16_t *tags; /* of the mixed ones; moved past those that have become batches */
    uint32_t count, at;   /* stretches; those that have become batches */
    uint32_t longest;     /* so many rows of one run are a batch by themselves */
    uint32_t *numbers;    /* one for each reference; 0 before and after */
    uint16_t *parts_of;   /* one for each source */
} as_stretches;
/* The next batch: a stretch of one run of `longest` rows or more by itself, else those that are shorter or mixed up to the
   next such one or to 65,535 rows. Writes of run n its reference to parts[2 * n] and which row of the run comes first to
   parts[2 * n + 1]; to `rows` how many rows it has; and, if it has several runs, of each row the number of its run to tags.
   parts: two for each stretch; tags: for all rows. Answers how many runs there are; 0: no batch is left. */
uint32_t as_stretches_next(as_stretches *given, uint64_t *parts, uint16_t *tags, uint32_t *rows);
/* cffi: end */
#endif
