/* Quickselect: see quantile.h. */
#include "quantile.h"
#include <math.h>
#include <string.h>
#include "kernels.h"

/* Value number `nth` in order, with all before it no greater and all behind it no less (quickselect). */
static double select_nth(double *value, uint64_t count, uint64_t nth) {
    uint64_t low = 0, high = count - 1;
    while (low < high) {
        const double pivot = value[low + (high - low) / 2];
        uint64_t left = low, right = high;
        while (left <= right) {
            while (value[left] < pivot)
                left++;
            while (value[right] > pivot)
                right--;
            if (left > right)
                break;
            const double swap = value[left];
            value[left++] = value[right];
            value[right] = swap;
            if (right == 0)
                break;
            right--;
        }
        if (nth <= right)
            high = right;
        else if (nth >= left)
            low = left;
        else
            return value[nth];
    }
    return value[nth];
}

double as_quantile(double *value, uint64_t count, double q) {
    uint64_t numbers = 0; /* NaN behind all numbers */
    for (uint64_t i = 0; i < count; i++) {
        if (value[i] == value[i]) {
            const double swap = value[numbers];
            value[numbers++] = value[i];
            value[i] = swap;
        }
    }
    if (count == 0)
        return NAN;
    const double position = q * (double)(count - 1);
    const uint64_t at = (uint64_t)position;
    const double share = position - (double)at;
    if (at >= numbers || (share > 0 && at + 1 >= numbers))
        return NAN;
    const double below = select_nth(value, numbers, at);
    if (share == 0)
        return below;
    double above = value[at + 1];
    for (uint64_t i = at + 2; i < numbers; i++)
        above = value[i] < above ? value[i] : above;
    if (below == above)
        return below;
    const double apart = above - below;
    if (isinf(apart)) /* one of them is infinite, or they are farther apart than any number */
        return below * (1 - share) + above * share;
    return share < 0.5 ? below + apart * share : above - apart * (1 - share);
}

void as_words_to_floats(uint64_t *value, uint64_t count, uint32_t how) {
    for (uint64_t i = 0; i < count; i++) {
        double own;
        memcpy(&own, &value[i], sizeof own);
        own = how == AS_HASH_FLOAT    ? own + 0.0 /* -0.0 as 0.0, or it would matter which came first */
              : how == AS_HASH_SIGNED ? (double)(int64_t)value[i]
                                      : (double)value[i];
        memcpy(&value[i], &own, sizeof own);
    }
}
