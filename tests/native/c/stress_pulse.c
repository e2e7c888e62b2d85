/*
 * Pulse: two handles over several connections, while two threads of each call everything else.
 *
 * Of the connections the first one is only watched, some are forgotten, and over some a side tells the other to end. In mode
 * "closing" the far ends are plain sockets, which send random bytes and close.
 *
 *   FORBIDDEN: a peer that lives is lost; a state changes once it is told; a peer that was told to end does not hear it; a
 *   loss leaves a thread asleep.
 */
#define _GNU_SOURCE
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "pulse.h"
#include "stress.h"

enum { PEERS = 6, WATCHED = 0, FORGOTTEN = 1, TOLD = 2 }; /* the peers from TOLD on are told, or close */
#define EVERY_NS 100000u
#define LIMIT_NS UINT64_C(60000000000)

typedef struct side {
    as_pulse *pulse;
    int tells;
    uint64_t seed;
} side;

static uint64_t each;

static void *work(void *argument) {
    side *mine = argument;
    int seen[PEERS] = {0};
    for (uint64_t i = 0; i < each; i++) {
        uint32_t peer = (uint32_t)(next_random(&mine->seed) % PEERS);
        int state = as_pulse_state(mine->pulse, peer);
        CHECK(state == 0 || state == AS_PULSE_END || state == AS_PULSE_CLOSED);
        CHECK(peer >= TOLD || state == 0);
        CHECK(seen[peer] == 0 || state == seen[peer]);
        seen[peer] = state;
        if (peer == FORGOTTEN)
            as_pulse_forget(mine->pulse, peer);
        if (peer >= TOLD && mine->tells && i % 16 == 0)
            as_pulse_end(mine->pulse, peer);
        dither(&mine->seed);
    }
    return NULL;
}

static as_pulse *opened(int sockets[PEERS], int news) {
    static const uint8_t vital[PEERS] = {1, 1};
    as_pulse *pulse = as_pulse_open(sockets, vital, PEERS, news, EVERY_NS, LIMIT_NS, LIMIT_NS);
    CHECK(pulse != NULL);
    return pulse;
}

/* Waits until the pulse has found a state of each peer from TOLD on. */
static void wait_for(as_pulse *pulse, int news, int wanted) {
    for (uint32_t peer = TOLD; peer < PEERS; peer++) {
        int state;
        while ((state = as_pulse_state(pulse, peer)) == 0) {
            uint64_t value;
            sleep_on(news);
            CHECK(read(news, &value, sizeof value) == sizeof value || errno == EAGAIN);
        }
        CHECK(wanted == 0 || state == wanted);
    }
}

/* The far ends send bytes that mean nothing, some to one that was told to end already, and close. */
static void attack(int far[PEERS]) {
    uint64_t state = 16;
    for (uint64_t i = 0; i < each; i++) {
        uint8_t bytes[300];
        uint64_t length = 1 + next_random(&state) % (sizeof bytes - 1), peer = next_random(&state) % PEERS;
        for (uint64_t at = 0; at < length; at++) {
            uint8_t byte = (uint8_t)next_random(&state);
            bytes[at] = byte == 'l' || byte == 'e' ? 0 : byte;
        }
        (void)!send(far[peer], bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    for (int peer = TOLD; peer < PEERS; peer++)
        close(far[peer]);
}

int stress_pulse(const char *mode, uint64_t rounds) {
    const int closing = strcmp(mode, "closing") == 0;
    if (!closing && strcmp(mode, "telling") != 0)
        return -1;
    int near[PEERS], far[PEERS], news[2];
    each = rounds;
    for (int i = 0; i < PEERS; i++) {
        int ends[2], kind = i % 2 && !closing ? SOCK_DGRAM : SOCK_STREAM;
        CHECK(socketpair(AF_UNIX, kind | SOCK_CLOEXEC, 0, ends) == 0);
        near[i] = ends[0];
        far[i] = ends[1];
    }
    for (int i = 0; i < 2; i++)
        news[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    as_pulse *one = opened(near, news[0]), *two = closing ? NULL : opened(far, news[1]);
    side sides[4] = {{one, !closing, 1}, {one, 0, 2}, {two, 0, 3}, {two, 0, 4}};
    if (closing)
        attack(far);
    run_threads(work, sides, sizeof sides[0], closing ? 2 : 4);
    if (closing) {
        wait_for(one, news[0], AS_PULSE_CLOSED);
    } else {
        for (uint32_t peer = TOLD; peer < PEERS; peer++)
            as_pulse_end(one, peer);
        wait_for(two, news[1], AS_PULSE_END);
        CHECK(as_pulse_state(two, WATCHED) == 0);
        as_pulse_close(two);
    }
    CHECK(as_pulse_state(one, WATCHED) == 0);
    as_pulse_close(one);
    for (int i = 0; i < PEERS; i++) {
        close(near[i]);
        if (!closing || i < TOLD)
            close(far[i]);
    }
    for (int i = 0; i < 2; i++)
        close(news[i]);
    return 0;
}
