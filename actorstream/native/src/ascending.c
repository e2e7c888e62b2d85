/* See ascending.h. */
#include "ascending.h"
#include "bits.h"
#include "simd.h"

#define BLOCK 512 /* values that are looked at without a branch; then, at the latest, a descent ends it */

AS_INLINE void descends_body(const i64_any *values, int64_t count, int64_t *found) {
    int64_t any = 0;
    for (int64_t i = 0; i < count; i++)
        any |= values[i] < values[i - 1];
    *found = any;
}
AS_VERSIONS(descends, (const i64_any *values, int64_t count, int64_t *found), (values, count, found))

int64_t as_first_descent(const int64_t *given, int64_t count) {
    const i64_any *values = given;
    for (int64_t first = 1; first < count; first += BLOCK) {
        int64_t found;
        descends(values + first, count - first < BLOCK ? count - first : BLOCK, &found);
        if (found)
            while (values[first] >= values[first - 1])
                first++;
        if (found)
            return first;
    }
    return count;
}

int64_t as_first_descent_at(const int64_t *given, const uint32_t *index, int64_t count) {
    const i64_any *values = given;
    for (int64_t i = 1; i < count; i++)
        if (values[index[i]] < values[index[i - 1]])
            return i;
    return count;
}
