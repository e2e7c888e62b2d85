/*
 * Tolls and alerts: the last minutes of each segment, and the accidents of each road. Part of kernel.c; knows no car.
 */

static segment *segment_of(lr_state *state, int32_t xway, int32_t dir, int32_t seg) {
    int fresh;
    int32_t key[] = {xway, dir, seg};
    segment *of = add(&state->main, key, &fresh);
    if (of && fresh) {
        of->now = INT64_MIN;
        for (int i = 0; i <= MINUTES; i++)
            of->last[i].minute = INT64_MIN;
    }
    return of;
}

int lr_stats(lr_state *state, int64_t rows, const int64_t *minute, const int32_t *xway, const int32_t *dir,
             const int32_t *seg, const int64_t *reports, const int64_t *cars, const int64_t *speed_sum) {
    for (int64_t row = 0; row < rows; row++) {
        segment *of = segment_of(state, xway[row], dir[row], seg[row]);
        if (!of)
            return -1;
        minute_of_segment found = {minute[row], reports[row], cars[row], speed_sum[row]};
        of->last[(uint64_t)minute[row] % (MINUTES + 1)] = found;
        of->now = INT64_MIN;
    }
    return 0;
}

static accident *accident_at(const lr_state *state, int32_t number) {
    return (accident *)state->accidents.data + number - 1;
}

int lr_accidents(lr_state *state, int64_t rows, const int64_t *time, const int32_t *xway, const int32_t *dir,
                 const int32_t *seg, const int32_t *lane, const int32_t *pos, const uint8_t *begins) {
    for (int64_t row = 0; row < rows; row++) {
        int fresh;
        int32_t key[] = {xway[row], dir[row]};
        road *of = add(&state->roads, key, &fresh);
        if (!of)
            return -1;
        if (!begins[row]) {
            for (int32_t at = of->accidents; at; at = accident_at(state, at)->next) {
                accident *known = accident_at(state, at);
                if (!known->over && known->lane == lane[row] && known->pos == pos[row]) {
                    known->over = 1;
                    known->clear = time[row];
                }
            }
            continue;
        }
        int32_t made = state->unused;
        if (made)
            state->unused = accident_at(state, made)->next;
        else {
            if (!append(&state->accidents, (int64_t)sizeof(accident)))
                return -1;
            made = (int32_t)(state->accidents.used / (int64_t)sizeof(accident));
        }
        accident values = {seg[row], lane[row], pos[row], of->accidents, 0, 0, time[row], 0};
        *accident_at(state, made) = values;
        of->accidents = made;
    }
    return 0;
}

/* Distance to the nearest accident that is announced in this minute, -1: none. Forgets those whose time is over. */
static int32_t accident_ahead(lr_state *state, int64_t now, int32_t xway, int32_t dir, int32_t seg) {
    int32_t key[] = {xway, dir}, nearest = -1;
    road *of = find(&state->roads, key);
    if (!of)
        return -1;
    int32_t *link = &of->accidents;
    while (*link) {
        int32_t at = *link;
        accident *known = accident_at(state, at);
        if (known->over && now > known->clear / 60 + 1) {
            *link = known->next;
            known->next = state->unused;
            state->unused = at;
            continue;
        }
        int32_t distance = dir ? seg - known->seg : known->seg - seg;
        if (distance >= 0 && distance <= AHEAD && now >= known->start / 60 + 2 && (nearest < 0 || distance < nearest))
            nearest = distance;
        link = &known->next;
    }
    return nearest;
}

/* Average speed of the last five minutes, rounded half up, and cars of the last one. */
static void bring_up_to(segment *of, int64_t now) {
    int64_t reports = 0, speed_sum = 0;
    of->now = now;
    of->cars = 0;
    for (int i = 0; i <= MINUTES; i++) {
        const minute_of_segment *each = of->last + i;
        if (each->minute < now - MINUTES || each->minute >= now)
            continue;
        reports += each->reports;
        speed_sum += each->speed_sum;
        if (each->minute == now - 1)
            of->cars = (int32_t)each->cars;
    }
    of->lav = reports ? (2 * speed_sum + reports) / (2 * reports) : 0;
}

int lr_tolls(lr_state *state, int64_t rows, const int64_t *time, const int32_t *xway, const int32_t *dir,
             const int32_t *seg, const uint8_t *leaves) {
    begin(state);
    for (int64_t row = 0; row < rows; row++) {
        int64_t now = time[row] / 60 + 1, lav = 0, toll = 0;
        if (!leaves[row]) {
            segment *of = segment_of(state, xway[row], dir[row], seg[row]);
            if (!of)
                return -1;
            if (of->now != now)
                bring_up_to(of, now);
            lav = of->lav;
            if (of->cars > FREE_CARS && lav < FREE_SPEED)
                toll = 2 * (int64_t)(of->cars - FREE_CARS) * (of->cars - FREE_CARS);
            int32_t distance = state->roads.count ? accident_ahead(state, now, xway[row], dir[row], seg[row]) : -1;
            if (distance >= 0) {
                toll = 0;
                PUT(1, 0, uint32_t, (uint32_t)row);
                PUT(1, 1, int32_t, dir[row] ? seg[row] - distance : seg[row] + distance);
            }
        }
        PUT(0, 1, int64_t, lav);
        PUT(0, 2, int64_t, toll);
    }
    return 0;
}
