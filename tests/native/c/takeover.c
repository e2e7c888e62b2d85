/*
 * One end of a channel dies behind each of its stores in turn, and a successor opens the end: everything that was
 * committed arrives once and in order, whoever slept has been woken, and the channel carries more entries than it has
 * slots and loans afterwards. Built with stepped.h. Usage: takeover SEED ROUNDS
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "arena.h"
#include "channel.h"
#include "doorbell.h"

enum {
    SLOTS = 4,
    RETURNS = 8,
    PLAN = 3,
    BITS = 64,
    BUDGET = 1 << 20,
    LIMIT = 1 << 22,
    AFTER = 3 * RETURNS,
    PRODUCER = 0,
    CONSUMER = 1
};

static unsigned long long seed;
static const char *doing = "";
static int left = -1; /* stores until the end of this process; -1: it lives */
static int last;      /* how many it did before */

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: seed %llu: %s, dead behind store %d: %s\n", __FILE__, __LINE__, seed, doing, last, \
                    #condition);                                                                                       \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

void stepped(void) {
    if (left >= 0 && left-- == 0)
        kill(getpid(), SIGKILL);
}

static uint8_t *shared; /* the channel, then a doorbell for each side */
static uint64_t channel_bytes, bell_bytes;
static int eventfds[2], arenas[2];

static void lay_out(uint64_t start) {
    memset(shared, 0, channel_bytes + 2 * bell_bytes);
    CHECK(as_channel_init_at(shared, SLOTS, RETURNS, 1, PLAN, start) == AS_OK);
    for (int side = 0; side < 2; side++) {
        CHECK(as_doorbell_init(shared + channel_bytes + (uint64_t)side * bell_bytes, BITS) == AS_OK);
        eventfds[side] = eventfd(0, EFD_NONBLOCK);
        arenas[side] = memfd_create("takeover", 0);
    }
}

static as_doorbell *bell_of(int side) {
    return as_doorbell_open(shared + channel_bytes + (uint64_t)side * bell_bytes, eventfds[side]);
}

static void sleep_on(as_doorbell *own) {
    uint32_t bits[BITS];
    as_doorbell_collect(own, bits, BITS);
    CHECK(as_doorbell_park(own) == AS_OK);
}

static as_producer *producer_of(as_doorbell *peer) {
    return as_producer_open(shared, PLAN, BUDGET, peer, 0);
}

static as_consumer *consumer_of(as_doorbell *peer) {
    return as_consumer_open(shared, PLAN, peer, 1);
}

static uint64_t sequence;

/* 1: a block, 2: no block, 5: a row; 3: two hand-overs of a block. */
static int send_one(as_producer *producer, as_arena *arena, int kind) {
    as_entry entry = {.kind = 1, .sequence = sequence, .rows = 1, .bytes = 64};
    if (kind == 5)
        return as_channel_send_row(producer, &entry);
    if (kind == 2)
        return as_channel_send(producer, &entry, NULL);
    as_hold *hold = as_hold_allocate(arena, 64);
    CHECK(hold != NULL);
    uint32_t sent;
    entry.rows = kind == 3 ? 2 : 1;
    const int status =
        kind == 3 ? as_channel_send_run(producer, &entry, hold, 1, &sent) : as_channel_send(producer, &entry, hold);
    as_hold_release(hold);
    return status;
}

/* Reads what waits, each entry once and the next in order; hands blocks back. */
static void receive_all(as_consumer *consumer, uint64_t *next) {
    as_entry entry;
    while (as_channel_peek(consumer, 0, &entry) == AS_OK) {
        CHECK(entry.sequence == *next);
        ++*next;
        as_channel_consume(consumer, 1);
        if (entry.loan != AS_NO_LOAN)
            as_channel_return(consumer, entry.loan);
    }
}

