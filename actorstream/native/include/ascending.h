/*
 * Whether numbers ascend: event times along a stream. Pure, no memory of its own: any thread may call it.
 */
#ifndef ACTORSTREAM_ASCENDING_H
#define ACTORSTREAM_ASCENDING_H
#include <stdint.h>
/* cffi: begin */
/* The first i from 1 on with values[i] < values[i - 1]; `count` if there is none. */
int64_t as_first_descent(const int64_t *values, int64_t count);
/* The same of the values at `index`: the first i from 1 on with values[index[i]] < values[index[i - 1]]. */
int64_t as_first_descent_at(const int64_t *values, const uint32_t *index, int64_t count);
/* cffi: end */
#endif
