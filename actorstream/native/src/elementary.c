/* Elementary functions of columns: see elementary.h. Each step is rounded by itself (-ffp-contract=off). */
#include "../include/elementary.h"
#include "bits.h"
#include "simd.h"

#define LN2_HIGH 0x1.62e42fefa2000p-1 /* 40 bits: its product with an exponent is exact */
#define LN2_LOW 0x1.9ef35793c7673p-41
#define LOG2_E 0x1.71547652b82fep+0
#define EIGHTH_TURN 0x1.921fb54442d18p-1

AS_INLINE double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

AS_INLINE double log_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    /* as many steps above sqrt(1/2) as bits say: the exponent of the quotient x / sqrt(1/2) */
    const uint64_t above = bits - UINT64_C(0x3fe6a09e667f3bcd) + (UINT64_C(1023) << 52);
    const int32_t exponent = (int32_t)(above >> 52) - 1023;
    const double m = double_of(bits - ((uint64_t)(int64_t)exponent << 52)), e = (double)exponent;
    const double s = (m - 1) / (m + 1), z = s * s;
    double sum = 1.0 / 23;
    sum = sum * z + 1.0 / 21, sum = sum * z + 1.0 / 19, sum = sum * z + 1.0 / 17, sum = sum * z + 1.0 / 15;
    sum = sum * z + 1.0 / 13, sum = sum * z + 1.0 / 11, sum = sum * z + 1.0 / 9, sum = sum * z + 1.0 / 7;
    sum = sum * z + 1.0 / 5, sum = sum * z + 1.0 / 3;
    return e * LN2_HIGH + (2 * s + (2 * s * (z * sum) + e * LN2_LOW));
}

AS_INLINE double exp_of(double x) {
    const double within = x < -708 ? -708 : x > 709 ? 709 : x;
    const int32_t k = (int32_t)(within * LOG2_E + (within < 0 ? -0.5 : 0.5));
    const double r = (within - k * LN2_HIGH) - k * LN2_LOW;
    double sum = 1.0 / 6227020800.0;
    sum = sum * r + 1.0 / 479001600, sum = sum * r + 1.0 / 39916800, sum = sum * r + 1.0 / 3628800;
    sum = sum * r + 1.0 / 362880, sum = sum * r + 1.0 / 40320, sum = sum * r + 1.0 / 5040, sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120, sum = sum * r + 1.0 / 24, sum = sum * r + 1.0 / 6, sum = sum * r + 1.0 / 2;
    sum = sum * r + 1, sum = sum * r + 1;
    const double value = sum * double_of((uint64_t)(int64_t)(k + 1022) << 52) * 2;
    return x < -708 ? 0 : x > 709 ? double_of(UINT64_C(0x7ff) << 52) : value;
}

AS_INLINE double cosine_of(double x) {
    const int32_t eighth = (int32_t)(x * 8);
    const double r = x * 8 - eighth, y = (eighth & 1 ? 1 - r : r) * EIGHTH_TURN, z = y * y;
    double sine = 1.0 / 355687428096000.0, cosine = 1.0 / 20922789888000.0;
    sine = sine * z - 1.0 / 1307674368000.0, sine = sine * z + 1.0 / 6227020800.0, sine = sine * z - 1.0 / 39916800;
    sine = sine * z + 1.0 / 362880, sine = sine * z - 1.0 / 5040, sine = sine * z + 1.0 / 120;
    sine = sine * z - 1.0 / 6, sine = y + y * (sine * z);
    cosine = cosine * z - 1.0 / 87178291200.0, cosine = cosine * z + 1.0 / 479001600;
    cosine = cosine * z - 1.0 / 3628800, cosine = cosine * z + 1.0 / 40320, cosine = cosine * z - 1.0 / 720;
    cosine = cosine * z + 1.0 / 24, cosine = cosine * z - 1.0 / 2, cosine = cosine * z + 1;
    const double value = (eighth + 1) & 2 ? sine : cosine;
    return (eighth + 2) & 4 ? -value : value;
}

#define COLUMN(name)                                                                                                   \
    AS_INLINE void name##_column_body(const double *x, int64_t rows, double *out) {                                    \
        for (int64_t row = 0; row < rows; row++)                                                                       \
            out[row] = name##_of(x[row]);                                                                              \
    }                                                                                                                  \
    AS_VERSIONS(name##_column, (const double *x, int64_t rows, double *out), (x, rows, out))                           \
    void as_##name(const double *x, int64_t rows, double *out) {                                                       \
        name##_column(x, rows, out);                                                                                   \
    }
COLUMN(log)
COLUMN(exp)
COLUMN(cosine)
