/* All rows of keys that have several: see lookup.h. */
#include "lookup.h"

#define NONE UINT32_MAX /* as in lookup_slots.h */

int64_t as_lookup_pairs(const as_lookup *lookup, const uint32_t *found, int64_t rows, int outer) {
    int64_t pairs = 0;
    for (int64_t i = 0; i < rows; i++)
        pairs += found[i] == NONE ? outer != 0 : lookup->duplicates ? lookup->count[found[i]] : 1;
    return pairs;
}

int64_t as_lookup_expand(const as_lookup *lookup, const uint32_t *found, int64_t rows, int outer, int64_t cursor[2],
                         int64_t capacity, uint32_t *left, uint32_t *right) {
    int64_t written = 0, row = cursor[0], within = cursor[1];
    for (; row < rows; row++, within = 0) {
        const uint32_t first = found[row];
        if (first == NONE && !outer)
            continue;
        if (written == capacity)
            break;
        if (first == NONE || !lookup->duplicates) {
            left[written] = (uint32_t)row;
            right[written++] = first;
            continue;
        }
        const int64_t count = lookup->count[first];
        const uint32_t *rows_of = lookup->order + lookup->begin[first];
        for (; within < count && written < capacity; within++) {
            left[written] = (uint32_t)row;
            right[written++] = rows_of[within];
        }
        if (within < count)
            break;
    }
    cursor[0] = row;
    cursor[1] = row < rows ? within : 0;
    return written;
}
