/*
 * A total: the exact sum of float64 values, and of other totals, rounded once when it is asked for. It does not depend on
 * the order of the values, nor on how they were put together. Infinities and NaN are as IEEE 754 adds them, the sum of
 * nothing is 0. One owner at a time.
 */
#ifndef ACTORSTREAM_TOTAL_H
#define ACTORSTREAM_TOTAL_H
#include <stdint.h>
#include "status.h"
/* cffi: begin */
enum { AS_TOTAL_WORDS = 76 }; /* of a total that was saved, at the most */
typedef struct as_total as_total;
/* NULL: no memory. */
as_total *as_total_create(void);
void as_total_destroy(as_total *total);
/* Adds values. AS_OK | AS_E_MEMORY. */
int as_total_add(as_total *total, const double *value, int64_t rows);
/* The same; out[i]: the total with rows 0 .. i. */
int as_total_running(as_total *total, const double *value, int64_t rows, double *out);
double as_total_value(const as_total *total);
/* Writes it as words, which as_total_put adds to another one; answers how many. */
int64_t as_total_save(const as_total *total, uint64_t *word);
/* AS_OK | AS_E_ARGUMENT: these are no words of a total | AS_E_MEMORY. */
int as_total_put(as_total *total, const uint64_t *word, int64_t words);
/* cffi: end */
#endif
