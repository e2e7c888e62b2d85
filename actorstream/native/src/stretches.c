/* Stretches of a ScaleGate as columns; see stretches.h. */
#include "stretches.h"

enum { MOST_ROWS = 65535 };

/* The number of the run of a stretch, which is `*found` if it is new. */
static uint16_t part_of(uint32_t *numbers, const as_stretch *stretch, uint64_t *parts, uint32_t *found) {
    uint32_t *number = &numbers[stretch->reference];
    if (*number == 0) {
        parts[2 * *found] = stretch->reference;
        parts[2 * *found + 1] = stretch->first;
        *number = ++*found;
    }
    return (uint16_t)(*number - 1);
}

uint32_t as_stretches_next(as_stretches *given, uint64_t *parts, uint16_t *tags, uint32_t *rows) {
    uint32_t found = 0;
    *rows = 0;
    while (given->at < given->count) {
        const as_stretch *next = &given->stretch[given->at];
        const uint32_t own = next->rows;
        const int is_mixed = next->source == AS_MERGE_MIXED;
        if (*rows > 0 && (*rows + own > MOST_ROWS || (!is_mixed && own >= given->longest))) {
            break;
        }
        given->at++;
        *rows += own;
        if (!is_mixed) {
            const uint16_t tag = part_of(given->numbers, next, parts, &found);
            if (own >= given->longest) {
                break;
            }
            for (uint32_t row = 0; row < own; row++) {
                *tags++ = tag;
            }
            continue;
        }
        for (const as_stretch *end = next + 1 + next->first; ++next < end; given->at++) {
            given->parts_of[next->source] = part_of(given->numbers, next, parts, &found);
        }
        const uint16_t *sources = given->tags, *parts_of = given->parts_of;
        for (uint32_t row = 0; row < own; row++) {
            tags[row] = parts_of[sources[row]];
        }
        tags += own;
        given->tags += own;
    }
    for (uint32_t n = 0; n < found; n++) {
        given->numbers[parts[2 * n]] = 0;
    }
    return found;
}
