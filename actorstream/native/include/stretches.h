/*
 * What a reader of a ScaleGate makes of stretches (scalegate.h): batches, put together of short stretches column by column.
 * No atomics, no memory of its own. Here the reference of a run is its place in tables of the caller.
 */
#ifndef ACTORSTREAM_STRETCHES_H
#define ACTORSTREAM_STRETCHES_H
#include "scalegate.h"
/* cffi: begin */
/* How many of the stretches become one batch, and its rows: a first one of `longest` rows or more by itself; else those that
   are shorter and follow each other, are of sources of one input (inputs: by source), and have at most `most` rows; one at
   least. */
uint32_t as_stretches_cut(const as_stretch *stretches, uint32_t count, const uint32_t *inputs, uint32_t longest,
                          uint64_t most, uint64_t *rows);
/* Puts their rows behind each other. Column c of run n begins at address from[n * columns + c] and has values of widths[c]
   bytes (1, 2, 4, 8); the values go to to[c]. AS_E_ARGUMENT: another width. */
int as_stretches_pour(const as_stretch *stretches, uint32_t count, const uint64_t *from, const uint32_t *widths,
                      uint32_t columns, const uint64_t *to);
/* Of the runs that they are of: the least of marks[3 * n] and the greatest of marks[3 * n + 1], the least of
   marks[3 * n + 2]; 0 is none. */
void as_stretches_marks(const as_stretch *stretches, uint32_t count, const int64_t *marks, int64_t *found);
/* cffi: end */
#endif
