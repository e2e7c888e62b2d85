/*
 * Operand: a column of the rows an operator works on, read where it lies. A selection's rows are read through
 * their row numbers, so that only the columns that are needed are ever gathered, and those into the
 * first-level cache only.
 */
#ifndef ACTORSTREAM_OPERAND_H
#define ACTORSTREAM_OPERAND_H
#include "column.h"
/* cffi: begin */
typedef struct as_operand {
    as_column column;      /*  0 */
    const uint32_t *index; /* 40 row i of the batch is row index[i] of the column; NULL: row i */
    uint32_t how;          /* 48 AS_HASH_SIGNED, _UNSIGNED, _FLOAT or _BYTES (kernels.h); 0: there is none */
    uint32_t few;          /* 52 with an index: rows of the column, if those are so few that rows of the batch repeat
                                them; else 0 */
} as_operand;              /* 56 bytes; python writes it with struct "<IIqQQQQII" */
/* cffi: end */
_Static_assert(sizeof(as_operand) == 56, "python writes this layout");
#endif
