/* A sum of floats with a pool of its own: see total.h. */
#include "../include/total.h"
#include <stdlib.h>
#include "exact.h"

_Static_assert(AS_TOTAL_WORDS >= 2 + EXACT_PARTS, "two floats and the parts");

struct as_total {
    uint64_t sum[2];
    as_exacts pool;
};

as_total *as_total_create(void) {
    return calloc(1, sizeof(as_total));
}

void as_total_destroy(as_total *total) {
    if (total == NULL)
        return;
    as_exacts_clear(&total->pool);
    free(total);
}

int as_total_add(as_total *total, const double *value, int64_t rows) {
    return as_exact_add_all(&total->pool, total->sum, value, rows);
}

int as_total_running(as_total *total, const double *value, int64_t rows, double *out) {
    int status = AS_OK;
    for (int64_t i = 0; i < rows && status == AS_OK; i++) {
        status = as_exact_add(&total->pool, total->sum, value[i]);
        out[i] = as_exact_value(&total->pool, total->sum);
    }
    return status;
}

double as_total_value(const as_total *total) {
    return as_exact_value(&total->pool, total->sum);
}

int64_t as_total_save(const as_total *total, uint64_t *word) {
    const bool placed = as_exact_placed(total->sum);
    word[0] = placed ? 0 : total->sum[0];
    word[1] = placed ? 0 : total->sum[1];
    return 2 + (int64_t)as_exact_parts(&total->pool, total->sum, word + 2);
}

int as_total_put(as_total *total, const uint64_t *word, int64_t words) {
    if (words < 2)
        return AS_E_ARGUMENT;
    const int status = as_exact_merge(&total->pool, total->sum, NULL, word);
    return status == AS_OK ? as_exact_put_parts(&total->pool, total->sum, word + 2, (uint64_t)words - 2) : status;
}
