/*
 * Channels: a source sends marked blocks to a sink, in some modes through a stage that forwards the blocks it borrowed.
 * Order, contents and promises are checked; at the end every loan is home and no block is in use.
 *
 *   FORBIDDEN: an entry lost, doubled or out of order; a block recycled while its consumer reads it; a promise whose
 *   entries do not wait yet; an end that sleeps though there is work or credit.
 *
 * All ends borrow through the owner's mapping (except in "mapped"), so ThreadSanitizer sees each access to a payload.
 */
#define _GNU_SOURCE
#include "channel.h"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpmc.h"
#include "stress.h"

typedef struct load {
    const char *name;
    uint32_t slots, returns;
    uint64_t start; /* first index of the rings */
    uint64_t budget;
    uint64_t largest;   /* bytes of a block */
    uint64_t limit;     /* of the arena */
    int park;           /* sleep on the eventfd, else yield */
    int forward;        /* a stage between source and sink */
    int returners;      /* threads that release the sink's holds */
    uint32_t kept;      /* holds that the sink keeps before it lets one go */
    int mapped;         /* the sink has a mapping of its own */
    uint32_t generation;
} load;

static const load loads[] = {
    {"plain", 64, 256, 0, 1 << 20, 8 << 10, 4 << 20, 0, 0, 0, 0, 0, 1},
    {"one-slot", 1, 1, 0, 1 << 20, 512, 1 << 20, 0, 0, 0, 0, 0, 1},
    {"one-slot-parked", 1, 1, 0, 1 << 20, 512, 1 << 20, 1, 0, 0, 0, 0, 1},
    {"parked", 16, 64, 0, 16 << 10, 4 << 10, 1 << 20, 1, 0, 0, 0, 0, 1},
    {"oversized", 8, 8, 0, 1, 4 << 10, 1 << 20, 1, 0, 0, 0, 0, 1},
    {"index-wrap-around", 4, 8, UINT64_MAX - 50, 1 << 20, 512, 1 << 20, 0, 0, 0, 2, 0, UINT32_MAX - 40},
    {"half-wrap-around", 4, 8, UINT32_MAX - 50, 1 << 20, 512, 1 << 20, 1, 0, 0, 2, 0, 1},
    {"loans-short", 8, 8, 0, 1 << 20, 512, 1 << 20, 1, 0, 2, 0, 0, 1},
    {"returners", 64, 64, 0, 1 << 20, 1 << 10, 1 << 20, 0, 0, 3, 0, 0, 1},
    {"arena-short", 64, 256, 0, 1 << 20, 8 << 10, 128 << 10, 1, 0, 2, 4, 0, 1},
    {"forwarded", 8, 16, 0, 1 << 20, 2 << 10, 256 << 10, 1, 1, 0, 3, 0, 1},
    {"forwarded-returners", 8, 16, 0, 1 << 20, 2 << 10, 1 << 20, 0, 1, 2, 0, 0, 1},
    {"mapped", 16, 64, 0, 64 << 10, 4 << 10, 1 << 20, 1, 0, 0, 2, 1, 1},
};

enum { PLAN = 77, ARENA = 5, ARRIVAL = 0, CREDIT = 1, SOURCE = 0, FORWARDER = 1, SINK = 2, MOST_KEPT = 16 };

static const load *now;
static uint64_t count;
static as_arena *owned, *read_only;
static void *rings[2], *bells[3];
static int events[3];
static as_mpmc *releases;
static _Atomic int finished;

typedef struct stage {
    int number;
    as_doorbell *own, *up, *down;
    as_consumer *in;
    as_producer *out;
} stage;

static void rest(stage *self) {
    uint32_t bits[2];
    if (!now->park) {
        sched_yield();
    } else if (as_doorbell_collect(self->own, bits, 2) == 0 && as_doorbell_park(self->own) == AS_OK) {
        sleep_on(events[self->number]);
        as_doorbell_unpark(self->own);
    }
}

static void send(stage *self, as_entry *entry, as_hold *hold) {
    int status;
    while ((status = as_channel_send(self->out, entry, hold)) == AS_AGAIN) {
        as_channel_reap(self->out);
        rest(self);
    }
    CHECK(status == AS_OK);
}

static void await_loans(stage *self) {
    uint64_t figures[6];
    int status;
    while ((status = as_channel_admits(self->out, UINT64_MAX)) == AS_AGAIN) { /* only an empty ring admits that */
        rest(self);
    }
    CHECK((status == AS_OK || status == AS_E_CLOSED) && as_channel_is_empty(self->out));
    for (;;) {
        as_channel_reap(self->out);
        as_producer_statistics(self->out, figures);
        if (figures[3] == 0) {
            break;
        }
        status = as_channel_await_returns(self->out);
        if (status == AS_AGAIN) {
            rest(self);
        } else if (status == AS_E_CLOSED) {
            sched_yield(); /* the sink has left; its returners do not ring any more */
        }
    }
    CHECK(figures[0] == count + 1 && figures[1] == 0 && figures[2] == 0);
}

