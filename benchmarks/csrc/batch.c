/* The kernels of a batch of the Yahoo benchmark, called from C one behind the other: those of the core, at the addresses that
   Python gives. Nothing else: no steps, counters, promises or looks at the clock. One thread. */
#include <stdint.h>

/* cdef */
typedef struct column { /* as include/column.h has it */
    uint32_t width, wide;
    int64_t first;
    const void *validity, *data, *offsets;
} column;
typedef struct operand { /* as include/operand.h has it */
    column column;
    const uint32_t *index;
    uint32_t how, few;
} operand;
typedef struct bare_batch {
    uintptr_t generate, filter, match, add; /* as_ysb_integers, as_expression_run, as_lookup_match, as_panes_take_in */
    const void *numbering;
    uint8_t *columns; /* room for the seven columns of `rows` rows */
    const void *program, *lookup;
    const uint32_t *how; /* of the look-up's key */
    void *panes;
    operand *operand; /* event time, and the table's `campaign` */
    int64_t *bounds;
    column campaign;
    uint32_t *selected, *left, *right;
    uint32_t ads;
    int64_t rows;
} bare_batch;
int run_batches(const bare_batch *batch, uint64_t made, int64_t batches);
/* end */

typedef int (*generate_rows)(const void *, uint64_t, int64_t, void *);
typedef int (*run_program)(const void *, const column *, int64_t, void *const *, int64_t *, uint32_t *);
typedef int64_t (*match_rows)(const void *, const column *, const uint32_t *, const uint32_t *, int64_t, uint32_t *,
                              uint32_t *);
typedef int32_t (*add_rows)(void *, int64_t);

/* 0, or 1 if a kernel has refused a batch. */
int run_batches(const bare_batch *b, uint64_t made, int64_t batches) {
    static const uint32_t width[7] = {4, 4, 4, 1, 1, 8, 4};
    uint8_t *at[8] = {b->columns};
    for (int i = 0; i < 7; i++)
        at[i + 1] = at[i] + (((uint64_t)b->rows * width[i] + 63) & ~UINT64_C(63));
    const column ad = {.width = 4, .data = at[2]}, type = {.width = 1, .data = at[4]};
    const int64_t *time = (const int64_t *)at[5];
    void *outs[1] = {b->selected};
    for (int64_t each = 0; each < batches; each++, made += (uint64_t)b->rows) {
        int64_t found[1] = {0};
        if (((generate_rows)b->generate)(b->numbering, made, b->rows, b->columns) ||
            ((run_program)b->filter)(b->program, &type, b->rows, outs, found, 0))
            return 1;
        const int64_t rows = ((match_rows)b->match)(b->lookup, &ad, b->how, b->selected, found[0], b->left, b->right);
        if (rows < 0)
            return 1;
        const uint32_t *left = rows == found[0] ? b->selected : b->left; /* all were found: left was not written */
        b->operand[0] = (operand){.column = {.width = 8, .data = time}, .index = left, .how = 1};
        b->operand[1] =
            (operand){.column = b->campaign, .index = b->right, .how = 1, .few = (int64_t)b->ads < rows ? b->ads : 0};
        b->bounds[0] = time[0];
        b->bounds[1] = time[b->rows - 1];
        if (((add_rows)b->add)(b->panes, rows))
            return 1;
    }
    return 0;
}
