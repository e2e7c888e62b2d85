/*
 * The stateful operators of Linear Road over whole columns, without the interpreter's lock. One state belongs to one
 * operator; calls on one state must not overlap, calls on different states may. Nothing here waits or does I/O.
 *
 * Rows come in the order of their time. What comes out lies in the state until its next call.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mremap */
#endif
#include <stdint.h>

/* cdef */
typedef struct lr_state lr_state;
enum { LR_CARS, LR_TOLLS, LR_CHARGES };
enum { LR_NEW_SEGMENTS, LR_ENTRIES, LR_STOPS, LR_OUTPUTS };
/* NULL: no memory. */
lr_state *lr_new(int kind);
void lr_free(lr_state *state);
/* Bytes of column `column` of output `output`; 0 is the row of the input (uint32) that each row descends from. */
int64_t lr_size(const lr_state *state, int output, int column);
const void *lr_column(const lr_state *state, int output, int column);

/* All answer 0, or -1 without memory. */

/* LR_CARS. Output 0: new segments. 1: entries; first, leaves (bool). 2: stops; xway, dir, seg, lane, pos, stands (int32). */
int lr_cars(lr_state *state, int64_t rows, const int64_t *time, const int32_t *vid, const int32_t *xway,
            const int32_t *lane, const int32_t *dir, const int32_t *seg, const int32_t *pos);
/* The first output alone. */
int lr_new_segments(lr_state *state, int64_t rows, const int32_t *vid, const int32_t *xway, const int32_t *dir,
                    const int32_t *seg);
/* LR_TOLLS. Nothing comes out of the first two. */
int lr_stats(lr_state *state, int64_t rows, const int64_t *minute, const int32_t *xway, const int32_t *dir,
             const int32_t *seg, const int64_t *reports, const int64_t *cars, const int64_t *speed_sum);
int lr_accidents(lr_state *state, int64_t rows, const int64_t *time, const int32_t *xway, const int32_t *dir,
                 const int32_t *seg, const int32_t *lane, const int32_t *pos, const uint8_t *begins);
/* Entries. Output 0: all of them; average speed, toll (int64). 1: those with an accident ahead; its segment (int32). */
int lr_tolls(lr_state *state, int64_t rows, const int64_t *time, const int32_t *xway, const int32_t *dir,
             const int32_t *seg, const uint8_t *leaves);
/* LR_CHARGES. Output 0: what is charged; toll (int64). */
int lr_charges(lr_state *state, int64_t rows, const int32_t *vid, const int64_t *toll, const uint8_t *first);
/* The state as bytes (output 0, column 1), for another one of its kind. lr_load: -2 if it is none. */
int lr_save(lr_state *state);
int lr_load(lr_state *state, int64_t size, const char *saved);
/* end */

#include "state.h"

#define COLUMNS 7

enum { MINUTES = 5, AHEAD = 4, FREE_CARS = 50, FREE_SPEED = 40 };

typedef struct {
    int32_t vid, flags;
    int32_t xway, dir, seg; /* last report */
    int32_t lane, pos, same;
    int64_t time;
    int32_t trip_xway, trip_dir, trip_seg; /* last report that counted */
    int32_t unused[3];
} car; /* a cache line */

typedef struct {
    int64_t minute, reports, cars, speed_sum;
} minute_of_segment;

typedef struct {
    int32_t xway, dir, seg, cars;
    int64_t now, lav;                      /* what holds in minute `now` */
    minute_of_segment last[MINUTES + 1];   /* minute modulo 6 */
} segment;

typedef struct {
    int32_t xway, dir, accidents; /* number + 1 of the first */
} road;

typedef struct {
    int32_t seg, lane, pos, next, over, unused;
    int64_t start, clear;
} accident;

struct lr_state {
    int kind;
    table main, roads;
    bytes accidents;
    int32_t unused; /* number + 1 of the first accident that is over, 0: none */
    bytes out[LR_OUTPUTS][COLUMNS];
};

typedef struct {
    int32_t vid, unused;
    int64_t toll;
} account;

