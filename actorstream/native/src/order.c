/* Stable radix sort of row numbers: see order.h. */
#include "order.h"
#include <stdlib.h>
#include <string.h>
#include "bits.h"
#include "status.h"

#define DIGIT 11
#define DIGITS ((uint64_t)1 << DIGIT)
#define FEW 64 /* rows that insertion sorts */
#define AHEAD 16

static void insert_all(uint32_t *order, uint64_t count, const uint64_t *key, uint64_t stride, uint64_t flip) {
    for (uint64_t i = 1; i < count; i++) {
        const uint32_t row = order[i];
        const uint64_t word = key[row * stride] ^ flip;
        uint64_t at = i;
        for (; at > 0 && (key[order[at - 1] * stride] ^ flip) > word; at--)
            order[at] = order[at - 1];
        order[at] = row;
    }
}

int as_order_by(uint32_t *order, uint64_t count, const uint64_t *key, uint64_t stride, uint64_t flip) {
    if (count <= FEW) {
        insert_all(order, count, key, stride, flip);
        return AS_OK;
    }
    uint64_t least = UINT64_MAX, greatest = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t word = key[order[i] * stride] ^ flip;
        least = word < least ? word : least;
        greatest = word > greatest ? word : greatest;
    }
    uint32_t *spare = malloc(count * sizeof *spare), *from = order, *to = spare;
    if (spare == NULL)
        return AS_E_MEMORY;
    for (uint64_t shift = 0; shift < 64 && (greatest - least) >> shift; shift += DIGIT) {
        uint64_t start[DIGITS] = {0}, sum = 0;
        for (uint64_t i = 0; i < count; i++)
            start[(((key[from[i] * stride] ^ flip) - least) >> shift) & (DIGITS - 1)]++;
        for (uint64_t digit = 0; digit < DIGITS; digit++) {
            const uint64_t have = start[digit];
            start[digit] = sum;
            sum += have;
        }
        for (uint64_t i = 0; i < count; i++) {
            if (i + AHEAD < count)
                __builtin_prefetch(&key[from[i + AHEAD] * stride]);
            to[start[(((key[from[i] * stride] ^ flip) - least) >> shift) & (DIGITS - 1)]++] = from[i];
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != order)
        memcpy(order, from, count * sizeof *order);
    free(spare);
    return AS_OK;
}
