/* Reading operands: integers and floats as words of 64 bits, bytes where they lie, nulls. Private to the
 * state of aggregations. */
#ifndef ACTORSTREAM_OPERAND_PRIVATE_H
#define ACTORSTREAM_OPERAND_PRIVATE_H
#include <stdbool.h>
#include "../include/operand.h"
#include "bits.h"
#include "kernels.h"

typedef struct bytes_view {
    const uint8_t *data;
    uint64_t length;
} bytes_view;

AS_INLINE int64_t operand_row(const as_operand *operand, int64_t row) {
    return operand->index ? (int64_t)operand->index[row] : row;
}

AS_INLINE bool operand_null(const as_operand *operand, int64_t row) {
    return operand->column.validity != NULL &&
           !bit_at(operand->column.validity, operand->column.first + operand_row(operand, row));
}

AS_INLINE bytes_view operand_bytes(const as_operand *operand, int64_t row) {
    const as_column *column = &operand->column;
    const int64_t at = column->first + operand_row(operand, row);
    int64_t from, to;
    if (column->wide) {
        from = ((const i64_any *)column->offsets)[at];
        to = ((const i64_any *)column->offsets)[at + 1];
    } else {
        from = ((const i32_any *)column->offsets)[at];
        to = ((const i32_any *)column->offsets)[at + 1];
    }
    return (bytes_view){(const uint8_t *)column->data + from, (uint64_t)(to - from)};
}

/* Whether the column can be read as `how` says. */
bool as_operand_readable(const as_operand *operand, int64_t rows);
/* Rows row .. row + rows - 1 as words: integers by sign or zero extension, floats as the bits of their
   float64 with -0.0 as it is. Values under nulls are read as they are. */
void as_operand_words(const as_operand *operand, int64_t row, int64_t rows, uint64_t *out);
/* The same minus `base`, as 32 bits; answers the greatest difference (of 64 bits). */
uint64_t as_operand_numbers(const as_operand *operand, int64_t row, int64_t rows, uint64_t base, uint32_t *out);
/* Widens least .. greatest to the values of an integer operand; where there is a selection, perhaps to those
   of rows between its first and last one too, which is quicker. */
void as_operand_bounds(const as_operand *operand, int64_t rows, bool exactly, int64_t *least, int64_t *greatest);
#endif
