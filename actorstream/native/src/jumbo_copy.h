/*
 * Copies of one column of one piece: runs and gathers, fixed and variable width, and validity. Private to
 * jumbo.c, which checks the arguments; nothing here allocates.
 */
#ifndef ACTORSTREAM_JUMBO_COPY_H
#define ACTORSTREAM_JUMBO_COPY_H
#include <stdbool.h>
#include "bits.h"
#include "jumbo.h"
#include "past_caches.h"

/* Value number of the piece's row 0 in the column's buffers. */
AS_INLINE int64_t piece_start(const as_piece *piece, const as_column *column) {
    return column->first + piece->first;
}

/* Appends the piece's validity; a column without bitmap has no nulls. */
static void copy_validity(bit_writer *writer, const as_piece *piece, const as_column *column) {
    const uint8_t *bits = column->validity;
    int64_t start = piece_start(piece, column);
    for (int64_t row = 0; row < piece->rows; row += 64) {
        unsigned count = piece->rows - row < 64 ? (unsigned)(piece->rows - row) : 64;
        uint64_t word = 0;
        if (bits == NULL) {
            word = count == 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
        } else if (piece->index == NULL) {
            word = bits_load(bits, start + row, count);
        } else {
            for (unsigned bit = 0; bit < count; bit++)
                word |= (uint64_t)bit_at(bits, start + piece->index[row + bit]) << bit;
        }
        bits_append(writer, word, count);
    }
}

#define GATHER(type)                                                                                                   \
    do {                                                                                                               \
        const type *from = (const type *)source;                                                                       \
        type *to = (type *)out;                                                                                        \
        for (int64_t row = 0; row < rows; row++)                                                                       \
            to[row] = from[index[row]];                                                                                \
    } while (0)

/* Scalar loads: vector gathers reach 1.5 G values/s where these reach 2.1 (Zen 4, int64, half of the rows). */
static void gather_fixed(uint8_t *restrict out, const uint8_t *source, size_t width, const uint32_t *restrict index,
                         int64_t rows) {
    switch (width) {
    case 1: GATHER(uint8_t); break;
    case 2: GATHER(u16_any); break;
    case 4: GATHER(u32_any); break;
    case 8: GATHER(u64_any); break;
    case 16: GATHER(u128_any); break;
    default:
        for (int64_t row = 0; row < rows; row++)
            memcpy(out + (size_t)row * width, source + (size_t)index[row] * width, width);
    }
}
#undef GATHER

AS_INLINE const uint8_t *fixed_source(const as_piece *piece, const as_column *column) {
    return (const uint8_t *)column->data + (size_t)piece_start(piece, column) * column->width;
}

static void copy_fixed(uint8_t *restrict out, const as_piece *piece, const as_column *column) {
    const uint8_t *source = fixed_source(piece, column);
    if (piece->index != NULL)
        gather_fixed(out, source, column->width, piece->index, piece->rows);
    else if (piece->rows)
        memcpy(out, source, (size_t)piece->rows * column->width);
}

/* The same past the caches. */
static void stream_fixed(stream *out, const as_piece *piece, const as_column *column) {
    const uint8_t *source = fixed_source(piece, column);
    const size_t width = column->width;
    if (piece->index == NULL) {
        if (piece->rows)
            stream_append(out, source, (size_t)piece->rows * width);
        return;
    }
    const int64_t most = width <= AS_PART ? (int64_t)(AS_PART / width) : 0;
    for (int64_t row = 0, rows; row < piece->rows; row += rows) {
        const uint32_t *index = piece->index + row;
        if (most == 0) {
            rows = 1;
            stream_append(out, source + (size_t)*index * width, width);
        } else {
            rows = piece->rows - row < most ? piece->rows - row : most;
            gather_fixed(stream_room(out, (size_t)rows * width), source, width, index, rows);
            out->filled += (size_t)rows * width;
        }
    }
}

AS_INLINE int64_t offset_at(const void *offsets, bool wide, int64_t at) {
    return wide ? ((const i64_any *)offsets)[at] : (int64_t)((const i32_any *)offsets)[at];
}

/* Bytes of the piece's values in a variable column; negative if an offset runs backwards. */
AS_INLINE int64_t gathered_bytes(const as_piece *piece, const void *offsets, bool wide, int64_t start) {
    int64_t total = 0, wrong = 0;
    for (int64_t row = 0; row < piece->rows; row++) {
        int64_t at = start + piece->index[row];
        int64_t length = offset_at(offsets, wide, at + 1) - offset_at(offsets, wide, at);
        total += length;
        wrong |= length | total;
    }
    return wrong < 0 ? -1 : total;
}

static int64_t variable_bytes(const as_piece *piece, const as_column *column) {
    int64_t start = piece_start(piece, column);
    if (piece->rows == 0)
        return 0;
    if (piece->index == NULL)
        return offset_at(column->offsets, column->wide, start + piece->rows) -
               offset_at(column->offsets, column->wide, start);
    return column->wide ? gathered_bytes(piece, column->offsets, true, start)
                        : gathered_bytes(piece, column->offsets, false, start);
}

/* Where a variable column is being written. Invariant: next <= end; offset `rows` is written. */
typedef struct variable_writer {
    uint8_t *next; /* end of what is written */
    int64_t at;    /* the offset of `next` in the new column's data */
    uint8_t *end;  /* end of the room for data, never exceeded */
    void *offsets; /* int32, or int64 when `wide` */
    int64_t rows;  /* rows written */
    bool wide;
} variable_writer;

AS_INLINE void put_offset(void *offsets, bool wide, int64_t row, int64_t value) {
    if (wide)
        ((i64_any *)offsets)[row] = value;
    else
        ((i32_any *)offsets)[row] = (int32_t)value;
}

