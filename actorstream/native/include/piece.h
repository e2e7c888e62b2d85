/*
 * Rows of a batch sent as a jumbo tuple of their own, in one call: measured, written into a block of the sender's arena, lent,
 * and published. What an edge by key does for each consumer in another process.
 *
 * Concurrency: that of the producer's end (channel.h): one thread at a time. Waits for nobody but the arena's short mutex.
 */
#ifndef ACTORSTREAM_PIECE_H
#define ACTORSTREAM_PIECE_H
#include "channel.h"
#include "jumbo.h"
/* cffi: begin */
/* The columns of a piece at most; more are for the caller to encode and send. */
enum { AS_PIECE_COLUMNS = 64 };
/* Sends `rows` rows of `columns` columns, whose descriptors lie at `table`: those at the `rows` uint32 row numbers at `index`,
   relative to row `first`; `index` 0: the run from `first` on. `form`, `sequence`, entry times and `flags`: as
   as_channel_send_whole has them. AS_AGAIN: nothing was sent, since there is no credit (the wish for it is noted), the jumbo
   tuple would have `most` bytes or more, the arena has no room, or the rows cannot be written: the caller encodes and sends
   them, which says why. AS_E_CLOSED | AS_E_STALE. */
int as_channel_send_piece(as_producer *producer, as_entry *form, as_arena *arena, uint64_t table, uint32_t columns,
                          uint64_t index, int64_t first, int64_t rows, uint64_t plan, uint64_t most, uint64_t sequence,
                          int64_t min_entry, int64_t max_entry, uint32_t flags);
/* cffi: end */
#endif