/* More entries than there are slots and loans go through. */
static void go_on(as_producer *producer, as_consumer *consumer, as_arena *arena, uint64_t next, uint64_t lost) {
    for (int n = 0; n < AFTER; n++) {
        int tries = 0;
        while (send_one(producer, arena, n % 3 ? 1 : 2) != AS_OK) {
            CHECK(++tries < 3);
            receive_all(consumer, &next);
        }
        sequence++;
    }
    receive_all(consumer, &next);
    CHECK(next == sequence);
    as_channel_reap(producer);
    uint64_t out[6];
    as_producer_statistics(producer, out);
    CHECK(out[3] == lost && out[1] == 0);
}

/* What the dying producer does after it has sent two blocks, one of which has come back. */
enum { SEND_BLOCK = 1, SEND_NONE = 2, SEND_RUN = 3, REAP = 4, SEND_ROW = 5, ADVANCE = 6, WISH = 7, CLOSE = 8 };
static const char *const OF_PRODUCER[] = {"",           "send a block", "send no block", "send a run", "reap",
                                          "send a row", "advance",      "wish",          "finish"};

static void produce(as_producer *producer, as_arena *arena, int what) {
    switch (what) {
    case REAP: as_channel_reap(producer); break;
    case ADVANCE: as_frontier_advance(producer, 0, 7, 1); break;
    case WISH: as_channel_admits(producer, UINT64_MAX), as_channel_await_returns(producer); break;
    case CLOSE: as_producer_finish(producer); break;
    default: send_one(producer, arena, what);
    }
}

static bool died(pid_t child) {
    int status;
    waitpid(child, &status, 0);
    CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    return WIFSIGNALED(status);
}

static void end_round(as_producer *producer, as_consumer *consumer, as_arena *arena, as_doorbell *first,
                      as_doorbell *second) {
    as_producer_close(producer);
    as_consumer_close(consumer);
    as_arena_close(arena);
    as_doorbell_close(first);
    as_doorbell_close(second);
    for (int side = 0; side < 2; side++) {
        close(eventfds[side]);
        close(arenas[side]);
    }
}

static bool kill_producer(int what, int stores, uint64_t start) {
    doing = OF_PRODUCER[what];
    last = stores;
    lay_out(start);
    as_doorbell *own = bell_of(CONSUMER), *peer = bell_of(PRODUCER);
    as_consumer *consumer = consumer_of(peer);
    uint64_t next = 0;
    int turn[2];
    CHECK(pipe(turn) == 0);
    const pid_t child = fork();
    sequence = 2;
    if (child == 0) {
        char go;
        as_arena *arena = as_arena_create(arenas[0], LIMIT, 1, 0);
        as_producer *producer = producer_of(bell_of(CONSUMER));
        for (sequence = 0; sequence < 2; sequence++)
            CHECK(send_one(producer, arena, 1) == AS_OK);
        CHECK(read(turn[0], &go, 1) == 1);
        left = stores;
        produce(producer, arena, what);
        _exit(0);
    }
    while (next < 2 - (what == WISH)) /* whoever waits for credit leaves something unconsumed */
        if (as_channel_waiting(consumer)) {
            as_entry entry;
            CHECK(as_channel_peek(consumer, 0, &entry) == AS_OK && entry.sequence == next++);
            as_channel_consume(consumer, 1);
            if (next == 1)
                as_channel_return(consumer, entry.loan);
        }
    as_entry waits;
    while (what == WISH && as_channel_peek(consumer, 0, &waits) != AS_OK)
        ;
    sleep_on(own);
    CHECK(write(turn[1], "", 1) == 1);
    const bool again = died(child);
    close(turn[0]);
    close(turn[1]);
    const uint64_t before = as_channel_waiting(consumer);
    as_producer *producer = producer_of(own);
    CHECK(producer != NULL);
    CHECK(as_doorbell_pending(own)); /* who sleeps is woken by the successor at the latest */
    as_arena *arena = as_arena_create(arenas[1], LIMIT, 2, 0);
    sequence = next + before;
    CHECK(what != WISH || before == 1);
    /* the second block was consumed and is given back late: the successor counts it as lent */
    go_on(producer, consumer, arena, next, what == WISH ? 0 : 1);
    end_round(producer, consumer, arena, own, peer);
    return again;
}

