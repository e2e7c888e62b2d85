/* Whole jumbo tuples, handed over in one call: the interpreter takes longer to pack an entry than the core to send it. */
#include "../include/channel.h"

int as_channel_send_whole(as_producer *producer, as_entry *form, as_hold *hold, uint64_t sequence, uint64_t bytes,
                          int64_t rows, int64_t min_entry, int64_t max_entry, uint32_t flags) {
    form->sequence = sequence;
    form->bytes = bytes;
    form->rows = rows;
    form->min_entry = min_entry;
    form->max_entry = max_entry;
    form->flags = flags;
    return as_channel_send(producer, form, hold);
}
