/*
 * Runs of a channel: a source sends blocks as hand-overs of a few rows each, a sink takes as many of them at once as wait.
 * At the end every loan is home and no block is in use.
 *
 *   FORBIDDEN: a row lost, doubled or out of order; a block recycled while its consumer reads it; an end that sleeps
 *   though there is work or credit.
 */
#define _GNU_SOURCE
#include "channel.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stress.h"

typedef struct load {
    const char *name;
    uint32_t slots, returns;
    uint64_t start; /* first index of the rings */
    uint64_t budget;
    uint32_t most;  /* hand-overs taken at once */
    uint32_t kept;  /* blocks that the sink keeps before it lets one go */
} load;

static const load loads[] = {
    {"plain", 64, 128, 0, 1 << 20, 64, 0},
    {"one-slot", 1, 1, 0, 1 << 20, 8, 0},
    {"tight-budget", 32, 32, 0, 100, 8, 2},
    {"loans-short", 8, 8, 0, 1 << 20, 3, 4},
    {"wrap-around", 8, 16, UINT64_MAX - 50, 1 << 20, 5, 1},
};

enum { PLAN = 78, ARENA = 6, ARRIVAL = 0, CREDIT = 1, MOST_ROWS = 40, MOST_KEPT = 8, ROW_BYTES = 8 };

static const load *now;
static uint64_t count;
static as_arena *arena;
static void *ring, *bells[2];
static int events[2];

static void rest(as_doorbell *own, int event) {
    uint32_t bits[2];
    if (as_doorbell_collect(own, bits, 2) == 0 && as_doorbell_park(own) == AS_OK) {
        sleep_on(event);
        as_doorbell_unpark(own);
    }
}

static void source(as_doorbell *own, as_producer *out) {
    uint64_t state = 88172645463325252u, row = 0, figures[6];
    for (uint64_t block = 0; block < count; block++) {
        const uint64_t rows = 1 + next_random(&state) % MOST_ROWS, step = 1 + next_random(&state) % 3;
        as_hold *hold;
        while ((hold = as_hold_allocate(arena, rows * ROW_BYTES)) == NULL) {
            CHECK(errno == ENOMEM);
            if (as_channel_reap(out) == 0 && as_channel_await_returns(out) == AS_AGAIN) {
                rest(own, events[0]);
            }
        }
        uint64_t *values = (uint64_t *)as_hold_data(hold);
        for (uint64_t i = 0; i < rows; i++) {
            values[i] = row++;
        }
        as_entry entry = {.kind = 1, .rows = (int64_t)rows, .bytes = step * ROW_BYTES, .min_entry = (int64_t)block};
        uint32_t sent, hand_overs = 0;
        int status;
        while ((status = as_channel_send_run(out, &entry, hold, (int64_t)step, &sent)) == AS_AGAIN) {
            hand_overs += sent;
            if (as_channel_reap(out) == 0) {
                rest(own, events[0]);
            }
        }
        hand_overs += sent;
        CHECK(status == AS_OK && entry.rows == 0 && entry.first == (int64_t)rows);
        CHECK(hand_overs == (rows + step - 1) / step && entry.sequence == hand_overs);
        as_hold_release(hold);
        as_channel_reap(out);
    }
    as_entry end = {.kind = 4, .serial = row};
    while (as_channel_send(out, &end, NULL) == AS_AGAIN) {
        as_channel_reap(out);
        rest(own, events[0]);
    }
    for (;;) {
        as_channel_reap(out);
        as_producer_statistics(out, figures);
        if (figures[1] == 0 && figures[3] == 0) {
            break;
        }
        sched_yield(); /* the sink may have left; it does not ring any more */
    }
    CHECK(figures[2] == 0);
}

static void sink(as_doorbell *own, as_consumer *in) {
    as_hold *kept[MOST_KEPT] = {NULL};
    uint64_t row = 0, turns = 0, state = 362436069u;
    for (;;) {
        as_entry head;
        int status = as_channel_peek(in, 0, &head);
        if (status == AS_AGAIN) {
            rest(own, events[1]);
            continue;
        }
        CHECK(status == AS_OK);
        int64_t rows;
        const uint32_t taken = as_channel_run(in, 0, now->most, &rows);
        if (head.kind == 4) {
            CHECK(taken == 0 && head.serial == row);
            as_channel_consume(in, 1);
            break;
        }
        CHECK(taken >= 1 && taken <= now->most && rows >= head.rows);
        as_hold *hold = as_channel_borrow(in, &head, arena);
        CHECK(hold != NULL);
        const uint64_t *values = (const uint64_t *)as_hold_data(hold);
        for (int64_t i = 0; i < rows; i++) {
            CHECK(values[head.first + i] == row);
            row++;
        }
        as_channel_consume_run(in, 1, taken);
        for (int64_t i = 0; i < rows; i++) { /* the one loan keeps the block, also when all others are back */
            CHECK(values[head.first + i] == row - (uint64_t)(rows - i));
        }
        dither(&state);
        if (now->kept) {
            as_hold **place = &kept[turns++ % now->kept];
            as_hold *old = *place;
            *place = hold;
            hold = old;
        }
        if (hold != NULL) {
            as_hold_release(hold);
        }
    }
    for (uint32_t i = 0; i < now->kept; i++) {
        if (kept[i] != NULL) {
            as_hold_release(kept[i]);
        }
    }
}

static void *work(void *argument) {
    const int number = *(int *)argument;
    as_doorbell *own = as_doorbell_open(bells[number], events[number]);
    as_doorbell *other = as_doorbell_open(bells[1 - number], events[1 - number]);
    if (number == 0) {
        as_producer *out = as_producer_open(ring, PLAN, now->budget, other, ARRIVAL);
        source(own, out);
        as_producer_close(out);
    } else {
        as_consumer *in = as_consumer_open(ring, PLAN, other, CREDIT);
        sink(own, in);
        as_consumer_close(in);
    }
    as_doorbell_close(own);
    as_doorbell_close(other);
    return NULL;
}

int stress_runs(const char *mode, uint64_t rounds) {
    for (now = loads; now < loads + sizeof loads / sizeof loads[0]; now++) {
        if (strcmp(now->name, mode) == 0) {
            int numbers[2] = {0, 1};
            uint64_t figures[4];
            int fd = memfd_create("stress", MFD_CLOEXEC | MFD_ALLOW_SEALING);
            count = rounds / 4;
            arena = as_arena_create(fd, 1 << 20, ARENA, 64 << 10);
            CHECK(arena != NULL);
            ring = aligned(as_channel_size(now->slots, now->returns, 1));
            CHECK(as_channel_init_at(ring, now->slots, now->returns, 1, PLAN, now->start) == AS_OK);
            for (int i = 0; i < 2; i++) {
                bells[i] = aligned(as_doorbell_size(2));
                events[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
                CHECK(as_doorbell_init(bells[i], 2) == AS_OK);
            }
            run_threads(work, numbers, sizeof numbers[0], 2);
            as_arena_statistics(arena, figures);
            CHECK(figures[1] == 0 && figures[2] == 0);
            as_arena_close(arena);
            for (int i = 0; i < 2; i++) {
                free(bells[i]);
                close(events[i]);
            }
            free(ring);
            close(fd);
            return 0;
        }
    }
    return -1;
}
