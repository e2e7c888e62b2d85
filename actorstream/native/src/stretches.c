/* Stretches of a ScaleGate as columns; see stretches.h. */
#include "stretches.h"

uint32_t as_stretches_cut(const as_stretch *stretches, uint32_t count, const uint32_t *inputs, uint32_t longest,
                          uint64_t most, uint64_t *rows) {
    uint32_t taken = 0;
    *rows = 0;
    for (; taken < count; taken++) {
        const uint32_t own = stretches[taken].rows;
        if (taken > 0 &&
            (own >= longest || *rows + own > most || inputs[stretches[taken].source] != inputs[stretches->source])) {
            break;
        }
        *rows += own;
        if (own >= longest) {
            return 1;
        }
    }
    return taken;
}

uint32_t as_stretches_parts(const as_stretch *stretches, uint32_t count, uint32_t *numbers, uint64_t *parts,
                            uint16_t *tags) {
    uint32_t found = 0;
    for (uint32_t n = 0; n < count; n++) {
        const as_stretch *each = &stretches[n];
        uint32_t *number = &numbers[each->reference];
        if (*number == 0) {
            parts[2 * found] = each->reference;
            parts[2 * found + 1] = each->first;
            *number = ++found;
        }
        const uint16_t tag = (uint16_t)(*number - 1);
        for (uint32_t row = 0; row < each->rows; row++) {
            *tags++ = tag;
        }
    }
    for (uint32_t n = 0; n < found; n++) {
        numbers[parts[2 * n]] = 0;
    }
    return found;
}
