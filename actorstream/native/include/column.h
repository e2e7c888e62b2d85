/* One column of rows, wherever it lies: a shared block, a NumPy array or an Arrow buffer. Describes, never owns. */
#ifndef ACTORSTREAM_COLUMN_H
#define ACTORSTREAM_COLUMN_H
#include <stddef.h>
#include "status.h"
/* cffi: begin */
typedef struct as_column {
    uint32_t width;          /*  0 bytes per value of a fixed-width column; 0: variable (offsets + data) */
    uint32_t wide;           /*  4 variable only: 1 if offsets are int64, 0 if int32 */
    int64_t first; /*  8 row 0 of this column is value `first` of the buffers (and bit `first` of validity) */
    const void *validity; /* 16 Arrow bitmap, or NULL: no nulls */
    const void *data; /* 24 values, or the bytes of a variable column */
    const void *offsets; /* 32 variable only: first + rows + 1 offsets into data (need not start at 0) */
} as_column; /* 40 bytes; python writes it with struct "<IIqQQQ" */
/* cffi: end */
_Static_assert(sizeof(as_column) == 40, "python writes this layout");
#endif
