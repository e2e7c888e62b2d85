/* The events of the Yahoo Streaming Benchmark as the source of a turn: see generate.h. */
#include "numbering.h"

static int64_t time_of(const as_numbering *n, uint64_t made) {
    const unsigned __int128 passed = (unsigned __int128)(n->first + made * n->stride) * n->units;
    return n->start + (int64_t)(uint64_t)(passed / n->rows);
}

/* Where as_ysb_integers and as_ysb_wide put the columns. */
static void lay_out(const as_ysb_source *source, int64_t rows, as_column *columns) {
    uint8_t *at = source->columns;
    for (uint32_t i = 0; i < source->count; i++)
        columns[i].data = column_at(&at, columns[i].width, rows);
}

int32_t as_ysb_make(void *given, uint64_t made, int64_t rows, as_column *columns, int64_t time[3]) {
    const as_ysb_source *source = given;
    int status;
    if (source->kind == AS_YSB_TEXTS)
        status = as_ysb_texts(source->numbering, made, rows, source->ids, source->texts);
    else if (source->kind == AS_YSB_WIDE)
        status = as_ysb_wide(source->numbering, made, rows, source->columns);
    else
        status = as_ysb_integers(source->numbering, made, rows, source->columns);
    if (status != AS_OK || rows < 1)
        return AS_E_ARGUMENT;
    if (source->kind != AS_YSB_TEXTS)
        lay_out(source, rows, columns);
    time[0] = time_of(source->numbering, made);
    time[1] = time_of(source->numbering, made + (uint64_t)rows - 1);
    time[2] = time_of(source->numbering, made + (uint64_t)rows);
    return AS_OK;
}
