/*
 * Elementary functions of columns, of sums, products and quotients alone, in an order that is fixed: they give the same
 * bits on every processor, which those of C and NumPy libraries do not. Within 3 units in the last place of the true value.
 *
 *   log     x = 2^e * m with m in [sqrt(1/2), sqrt(2)); e * ln 2 + 2 artanh((m - 1) / (m + 1)), as a power series
 *   exp     x = k * ln 2 + r with |r| <= ln 2 / 2; 2^k times the power series of exp(r)
 *   cosine  of a part of a turn: the power series of sine or cosine within an eighth of a turn
 *
 * Pure: any thread may call them on its own outputs; none waits for another. `out` may be `x`.
 */
#ifndef ACTORSTREAM_ELEMENTARY_H
#define ACTORSTREAM_ELEMENTARY_H
#include "status.h"
/* cffi: begin */
/* Natural logarithms of normal numbers above 0; of anything else unspecified. */
void as_log(const double *x, int64_t rows, double *out);
/* e to x; 0 below -708, infinity above 709. */
void as_exp(const double *x, int64_t rows, double *out);
/* Cosines of x turns (1 is a full turn), 0 <= x < 1. */
void as_cosine(const double *x, int64_t rows, double *out);
/* cffi: end */
#endif
