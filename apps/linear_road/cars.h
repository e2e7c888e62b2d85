/*
 * Cars: where the last report of each came from, its trips and stops. Part of kernel.c; knows no toll.
 */
#define FETCH_SLOT 24
#define FETCH_ENTRY 12

enum { ENTRY_LANE = 0, EXIT_LANE = 4 };
enum { STOPPED_AFTER = 4, NEW_TRIP_AFTER = 60 };
enum { ON_TRIP = 1, STANDS = 2, LEFT = 4 };

static int put_stop(lr_state *state, int64_t row, int32_t xway, int32_t dir, int32_t seg, int32_t lane, int32_t pos,
                    int stands) {
    int32_t values[] = {xway, dir, seg, lane, pos, stands};
    PUT(LR_STOPS, 0, uint32_t, (uint32_t)row);
    for (int i = 0; i < 6; i++)
        PUT(LR_STOPS, i + 1, int32_t, values[i]);
    return 0;
}

/* The car leaves the place of its last report. */
static int put_goes(lr_state *state, int64_t row, const car *of) {
    return put_stop(state, row, of->trip_xway, of->trip_dir, of->trip_seg, of->lane, of->pos, 0);
}

static int car_row(lr_state *state, int64_t row, car *of, int64_t time, int32_t xway, int32_t lane, int32_t dir,
                   int32_t seg, int32_t pos) {
    if ((of->flags & LEFT) && lane != ENTRY_LANE)
        return 0;
    int first = 0;
    if (!(of->flags & ON_TRIP) || (lane == ENTRY_LANE && time - of->time > NEW_TRIP_AFTER)) {
        if ((of->flags & STANDS) && put_goes(state, row, of))
            return -1;
        of->flags = ON_TRIP;
        of->same = 0;
        first = 1;
    }
    if (of->same && of->lane == lane && of->pos == pos && of->trip_xway == xway && of->trip_dir == dir)
        of->same += of->same < STOPPED_AFTER + 1;
    else {
        if ((of->flags & STANDS) && put_goes(state, row, of))
            return -1;
        of->flags &= ~STANDS;
        of->same = 1;
    }
    if (of->same == STOPPED_AFTER) {
        of->flags |= STANDS;
        if (put_stop(state, row, xway, dir, seg, lane, pos, 1))
            return -1;
    }
    if (first || of->trip_seg != seg || of->trip_xway != xway || of->trip_dir != dir) {
        PUT(LR_ENTRIES, 0, uint32_t, (uint32_t)row);
        PUT(LR_ENTRIES, 1, uint8_t, (uint8_t)first);
        PUT(LR_ENTRIES, 2, uint8_t, lane == EXIT_LANE);
    }
    of->trip_xway = xway;
    of->trip_dir = dir;
    of->trip_seg = seg;
    of->lane = lane;
    of->pos = pos;
    of->time = time;
    of->flags |= lane == EXIT_LANE ? LEFT : 0;
    return 0;
}

/* The car of a row; whether it is in another segment than at its last report comes out. */
static inline car *next_car(lr_state *state, int64_t row, int64_t rows, const int32_t *vid, int32_t xway, int32_t dir,
                            int32_t seg, int *is_new) {
    int fresh;
    if (row + FETCH_SLOT < rows)
        fetch_slot(&state->main, vid + row + FETCH_SLOT);
    if (row + FETCH_ENTRY < rows)
        fetch_entry(&state->main, vid + row + FETCH_ENTRY);
    car *of = add(&state->main, vid + row, &fresh);
    if (of) {
        *is_new = fresh || of->seg != seg || of->xway != xway || of->dir != dir;
        of->xway = xway;
        of->dir = dir;
        of->seg = seg;
    }
    return of;
}

int lr_cars(lr_state *state, int64_t rows, const int64_t *time, const int32_t *vid, const int32_t *xway,
            const int32_t *lane, const int32_t *dir, const int32_t *seg, const int32_t *pos) {
    int is_new;
    begin(state);
    for (int64_t row = 0; row < rows; row++) {
        car *of = next_car(state, row, rows, vid, xway[row], dir[row], seg[row], &is_new);
        if (!of)
            return -1;
        if (is_new)
            PUT(LR_NEW_SEGMENTS, 0, uint32_t, (uint32_t)row);
        if (car_row(state, row, of, time[row], xway[row], lane[row], dir[row], seg[row], pos[row]))
            return -1;
    }
    return 0;
}

int lr_new_segments(lr_state *state, int64_t rows, const int32_t *vid, const int32_t *xway, const int32_t *dir,
                    const int32_t *seg) {
    int is_new;
    begin(state);
    for (int64_t row = 0; row < rows; row++) {
        if (!next_car(state, row, rows, vid, xway[row], dir[row], seg[row], &is_new))
            return -1;
        if (is_new)
            PUT(LR_NEW_SEGMENTS, 0, uint32_t, (uint32_t)row);
    }
    return 0;
}