/* What the dying consumer does with six entries, of which four have come: the producer sleeps until there is credit. */
enum { CONSUME = 0, RETURN = 1, TAKE_ROW = 2, RUN = 3, BORROW = 4, CLOSE_END = 5 };
static const char *const OF_CONSUMER[] = {"consume", "return", "take a row", "consume a run", "borrow and release",
                                          "close"};

static void consume(as_consumer *consumer, int what) {
    as_entry entry;
    if (what == TAKE_ROW) {
        as_channel_take_row(consumer, &entry);
        return;
    }
    if (what == CLOSE_END) {
        as_consumer_close(consumer);
        return;
    }
    if (what == RUN) {
        as_channel_consume_run(consumer, 0, 2);
        return;
    }
    while (as_channel_peek(consumer, 0, &entry) == AS_OK) {
        if (what == BORROW) {
            as_arena *arena = as_arena_map(arenas[0], LIMIT, 1);
            as_hold *hold = as_channel_borrow(consumer, &entry, arena);
            CHECK(hold != NULL);
            as_channel_consume(consumer, 1);
            as_hold_release(hold);
        } else if (what == RETURN) {
            as_channel_consume(consumer, 1);
            as_channel_return(consumer, entry.loan);
        } else {
            as_channel_consume(consumer, 1);
        }
    }
}

static bool kill_consumer(int what, int stores, uint64_t start) {
    doing = OF_CONSUMER[what];
    last = stores;
    lay_out(start);
    as_doorbell *own = bell_of(PRODUCER), *peer = bell_of(CONSUMER);
    as_producer *producer = producer_of(peer);
    as_arena *arena = as_arena_create(arenas[0], LIMIT, 1, 0);
    for (sequence = 0; sequence < (what == TAKE_ROW ? 1 : SLOTS); sequence++)
        CHECK(send_one(producer, arena, what == TAKE_ROW ? 5 : 1) == AS_OK);
    CHECK(send_one(producer, arena, what == TAKE_ROW ? 5 : 1) == AS_AGAIN);
    if (what == TAKE_ROW)
        CHECK(as_channel_admits(producer, UINT64_MAX) == AS_AGAIN);
    else
        CHECK(as_channel_await_returns(producer) == AS_AGAIN);
    sleep_on(own);
    const pid_t child = fork();
    if (child == 0) {
        as_consumer *consumer = consumer_of(bell_of(PRODUCER));
        left = stores;
        consume(consumer, what);
        _exit(0);
    }
    const bool again = died(child);
    as_consumer *consumer = consumer_of(own);
    CHECK(consumer != NULL && as_doorbell_pending(own));
    as_channel_reap(producer);
    uint64_t waiting = as_channel_waiting(consumer), next = sequence - waiting, out[6];
    as_producer_statistics(producer, out);
    CHECK(waiting <= sequence && out[1] == waiting && out[3] <= sequence);
    CHECK(what == TAKE_ROW || out[3] >= waiting); /* what is not consumed was not given back */
    const uint64_t lost = what == TAKE_ROW ? 0 : out[3] - waiting; /* taken and not given back by the dead one */
    go_on(producer, consumer, arena, next, lost);
    end_round(producer, consumer, arena, own, peer);
    return again;
}

int main(int count, char **arguments) {
    seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    const uint64_t starts[2] = {0, UINT32_MAX}; /* the second: counts of 32 bits wrap around */
    channel_bytes = (as_channel_size(SLOTS, RETURNS, 1) + 127) / 128 * 128;
    bell_bytes = (as_doorbell_size(BITS) + 127) / 128 * 128;
    shared = mmap(NULL, channel_bytes + 2 * bell_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(shared != MAP_FAILED);
    for (int wrap = 0; wrap < 2; wrap++) {
        for (int what = SEND_BLOCK; what <= CLOSE; what++) {
            int stores = 0;
            while (kill_producer(what, stores, starts[wrap]))
                stores++;
            CHECK(stores > 0);
        }
        for (int what = CONSUME; what <= CLOSE_END; what++) {
            int stores = 0;
            while (kill_consumer(what, stores, starts[wrap]))
                stores++;
            CHECK(stores > 1);
        }
    }
    puts("ok");
    return 0;
}
