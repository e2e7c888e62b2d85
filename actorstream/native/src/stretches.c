/* Stretches of a ScaleGate as columns; see stretches.h. */
#include "stretches.h"

#include <string.h>

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

#define POUR(type)                                                                                                     \
    do {                                                                                                               \
        type *out = (type *)(uintptr_t)to[column];                                                                     \
        for (uint32_t n = 0; n < count; n++) {                                                                         \
            const as_stretch *each = &stretches[n];                                                                    \
            const type *in = (const type *)(uintptr_t)from[each->reference * columns + column] + each->first;          \
            if (each->rows == 1) {                                                                                     \
                *out++ = *in;                                                                                          \
            } else {                                                                                                   \
                memcpy(out, in, each->rows * sizeof *in);                                                              \
                out += each->rows;                                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

int as_stretches_pour(const as_stretch *stretches, uint32_t count, const uint64_t *from, const uint32_t *widths,
                      uint32_t columns, const uint64_t *to) {
    for (uint32_t column = 0; column < columns; column++) {
        switch (widths[column]) {
        case 1: POUR(uint8_t); break;
        case 2: POUR(uint16_t); break;
        case 4: POUR(uint32_t); break;
        case 8: POUR(uint64_t); break;
        default: return AS_E_ARGUMENT;
        }
    }
    return AS_OK;
}

void as_stretches_marks(const as_stretch *stretches, uint32_t count, const int64_t *marks, int64_t *found) {
    found[0] = found[1] = found[2] = 0;
    for (uint32_t n = 0; n < count; n++) {
        const int64_t *own = &marks[3 * stretches[n].reference];
        if (own[0] && (!found[0] || own[0] < found[0])) {
            found[0] = own[0];
        }
        if (own[1] > found[1]) {
            found[1] = own[1];
        }
        if (own[2] && (!found[2] || own[2] < found[2])) {
            found[2] = own[2];
        }
    }
}
