/*
 * The kernels of Linear Road over random rows: each state beside one that has loaded what it saved, and both must give the
 * same. For the sanitizers; that the rows are right is a matter of the tests in Python.
 */
#define _GNU_SOURCE /* mremap */
#include <stdio.h>

/* So that tables grow from one such piece of memory to the next. */
#define LARGE (64 << 10)
#include "kernel.c"

#define ROWS 512

static uint64_t seed;

static int64_t below(int64_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)n);
}

static lr_state *made(int kind) {
    lr_state *state = lr_new(kind);
    if (!state)
        exit(2);
    return state;
}

static lr_state *moved(lr_state *from, int kind) {
    lr_state *to = made(kind);
    if (lr_save(from) || lr_load(to, lr_size(from, 0, 1), lr_column(from, 0, 1)) ||
        lr_load(to, lr_size(from, 0, 1) - 1, lr_column(from, 0, 1)) != -2)
        exit(3);
    return to;
}

static void same(const lr_state *one, const lr_state *other) {
    for (int output = 0; output < LR_OUTPUTS; output++)
        for (int column = 0; column < COLUMNS; column++) {
            int64_t size = lr_size(one, output, column);
            if (size != lr_size(other, output, column) ||
                (size && memcmp(lr_column(one, output, column), lr_column(other, output, column), (size_t)size)))
                exit(4);
        }
}

static int64_t now, times[ROWS], minutes[ROWS], reports[ROWS], cars[ROWS], speeds[ROWS], tolls[ROWS];
static int32_t vid[ROWS], xway[ROWS], lane[ROWS], dir[ROWS], seg[ROWS], pos[ROWS];
static uint8_t flag[ROWS], first[ROWS];

static int64_t draw(void) {
    int64_t rows = below(ROWS + 1);
    for (int64_t row = 0; row < rows; row++) {
        now += below(40) == 0 ? below(70) : 0;
        times[row] = now;
        minutes[row] = now / 60 + 1;
        vid[row] = (int32_t)below(below(2) ? 20 : 100000);
        xway[row] = (int32_t)below(3);
        lane[row] = (int32_t)below(5);
        dir[row] = (int32_t)below(2);
        seg[row] = (int32_t)below(10);
        pos[row] = seg[row] * 5280;
        reports[row] = 1 + below(200);
        cars[row] = below(200);
        speeds[row] = reports[row] * below(80);
        tolls[row] = below(2) * below(1000);
        flag[row] = (uint8_t)below(2);
        first[row] = (uint8_t)(below(4) == 0);
    }
    return rows;
}

static void one_call(lr_state *state, int kind, int which, int64_t rows) {
    int failed;
    if (kind == LR_CARS && which)
        failed = lr_cars(state, rows, times, vid, xway, lane, dir, seg, pos);
    else if (kind == LR_CARS)
        failed = lr_new_segments(state, rows, vid, xway, dir, seg);
    else if (kind == LR_CHARGES)
        failed = lr_charges(state, rows, vid, tolls, first);
    else if (which == 0)
        failed = lr_stats(state, rows, minutes, xway, dir, seg, reports, cars, speeds);
    else if (which == 1)
        failed = lr_accidents(state, rows < 5 ? rows : 5, times, xway, dir, seg, lane, pos, flag);
    else
        failed = lr_tolls(state, rows, times, xway, dir, seg, flag);
    if (failed)
        exit(5);
}

int main(int argc, char **argv) {
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 20;
    for (int kind = LR_CARS; kind <= LR_CHARGES; kind++) {
        lr_state *state = made(kind), *other = made(kind);
        for (int round = 0; round < rounds; round++) {
            int which = kind == LR_TOLLS ? (int)below(3) : round % 8 != 0;
            int64_t rows = draw();
            one_call(state, kind, which, rows);
            one_call(other, kind, which, rows);
            same(state, other);
            lr_free(other);
            other = moved(state, kind);
            begin(state);
        }
        lr_free(state);
        lr_free(other);
    }
    puts("ok");
    return 0;
}