/* A run: the offsets move by a constant, the data is one copy. False if it does not fit. */
AS_INLINE bool run_variable(variable_writer *writer, const as_piece *piece, const as_column *column, bool wide_in,
                            bool wide_out) {
    const int64_t start = piece_start(piece, column), rows = piece->rows, row0 = writer->rows;
    const void *offsets = column->offsets;
    void *out = writer->offsets;
    int64_t first = offset_at(offsets, wide_in, start);
    int64_t bytes = offset_at(offsets, wide_in, start + rows) - first;
    if (bytes < 0 || bytes > writer->end - writer->next)
        return false;
    int64_t move = writer->at - first;
    for (int64_t i = 1; i <= rows; i++)
        put_offset(out, wide_out, row0 + i, offset_at(offsets, wide_in, start + i) + move);
    if (bytes)
        memcpy(writer->next, (const uint8_t *)column->data + first, (size_t)bytes);
    writer->next += bytes;
    writer->at += bytes;
    writer->rows += rows;
    return true;
}

/*
 * A gather. Short values are copied 16 bytes at a time without looking at their exact length, where both
 * sides have room: the surplus is overwritten by the next value, or zeroed at the end. `readable` is the end
 * of the source bytes that are known to exist, the end of a value seen so far; it starts at the last row's,
 * the greatest of an ascending index.
 */
AS_INLINE bool gather_variable(variable_writer *writer, const as_piece *piece, const as_column *column, bool wide_in,
                               bool wide_out) {
    const int64_t rows = piece->rows, start = piece_start(piece, column), row0 = writer->rows + 1;
    const uint32_t *index = piece->index;
    const uint8_t *data = column->data;
    const void *offsets = column->offsets;
    void *out = writer->offsets;
    uint8_t *const begin = writer->next, *const end = writer->end, *next = begin;
    const int64_t at0 = writer->at;
    int64_t readable = offset_at(offsets, wide_in, start + index[rows - 1] + 1);
    for (int64_t i = 0; i < rows; i++) {
        int64_t at = start + index[i];
        int64_t from = offset_at(offsets, wide_in, at), bytes = offset_at(offsets, wide_in, at + 1) - from;
        if (__builtin_expect((uint64_t)bytes <= 16 && from + 16 <= readable && end - next >= 16, 1)) {
            memcpy(next, data + from, 16);
        } else if (bytes > 0 && bytes <= end - next) {
            memcpy(next, data + from, (size_t)bytes);
            readable = from + bytes > readable ? from + bytes : readable;
        } else if (bytes != 0) {
            return false;
        }
        next += bytes;
        put_offset(out, wide_out, row0 + i, at0 + (next - begin));
    }
    writer->at += next - begin;
    writer->next = next;
    writer->rows += rows;
    return true;
}

/* False: the column does not hold what was measured (its offsets changed, or run backwards). */
static bool copy_variable(variable_writer *writer, const as_piece *piece, const as_column *column) {
    const bool in = column->wide != 0, out = writer->wide;
    if (piece->rows == 0)
        return true;
    if (piece->index == NULL) {
        if (in)
            return out ? run_variable(writer, piece, column, true, true)
                       : run_variable(writer, piece, column, true, false);
        return out ? run_variable(writer, piece, column, false, true)
                   : run_variable(writer, piece, column, false, false);
    }
    if (in)
        return out ? gather_variable(writer, piece, column, true, true)
                   : gather_variable(writer, piece, column, true, false);
    return out ? gather_variable(writer, piece, column, false, true)
               : gather_variable(writer, piece, column, false, false);
}

#define STREAMED_ROWS (AS_PART / 16) /* their offsets fit a part */

/* The same past the caches: a few rows at a time go to the parts. The writer only counts. */
static bool stream_variable(stream *data, stream *offsets, variable_writer *writer, const as_piece *piece,
                            const as_column *column) {
    const size_t offset_bytes = writer->wide ? 8 : 4;
    as_piece some = *piece;
    for (int64_t row = 0, most = STREAMED_ROWS; row < piece->rows; row += some.rows) {
        some.rows = piece->rows - row < most ? piece->rows - row : most;
        if (piece->index != NULL)
            some.index = piece->index + row;
        else
            some.first = piece->first + row;
        const int64_t bytes = variable_bytes(&some, column);
        if (bytes < 0 || bytes > writer->end - writer->next)
            return false;
        if (bytes > AS_PART && some.rows > 1) {
            most = 1 + some.rows / 8; /* long values */
            some.rows = 0;
            continue;
        }
        most = 2 * most < STREAMED_ROWS ? 2 * most : STREAMED_ROWS;
        variable_writer part = {.at = writer->at, .wide = writer->wide, .offsets = offsets->part};
        stream_room(offsets, (size_t)some.rows * offset_bytes);
        part.rows = (int64_t)(offsets->filled / offset_bytes) - 1;
        offsets->filled += (size_t)some.rows * offset_bytes;
        if (bytes > AS_PART) {
            const int64_t at = piece_start(&some, column) + (some.index == NULL ? 0 : some.index[0]);
            const int64_t from = offset_at(column->offsets, column->wide, at);
            put_offset(part.offsets, part.wide, part.rows + 1, part.at + bytes);
            stream_append(data, (const uint8_t *)column->data + from, (size_t)bytes);
        } else {
            part.next = stream_room(data, (size_t)bytes);
            part.end = part.next + bytes;
            if (!copy_variable(&part, &some, column) || part.next != part.end)
                return false;
            data->filled += (size_t)bytes;
        }
        writer->at += bytes;
        writer->next += bytes;
    }
    return true;
}
#endif
