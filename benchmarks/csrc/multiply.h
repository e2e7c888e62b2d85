/* The parametric operator of ordered-multicore section 7: products of small matrices, as many as its cost asks for. */
#ifndef MULTIPLY_H
#define MULTIPLY_H
#include <string.h>

#include "histogram.h"

enum { DIMENSION = 4 };

/* So many products of a matrix with itself, kept in range. */
static uint64_t multiply(double matrix[DIMENSION][DIMENSION], uint64_t iterations) {
    for (uint64_t n = 0; n < iterations; n++) {
        double product[DIMENSION][DIMENSION];
        for (int i = 0; i < DIMENSION; i++) {
            for (int k = 0; k < DIMENSION; k++) {
                double sum = 0;
                for (int j = 0; j < DIMENSION; j++) {
                    sum += matrix[i][j] * matrix[j][k];
                }
                product[i][k] = 0.5 * sum + 0.01;
            }
        }
        memcpy(matrix, product, sizeof product);
        __asm__ __volatile__("" ::: "memory");
    }
    return (uint64_t)(matrix[0][0] * 1000) + 2;
}

static void unit_matrix(double matrix[DIMENSION][DIMENSION]) {
    for (int i = 0; i < DIMENSION; i++) {
        for (int k = 0; k < DIMENSION; k++) {
            matrix[i][k] = i == k ? 0.4 : 0.05;
        }
    }
}

/* Products a microsecond, the best of several short tries. Measured once: every run of a process then does the same work,
 * fast as the machine may be just then. One thread at a time. */
static double speed(void) {
    static double best;
    if (best != 0) {
        return best;
    }
    double matrix[DIMENSION][DIMENSION];
    unit_matrix(matrix);
    for (int i = 0; i < 40; i++) {
        uint64_t begun = now_ns();
        volatile uint64_t kept = multiply(matrix, 10000);
        (void)kept;
        double rate = 10000 * 1000.0 / (double)(now_ns() - begun);
        best = rate > best ? rate : best;
    }
    return best;
}
#endif