lr_state *lr_new(int kind) {
    static const int64_t sizes[] = {sizeof(car), sizeof(segment), sizeof(account)};
    static const int64_t keys[] = {1, 3, 1};
    lr_state *state = calloc(1, sizeof(lr_state));
    if (state) {
        state->kind = kind;
        state->main.size = sizes[kind];
        state->main.keys = keys[kind];
        state->roads.size = sizeof(road);
        state->roads.keys = 2;
    }
    return state;
}

void lr_free(lr_state *state) {
    empty(&state->main);
    empty(&state->roads);
    release(state->accidents.data, state->accidents.room);
    for (int output = 0; output < LR_OUTPUTS; output++)
        for (int column = 0; column < COLUMNS; column++)
            release(state->out[output][column].data, state->out[output][column].room);
    free(state);
}

int64_t lr_size(const lr_state *state, int output, int column) {
    return state->out[output][column].used;
}

const void *lr_column(const lr_state *state, int output, int column) {
    return state->out[output][column].data;
}

static void begin(lr_state *state) {
    for (int output = 0; output < LR_OUTPUTS; output++)
        for (int column = 0; column < COLUMNS; column++)
            state->out[output][column].used = 0;
}

#define PUT(output, column, type, value)                                                                               \
    do {                                                                                                               \
        type *put_at = append(&state->out[output][column], (int64_t)sizeof(type));                                     \
        if (!put_at)                                                                                                   \
            return -1;                                                                                                 \
        *put_at = (value);                                                                                             \
    } while (0)

#include "cars.h"
#include "tolls.h"

int lr_charges(lr_state *state, int64_t rows, const int32_t *vid, const int64_t *toll, const uint8_t *first) {
    begin(state);
    for (int64_t row = 0; row < rows; row++) {
        int fresh = 0;
        account *of = toll[row] ? add(&state->main, vid + row, &fresh) : find(&state->main, vid + row);
        if (!of) {
            if (toll[row])
                return -1;
            continue;
        }
        if (of->toll && !first[row]) {
            PUT(0, 0, uint32_t, (uint32_t)row);
            PUT(0, 1, int64_t, of->toll);
        }
        of->toll = toll[row];
    }
    return 0;
}

/* What lasts: how many bytes each array has, then the arrays. */

int lr_save(lr_state *state) {
    begin(state);
    bytes *out = &state->out[0][1];
    const bytes *arrays[] = {&state->main.entries, &state->roads.entries, &state->accidents};
    int64_t head[] = {state->kind, state->unused, arrays[0]->used, arrays[1]->used, arrays[2]->used};
    char *at = append(out, (int64_t)sizeof(head) + head[2] + head[3] + head[4]);
    if (!at)
        return -1;
    memcpy(at, head, sizeof(head));
    at += sizeof(head);
    for (int i = 0; i < 3; i++) {
        if (arrays[i]->used)
            memcpy(at, arrays[i]->data, (size_t)arrays[i]->used);
        at += arrays[i]->used;
    }
    return 0;
}

static int load_table(table *to) {
    int64_t slots = 256;
    to->count = to->entries.used / to->size;
    while (slots < to->count * 2)
        slots *= 2;
    return resize(to, slots);
}

int lr_load(lr_state *state, int64_t size, const char *saved) {
    int64_t head[5];
    if (size < (int64_t)sizeof(head))
        return -2;
    memcpy(head, saved, sizeof(head));
    if (head[0] != state->kind || size != (int64_t)sizeof(head) + head[2] + head[3] + head[4])
        return -2;
    bytes *arrays[] = {&state->main.entries, &state->roads.entries, &state->accidents};
    state->unused = (int32_t)head[1];
    saved += sizeof(head);
    for (int i = 0; i < 3; i++) {
        arrays[i]->used = 0;
        if (!head[i + 2])
            continue;
        char *at = append(arrays[i], head[i + 2]);
        if (!at)
            return -1;
        memcpy(at, saved, (size_t)head[i + 2]);
        saved += head[i + 2];
    }
    return load_table(&state->main) || load_table(&state->roads) ? -1 : 0;
}
