/*
 * What a reader of a ScaleGate makes of stretches (scalegate.h): batches, as the rows of several runs in order, whose columns
 * as_merge_gather (merge.h) puts together. No atomics, no memory of its own. Here the reference of a run is its place in a
 * table of the caller.
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
/* Finds the runs that have the rows of some stretches, at most 65,535 rows, and numbers them in the order of their first row.
   Writes of run n its reference to parts[2 * n] and its first row in the stretches to parts[2 * n + 1], and of each row the
   number of its run to tags. numbers: memory to work in, one number for each reference; it is 0 before and after. Returns
   how many runs there are. */
uint32_t as_stretches_parts(const as_stretch *stretches, uint32_t count, uint32_t *numbers, uint64_t *parts,
                            uint16_t *tags);
/* cffi: end */
#endif
