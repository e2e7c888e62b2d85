/* Words of lines: see line.h. */
#include "../include/line.h"
#include "shared.h"

uint32_t as_line_read(const uint32_t *line, uint32_t word) {
    return atomic_load_explicit((const _Atomic uint32_t *)line + word, memory_order_acquire);
}

void as_line_write(uint32_t *line, uint32_t word, uint32_t value) {
    atomic_store_explicit((_Atomic uint32_t *)line + word, value, memory_order_release);
}
