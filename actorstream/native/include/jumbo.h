/*
 * Jumbo tuple: the bytes of one batch of rows, the only unit that queues, transports and checkpoints know
 * (briskstream-rlas section 5.2). Position-independent; Arrow-compatible, 64-byte aligned columns.
 *
 *   0    magic u32 | layout version u16 | columns u16
 *   8    schema fingerprint u64
 *   16   rows i64
 *   24   total bytes u64
 *   32   plan fingerprint u64
 *   40   flags u32 | column table offset u32 (64)
 *   48   reserved
 *   64   column table: 32 bytes a column:
 *        validity offset u64 (0: no nulls) | offsets offset u64 (0: fixed width) | data offset u64 |
 *        width u32 | wide u32
 *   ...  64-byte aligned buffers, in column order: validity, offsets (int32, or int64 when wide), data
 *
 * What belongs to one hand-over and not to the bytes (serial number, sequence, frontier, first row, entry times) is in
 * as_entry, because a block that is forwarded by reference has several senders.
 *
 * A piece is a run or a selection of rows of one batch; measuring and writing pieces is building (one piece), slicing
 * (first, rows), concatenating (several pieces), gathering by mask or index (index) and partitioning (one index list a
 * consumer), each in a single copy.
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

/* Bytes that writing the pieces takes; 0 with errno EOVERFLOW/EINVAL on bad arguments. `table` (columns x 32 bytes)
   receives the column table. A variable column whose data exceeds 2^31 - 1 bytes gets wide offsets. */
uint64_t as_jumbo_measure(const as_piece *pieces, uint32_t count, uint32_t columns, void *table);
/* Writes header, table and buffers to `out`, which has the measured size. Runs without the GIL. */
int as_jumbo_write(uint8_t *out, uint64_t bytes, const void *table, const as_piece *pieces, uint32_t count,
                   uint32_t columns, uint64_t schema, uint64_t plan);
/* Lays out an empty jumbo tuple of `rows` fixed-width rows (widths[i] bytes each, none nullable) for writing in place.
   With out == NULL answers only the size. */
uint64_t as_jumbo_prepare(uint8_t *out, uint64_t bytes, const uint32_t *widths, uint32_t columns, int64_t rows,
                          uint64_t schema, uint64_t plan);
/* Checks magic, version, bounds and offsets of `bytes` bytes and fills `columns` descriptors.
   AS_OK | AS_E_CORRUPT | AS_E_STALE (schema fingerprint differs). Never reads outside. */
int as_jumbo_open(const uint8_t *block, uint64_t bytes, uint64_t schema, uint32_t columns, as_column *out,
                  int64_t *rows);
/* cffi: end */
#define AS_JUMBO_MAGIC 0x424d554au /* "JUMB" */
#define AS_JUMBO_VERSION 1
#endif
