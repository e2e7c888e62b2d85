/* Rows of a batch sent as a jumbo tuple of their own; see piece.h. */
#include "piece.h"

typedef struct column_table { /* of as_jumbo_measure */
    uint64_t words[4];
} column_table;

int as_channel_send_piece(as_producer *producer, as_entry *form, as_arena *arena, uint64_t table, uint32_t columns,
                          uint64_t index, int64_t first, int64_t rows, uint64_t plan, uint64_t most, uint64_t sequence,
                          int64_t min_entry, int64_t max_entry, uint32_t flags) {
    column_table slots[AS_PIECE_COLUMNS];
    if (columns > AS_PIECE_COLUMNS) {
        return AS_AGAIN;
    }
    const as_piece piece = {.columns = (const as_column *)(uintptr_t)table,
                            .index = (const uint32_t *)(uintptr_t)index,
                            .first = first,
                            .rows = rows};
    const uint64_t bytes = as_jumbo_measure(&piece, 1, columns, slots);
    if (bytes == 0 || bytes >= most) {
        return AS_AGAIN;
    }
    int status = as_channel_admits(producer, bytes);
    if (status != AS_OK) {
        return status;
    }
    as_hold *hold = as_hold_allocate(arena, bytes);
    if (hold == NULL) {
        return AS_AGAIN;
    }
    if (as_jumbo_write(as_hold_data(hold), bytes, slots, &piece, 1, columns, form->schema, plan, 1) != AS_OK) {
        status = AS_AGAIN;
    } else {
        status = as_channel_send_whole(producer, form, hold, sequence, bytes, rows, min_entry, max_entry, flags);
    }
    as_hold_release(hold); /* the loan has a use of its own */
    return status;
}
