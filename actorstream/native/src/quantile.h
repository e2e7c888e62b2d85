/* Exact quantiles of a run of values. Private. */
#ifndef ACTORSTREAM_QUANTILE_H
#define ACTORSTREAM_QUANTILE_H
#include <stdint.h>

/* Words of a value column (kernels.h: `how`) as float64, in place. */
void as_words_to_floats(uint64_t *value, uint64_t count, uint32_t how);
/* The quantile q (0 .. 1) of `count` values, linear between the two nearest (as numpy.quantile); NaN counts
   as greater than all numbers, and NaN is what no values have. Reorders the values. */
double as_quantile(double *value, uint64_t count, double q);
#endif
