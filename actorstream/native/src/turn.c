/* Turns of a source with a chain behind it: see turn.h. */
#include "../include/turn.h"

#include <string.h>

#include "machine.h"

#define MOST_TIME ((int64_t)1 << 62)

typedef int32_t (*make_rows)(void *context, uint64_t made, int64_t rows, as_column *columns, int64_t time[3]);

static void promise(const as_turn *turn, uint32_t promises, int64_t frontier, int ring) {
    for (uint32_t i = 0; i < promises; i++)
        as_frontier_advance(turn->promise[i].producer, turn->promise[i].word, frontier, ring);
}

static void count(as_turn *turn, uint64_t entered, uint64_t began) {
    for (uint32_t i = 0; i < turn->members; i++) {
        as_turn_member *member = turn->member + i;
        const int64_t rows = turn->work->rows[member->set];
        if (rows == 0)
            continue;
        member->room -= rows;
        turn->full |= member->room <= 0;
        member->rows += (uint64_t)rows;
        member->batches++;
        member->entered = entered;
        member->began = began;
    }
}

int32_t as_turn_read(void *time, uint64_t made, int64_t rows, as_column *columns, int64_t found[3]) {
    (void)made, (void)rows, (void)columns;
    memcpy(found, time, 3 * sizeof *found);
    return AS_OK;
}

/* Makes the next batch and runs the steps on it. `*now` is the time before and afterwards. */
static int32_t batch(as_turn *turn, int64_t rows, uint64_t *now, int64_t time[3]) {
    const uint64_t entered = turn->source.entered != 0 ? turn->source.entered : *now;
    const uint64_t asked = *now;
    const make_rows make = (make_rows)turn->source.make; // NOLINT
    int32_t status = make(turn->source.context, turn->made, rows, turn->work->columns, time);
    if (status != AS_OK)
        return AS_E_ARGUMENT;
    const uint64_t began = as_now_ns();
    turn->work->rows[0] = rows;
    if (time[0] < turn->low || time[1] >= MOST_TIME) /* of several states only the first may refuse rows */
        return AS_AGAIN;
    for (uint32_t i = 0; i < turn->members; i++) {
        if (turn->member[i].bounds == NULL)
            continue;
        turn->member[i].bounds[0] = time[0];
        turn->member[i].bounds[1] = time[1];
    }
    status = as_chain_job((void *)(uintptr_t)turn->work);
    *now = as_now_ns();
    if (status != 0)
        return status;
    turn->took_ns += began - asked;
    count(turn, entered, began);
    return 0;
}

int32_t as_turn_run(as_turn *turn, int64_t rows, int64_t most, uint32_t promises, uint64_t deadline, uint64_t listens) {
    uint64_t now = as_now_ns();
    int64_t time[3], pending = turn->frontier; /* the last promise, which is made when another one or the end follows */
    int32_t why;
    turn->full = 0;
    if ((uint64_t)most > turn->end - turn->made)
        most = (int64_t)(turn->end - turn->made);
    for (int64_t left = most;;) {
        if (left <= 0) {
            why = AS_TURN_ROWS;
            break;
        }
        const int64_t some = left < rows ? left : rows;
        const int32_t status = batch(turn, some, &now, time);
        if (status != 0) {
            why = status == AS_E_MEMORY || status == AS_E_CORRUPT ? status : AS_TURN_REFUSED;
            break;
        }
        left -= some;
        turn->made += (uint64_t)some;
        turn->latest = time[1];
        const int64_t frontier = time[2] < turn->bound ? time[2] : turn->bound;
        if (frontier > turn->frontier)
            turn->frontier = frontier;
        if (turn->frontier >= turn->due) {
            why = AS_TURN_DUE;
            break;
        }
        if (turn->frontier > pending) {
            promise(turn, promises, pending, 0);
            pending = turn->frontier;
        }
        if (turn->full) {
            why = AS_TURN_FULL;
            break;
        }
        if (now >= deadline) {
            why = AS_TURN_TIME;
            break;
        }
        if (turn->bell != NULL && now >= listens && as_doorbell_pending(turn->bell)) {
            why = AS_TURN_RUNG;
            break;
        }
    }
    if (why != AS_TURN_DUE)
        promise(turn, promises, turn->frontier, 1);
    return why;
}