static void fill(uint8_t *data, uint64_t bytes, uint64_t serial) {
    data[0] = data[bytes / 2] = data[bytes - 1] = (uint8_t)serial;
}

static void *source(stage *self) {
    uint64_t state = 88172645463325252u;
    for (uint64_t serial = 0; serial < count; serial++) {
        uint64_t bytes = 1 + next_random(&state) % now->largest;
        as_hold *hold = NULL;
        as_entry entry = {.kind = 1, .sequence = serial, .serial = serial, .bytes = bytes, .rows = (int64_t)bytes};
        if (serial % 8 != 3) { /* some pieces have no rows and no block */
            while ((hold = as_hold_allocate(owned, bytes)) == NULL) {
                CHECK(errno == ENOMEM);
                if (as_channel_reap(self->out) == 0 && as_channel_await_returns(self->out) == AS_AGAIN) {
                    rest(self);
                }
            }
            fill(as_hold_data(hold), bytes, serial);
        }
        if (serial % 16 == 0) {
            as_channel_reap(self->out);
        }
        /* the fields that `take` checks lie where a row has its bytes */
        int row = hold == NULL ? as_channel_send_row(self->out, &entry) : AS_AGAIN;
        CHECK(row == AS_OK || row == AS_AGAIN);
        if (row != AS_OK) {
            send(self, &entry, hold);
        }
        as_frontier_advance(self->out, 0, (int64_t)serial, serial % 4 == 0);
        if (hold != NULL) {
            as_hold_release(hold);
        }
    }
    return NULL;
}

/* Checks the entry and its block; answers a hold of one use, or NULL if it has no block. */
static as_hold *take(stage *self, const as_entry *entry, uint64_t serial) {
    CHECK(entry->serial == serial && entry->sequence == serial && entry->rows == (int64_t)entry->bytes);
    CHECK((entry->offset == 0) == (entry->loan == AS_NO_LOAN) && (entry->offset == 0) == (serial % 8 == 3));
    if (entry->offset == 0) {
        return NULL;
    }
    if (serial % 8 == 5 && self->number == SINK) {
        as_channel_return(self->in, entry->loan); /* not looked at: handed back as it is */
        return NULL;
    }
    as_hold *hold = as_channel_borrow(self->in, entry, now->mapped ? read_only : owned);
    CHECK(hold != NULL && !as_hold_is_own(hold) && as_hold_bytes(hold) >= entry->bytes);
    const uint8_t *data = as_hold_data(hold), mark = (uint8_t)serial;
    CHECK(data[0] == mark && data[entry->bytes / 2] == mark && data[entry->bytes - 1] == mark);
    return hold;
}

static void let_go(as_hold *hold) {
    while (now->returners && as_mpmc_push(releases, (uint64_t)(uintptr_t)hold) == AS_AGAIN) {
        sched_yield();
    }
    if (!now->returners) {
        as_hold_release(hold);
    }
}

static void *returner(void *unused) {
    uint64_t item;
    while (!atomic_load(&finished) || as_mpmc_count(releases) > 0) {
        if (as_mpmc_pop(releases, &item) == AS_OK) {
            as_hold_release((as_hold *)(uintptr_t)item);
        } else {
            sched_yield();
        }
    }
    return unused;
}

