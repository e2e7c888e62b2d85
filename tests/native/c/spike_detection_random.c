/*
 * The kernel of spike detection over random rows: averages beside those that have loaded what the first saved, and both must
 * give the same. For the sanitizers; that the averages are right is a matter of the tests in Python.
 */
#include <stdio.h>

#include "kernel.c"

#define ROWS 512

static uint64_t seed;

static int64_t below(int64_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)n);
}

static sd_averages *made(int64_t window) {
    sd_averages *state = sd_new(window);
    if (!state)
        exit(2);
    return state;
}

static sd_averages *moved(const sd_averages *from, int64_t window) {
    sd_averages *to = made(window), *refuses = made(window), *wider = made(window + 1);
    int64_t words = sd_words(from);
    int64_t *saved = malloc((size_t)words * sizeof(int64_t));
    sd_save(from, saved);
    if (sd_load(to, words, saved) || sd_load(wider, words, saved) != -2 || sd_load(refuses, 0, saved) != -2 ||
        (words > 1 && sd_load(refuses, words - 1, saved) != -2))
        exit(3);
    free(saved);
    sd_free(refuses);
    sd_free(wider);
    return to;
}

static void run(int64_t window, int rounds) {
    static int64_t motes[ROWS];
    static double values[ROWS], averages[2][ROWS];
    static uint32_t found[ROWS];
    static uint8_t spikes[ROWS];
    sd_averages *one = made(window), *other = made(window);
    for (int round = 0; round < rounds; round++) {
        int64_t rows = 1 + below(ROWS), count = 0;
        for (int64_t row = 0; row < rows; row++) {
            motes[row] = below(2) ? below(5) : below(2000) << 40;
            values[row] = (double)below(1000) / 7;
        }
        if (sd_average(one, rows, motes, values, averages[0]) || sd_average(other, rows, motes, values, averages[1]) ||
            memcmp(averages[0], averages[1], (size_t)rows * sizeof(double)))
            exit(4);
        sd_signals(rows, values, averages[0], 0.5, spikes);
        for (int64_t row = 0; row < rows; row++)
            count += spikes[row];
        if (sd_spikes(rows, values, averages[0], 0.5, found) != count)
            exit(5);
        sd_free(other);
        other = moved(one, window);
    }
    sd_free(one);
    sd_free(other);
}

int main(int argc, char **argv) {
    static const int64_t windows[] = {1, 2, 15, 16, 17, 100, 1000};
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 20;
    for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++)
        run(windows[i], rounds);
    puts("ok");
    return 0;
}
