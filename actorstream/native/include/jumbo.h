/*
 * Jumbo tuple: the bytes of one batch of rows, the only unit that queues, transports and checkpoints know
 * (briskstream-rlas section 5.2). Position-independent; Arrow-compatible, 64-byte aligned columns.
 *
 *   0    magic u32 | layout version u16 | columns u16
 *   8    schema fingerprint u64
 *   16   rows i64
 *   24   total bytes u64 (a multiple of 64)
 *   32   plan fingerprint u64
 *   40   flags u32 (0) | column table offset u32 (64)
 *   48   reserved (0)
 *   64   column table: 32 bytes a column:
 *        validity offset u64 (0: no nulls) | offsets offset u64 (0: fixed width) | data offset u64 |
 *        width u32 | wide u32
 *   ...  64-byte aligned buffers, in column order: validity, offsets (int32, or int64 when wide), data
 *
 * Offsets of a variable column start at 0. Everything between the buffers is zero, so the same rows give the same
 * bytes and nothing of a recycled block shows through. Values under a null are those of the source.
 *
 * What belongs to one hand-over and not to the bytes (serial number, sequence, frontier, first row, entry times) is in
 * as_entry, because a block that is forwarded by reference has several senders.
 *
 * A piece is a run or a selection of rows of one batch; measuring and writing pieces is building (one piece), slicing
 * (first, rows), concatenating (several pieces), gathering by mask or index (index) and partitioning (one index list a
 * consumer), each in a single copy.
 *
 * Concurrency: all functions are pure, keep no state and wait for nobody (wait-free); any thread may call them on its
 * own `out` and `table`, and many threads may read the same columns. They trust what the pieces point to.
 */
#ifndef ACTORSTREAM_JUMBO_H
#define ACTORSTREAM_JUMBO_H
#include "column.h"
/* cffi: begin */
typedef struct as_piece {
    const as_column *columns;   /* one for each column, all of the same schema */
    const uint32_t *index;      /* rows to take, relative to row `first`; NULL: the run first .. first + rows - 1 */
    int64_t first;
    int64_t rows;               /* rows taken */
} as_piece;                     /* 32 bytes; python writes it with struct "<QQqq" */

/* Describes the rows from `first` on: `to[c]` is `from[c]` without the rows before. */
void as_columns_from(const as_column *from, uint32_t columns, int64_t first, as_column *to);
/* Bytes that writing the pieces takes; 0 with errno EOVERFLOW/EINVAL on bad arguments (no pieces, negative rows, widths
   that differ between pieces, offsets that run backwards). `table` (columns x 32 bytes) receives the column table. A
   variable column whose data exceeds 2^31 - 1 bytes gets wide offsets, any other narrow ones. A column has a bitmap if
   one of the pieces with rows has. */
uint64_t as_jumbo_measure(const as_piece *pieces, uint32_t count, uint32_t columns, void *table);
/* Writes header, table and buffers to `out` (8-byte aligned, 64 for Arrow's sake), which has the measured size. Runs
   without the GIL. `away`: not 0 if another core reads the tuple first. Where plain stores to `out` are slow, since that
   core shares no cache with this one, columns of 16 KiB and more are then written past the caches (past_caches.h).
   AS_OK | AS_E_ARGUMENT: the pieces are not those that were measured. Never writes outside `bytes`. */
int as_jumbo_write(uint8_t *out, uint64_t bytes, const void *table, const as_piece *pieces, uint32_t count,
                   uint32_t columns, uint64_t schema, uint64_t plan, uint32_t away);
/* Lays out an empty jumbo tuple of `rows` fixed-width rows (widths[i] bytes each, none nullable) for writing in place:
   the caller fills every value, as_jumbo_open says where. With out == NULL answers only the size. 0 with errno
   EOVERFLOW/EINVAL/ENOSPC (`bytes` is too small) on bad arguments. */
uint64_t as_jumbo_prepare(uint8_t *out, uint64_t bytes, const uint32_t *widths, uint32_t columns, int64_t rows,
                          uint64_t schema, uint64_t plan);
/* Checks magic, version, bounds and the first and last offsets of `bytes` bytes (a block may be larger than what it
   holds) and fills `columns` descriptors. O(columns). AS_OK | AS_E_CORRUPT | AS_E_STALE (schema fingerprint differs) |
   AS_E_ARGUMENT (block is not 8-byte aligned). Never reads outside. */
int as_jumbo_open(const uint8_t *block, uint64_t bytes, uint64_t schema, uint32_t columns, as_column *out,
                  int64_t *rows);
/* For bytes from outside (a network, a file, a foreign process), after as_jumbo_open: that widths are those of the
   schema (0: variable; NULL: not compared) and that every offset lies between its neighbours. O(rows of variable
   columns). After AS_OK every value lies inside the block. AS_OK | AS_E_CORRUPT. */
int as_jumbo_verify(const as_column *columns, uint32_t count, int64_t rows, const uint32_t *widths);
/* cffi: end */
#define AS_JUMBO_MAGIC 0x424d554au /* "JUMB" */
#define AS_JUMBO_VERSION 1
_Static_assert(sizeof(as_piece) == 32, "python writes this layout");
#endif