static void *receive(stage *self) {
    as_hold *kept[MOST_KEPT] = {NULL};
    uint64_t serial = 0, turns = 0;
    int ended = 0;
    while (!ended || as_frontier_load(self->in, 0) != INT64_MAX) {
        int64_t promised = as_frontier_load(self->in, 0);
        uint64_t waiting = as_channel_waiting(self->in);
        as_entry entry;
        CHECK(waiting <= now->slots);
        if (self->out != NULL) {
            as_channel_reap(self->out);
        }
        for (uint64_t i = 0; i < waiting; i++) {
            if (serial % 2 && as_channel_take_row(self->in, &entry) == AS_OK) {
                CHECK(entry.kind == AS_KIND_ROW && take(self, &entry, serial) == NULL);
                if (self->out != NULL) {
                    entry.kind = 1; /* passed on as an entry of no block */
                    send(self, &entry, NULL);
                }
                serial++;
                continue;
            }
            CHECK(as_channel_peek(self->in, 0, &entry) == AS_OK);
            if (entry.kind == 4) {
                CHECK(serial == count && entry.loan == AS_NO_LOAN);
                ended = 1;
                as_channel_consume(self->in, 1);
                continue;
            }
            as_hold *hold = take(self, &entry, serial);
            if (self->out != NULL) {
                entry.kind = 1;
                send(self, &entry, hold);
            }
            as_channel_consume(self->in, 1);
            serial++;
            if (hold != NULL && now->kept) {
                as_hold **place = &kept[turns++ % now->kept];
                as_hold *old = *place;
                *place = hold;
                hold = old;
            }
            if (hold != NULL) {
                let_go(hold);
            }
        }
        CHECK(promised == INT64_MIN || promised == INT64_MAX || serial > (uint64_t)promised);
        if (self->out != NULL) {
            as_frontier_advance(self->out, 0, promised == INT64_MAX ? (int64_t)serial - 1 : promised, 0);
        }
        if (waiting == 0) {
            rest(self);
        }
    }
    for (uint32_t i = 0; i < now->kept; i++) {
        if (kept[i] != NULL) {
            let_go(kept[i]);
        }
    }
    return NULL;
}

static void *work(void *argument) {
    int number = *(int *)argument, last = now->forward ? 1 : 0;
    if (number > SINK) {
        return returner(NULL);
    }
    if (number == FORWARDER && !now->forward) {
        return NULL;
    }
    int upstream = number == SINK && !now->forward ? SOURCE : number - 1;
    int downstream = number == SOURCE && !now->forward ? SINK : number + 1;
    stage self = {.number = number, .own = as_doorbell_open(bells[number], events[number])};
    if (number != SOURCE) {
        self.up = as_doorbell_open(bells[upstream], events[upstream]);
        self.in = as_consumer_open(rings[number == SINK ? last : 0], PLAN, self.up, CREDIT);
    }
    if (number != SINK) {
        self.down = as_doorbell_open(bells[downstream], events[downstream]);
        self.out = as_producer_open(rings[number == SOURCE ? 0 : 1], PLAN, now->budget, self.down, ARRIVAL);
    }
    number == SOURCE ? source(&self) : receive(&self);
    if (self.out != NULL) {
        as_entry end = {.kind = 4};
        send(&self, &end, NULL);
        as_frontier_advance(self.out, 0, INT64_MAX, 1); /* the sink ends only when it has heard this */
        await_loans(&self);
        as_producer_close(self.out);
        as_doorbell_close(self.down);
    }
    if (self.in != NULL) {
        uint64_t figures[3];
        as_consumer_statistics(self.in, figures);
        CHECK(figures[0] == count + 1 && figures[1] == 0);
        as_consumer_close(self.in); /* returners may still hold blocks of it */
        as_doorbell_close(self.up);
    }
    if (number == SINK) {
        atomic_store(&finished, 1);
    }
    as_doorbell_close(self.own);
    return NULL;
}

int stress_channel(const char *mode, uint64_t rounds) {
    for (now = loads; now < loads + sizeof loads / sizeof loads[0]; now++) {
        if (strcmp(now->name, mode) == 0) {
            int numbers[MOST_THREADS] = {0, 1, 2, 3, 4, 5, 6, 7};
            uint64_t figures[4];
            int fd = memfd_create("stress", MFD_CLOEXEC | MFD_ALLOW_SEALING);
            count = rounds;
            read_only = as_arena_map(fd, now->limit, ARENA); /* before its owner: the file is still empty */
            owned = as_arena_create(fd, now->limit, ARENA, 64 << 10);
            CHECK(owned != NULL && read_only != NULL);
            as_arena_start_generation(owned, now->generation);
            releases = aligned(as_mpmc_size(16));
            CHECK(as_mpmc_init(releases, 16, 0) == AS_OK);
            for (int i = 0; i < 2; i++) {
                rings[i] = aligned(as_channel_size(now->slots, now->returns, 1));
                CHECK(as_channel_init_at(rings[i], now->slots, now->returns, 1, PLAN, now->start) == AS_OK);
            }
            for (int i = 0; i < 3; i++) {
                bells[i] = aligned(as_doorbell_size(2));
                events[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
                CHECK(as_doorbell_init(bells[i], 2) == AS_OK);
            }
            run_threads(work, numbers, sizeof numbers[0], 3 + now->returners);
            as_arena_statistics(owned, figures);
            CHECK(figures[1] == 0 && figures[2] == 0);
            as_arena_close(owned);
            as_arena_close(read_only);
            for (int i = 0; i < 3; i++) {
                free(bells[i]);
                close(events[i]);
            }
            free(rings[0]);
            free(rings[1]);
            free(releases);
            close(fd);
            return 0;
        }
    }
    return -1;
}
