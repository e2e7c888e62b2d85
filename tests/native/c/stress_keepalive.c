/*
 * Keepalive: two handles that send each other datagrams over a pair of sockets, while a thread of each calls everything else.
 *
 * In mode "hostile" a third socket sends mutated datagrams to both meanwhile. In mode "streams" a hub has a stream to each of
 * several handles: the first is only watched, the second one forgotten, and the others are told to end. In mode "closing" the
 * far ends are plain sockets, which send random bytes and close.
 *
 *   FORBIDDEN: a peer that lives is found silent or closed; a clock that is the same is found apart by more than the bound; a
 *   state that is final changes; a peer that was told to end does not hear it; a loss leaves a thread asleep.
 */
#define _GNU_SOURCE
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "keepalive.h"
#include "stress.h"

typedef struct side {
    as_keepalive *alive;
    uint32_t peer;
    int is_attacked;
} side;

static uint64_t each;

static void *work(void *argument) {
    side *mine = argument;
    for (uint64_t i = 0; i < each; i++) {
        int64_t ahead, error;
        int state = as_keepalive_state(mine->alive, mine->peer);
        CHECK(state == AS_PEER_ALIVE || state == AS_PEER_UNHEARD);
        if (as_keepalive_clock(mine->alive, mine->peer, &ahead, &error) == AS_OK) {
            CHECK(ahead <= error && -ahead <= error);
        }
        as_keepalive_need(mine->alive, mine->peer);
        CHECK(mine->is_attacked || as_keepalive_refused(mine->alive) == 0);
    }
    return NULL;
}

/* Datagrams of every length up to 63 bytes, many of old news with a right tag, half of them changed. */
static void attack(const struct sockaddr_un names[2], uint8_t keys[2][16]) {
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    uint64_t state = 16;
    CHECK(fd >= 0);
    for (uint64_t i = 0; i < each; i++) {
        uint8_t bytes[64] = {'S', 'A', 'l', 'v', 1, 0, 1};
        uint64_t length = next_random(&state) % sizeof bytes;
        uint32_t to = (uint32_t)(i % 2), from = !to;
        memcpy(bytes + 8, &from, 4);
        memcpy(bytes + 12, &to, 4);
        bytes[16] = (uint8_t)next_random(&state); /* sent long ago */
        if (next_random(&state) % 2) {
            uint64_t tag = as_keepalive_tag(keys[from], bytes, 40);
            memcpy(bytes + 40, &tag, 8);
            length = 48;
        }
        if (next_random(&state) % 2) {
            bytes[next_random(&state) % 48] ^= (uint8_t)(1 + next_random(&state) % 255);
        }
        (void)!sendto(fd, bytes, length, MSG_DONTWAIT, (const struct sockaddr *)&names[to], sizeof names[to]);
    }
    close(fd);
}

/* -- streams */

enum {
    HUB = 6,
    WATCHED = 0,
    FORGOTTEN = 1,
    TOLD = 2
}; /* the hub's peers are 0 to 5; those from TOLD on are told, or close */
#define LIMIT_NS UINT64_C(60000000000)

typedef struct stream_side {
    as_keepalive *hub, **ends;
    int tells;
    uint64_t seed;
} stream_side;

static int is_final(int state) {
    return state != AS_PEER_ALIVE && state != AS_PEER_UNHEARD;
}

static void *work_streams(void *argument) {
    stream_side *mine = argument;
    int seen[HUB] = {0};
    for (uint64_t i = 0; i < each; i++) {
        uint32_t peer = (uint32_t)(next_random(&mine->seed) % HUB);
        int state = as_keepalive_state(mine->hub, peer);
        CHECK(state != AS_PEER_SILENT && (state != AS_PEER_CLOSED || mine->ends == NULL));
        CHECK(!is_final(state) || peer == FORGOTTEN || (peer >= TOLD && mine->ends == NULL));
        CHECK(seen[peer] == 0 || state == seen[peer]);
        seen[peer] = is_final(state) ? state : 0;
        if (peer == FORGOTTEN)
            as_keepalive_forget(mine->hub, peer);
        if (mine->ends != NULL) {
            state = as_keepalive_state(mine->ends[peer], HUB);
            CHECK(!is_final(state) || (peer >= TOLD && state == AS_PEER_ENDS));
        }
        if (peer >= TOLD && mine->tells && i % 16 == 0)
            as_keepalive_end(mine->hub, peer);
        dither(&mine->seed);
    }
    return NULL;
}

static as_keepalive *joined(uint32_t own, uint32_t first, uint32_t peers, const int *sockets, int news) {
    as_keepalive *alive = as_keepalive_open(-1, news, own, peers, 100000, LIMIT_NS, LIMIT_NS);
    CHECK(alive != NULL);
    for (uint32_t i = 0; i < peers; i++)
        CHECK(as_keepalive_join(alive, first + i, sockets[i]) == AS_OK);
    CHECK(as_keepalive_join(alive, first + peers, sockets[0]) == AS_E_ARGUMENT);
    as_keepalive_need(alive, first);
    CHECK(as_keepalive_start(alive) == AS_OK);
    return alive;
}

static void wait_for(as_keepalive *alive, uint32_t peer, int news, int wanted) {
    int state;
    while (!is_final(state = as_keepalive_state(alive, peer))) {
        uint64_t value;
        sleep_on(news);
        CHECK(read(news, &value, sizeof value) == sizeof value || errno == EAGAIN);
    }
    CHECK(state == wanted);
}

/* The far ends send bytes that mean nothing, and close from TOLD on. */
static void attack_streams(const int far[HUB]) {
    uint64_t state = 16;
    for (uint64_t i = 0; i < each; i++) {
        uint8_t bytes[300];
        uint64_t length = 1 + next_random(&state) % (sizeof bytes - 1), peer = next_random(&state) % HUB;
        for (uint64_t at = 0; at < length; at++)
            bytes[at] = (uint8_t)next_random(&state);
        (void)!send(far[peer], bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    for (int peer = TOLD; peer < HUB; peer++)
        close(far[peer]);
}

static void stress_streams(int closing) {
    int near[HUB], far[HUB], news[HUB + 1];
    as_keepalive *ends[HUB];
    for (int i = 0; i <= HUB; i++)
        news[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    for (int i = 0; i < HUB; i++) {
        int pair[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
        near[i] = pair[0];
        far[i] = pair[1];
        ends[i] = closing ? NULL : joined((uint32_t)i, HUB, 1, &far[i], news[i]);
    }
    as_keepalive *hub = joined(HUB, 0, HUB, near, news[HUB]);
    as_keepalive **known = closing ? NULL : ends;
    stream_side sides[3] = {{hub, known, !closing, 1}, {hub, known, 0, 2}, {hub, known, 0, 3}};
    if (closing)
        attack_streams(far);
    run_threads(work_streams, sides, sizeof sides[0], 3);
    for (uint32_t peer = TOLD; peer < HUB; peer++) {
        if (closing) {
            wait_for(hub, peer, news[HUB], AS_PEER_CLOSED);
        } else {
            as_keepalive_end(hub, peer);
            wait_for(ends[peer], HUB, news[peer], AS_PEER_ENDS);
        }
    }
    CHECK(!is_final(as_keepalive_state(hub, WATCHED)));
    for (int i = 0; i < HUB && !closing; i++)
        as_keepalive_close(ends[i], 1);
    if (!closing)
        wait_for(hub, WATCHED, news[HUB], AS_PEER_LEFT);
    as_keepalive_close(hub, 1);
    for (int i = 0; i < HUB; i++) {
        close(near[i]);
        if (!closing || i < TOLD)
            close(far[i]);
    }
    for (int i = 0; i <= HUB; i++)
        close(news[i]);
}

int stress_keepalive(const char *mode, uint64_t rounds) {
    int hostile = strcmp(mode, "hostile") == 0, closing = strcmp(mode, "closing") == 0;
    each = rounds;
    if (closing || strcmp(mode, "streams") == 0) {
        stress_streams(closing);
        return 0;
    }
    if (!hostile && strcmp(mode, "pair") != 0) {
        return -1;
    }
    side sides[2];
    int fds[2], events[2];
    struct sockaddr_un names[2];
    uint8_t keys[2][16] = {{1}, {2}};
    for (int i = 0; i < 2; i++) {
        names[i] = (struct sockaddr_un){.sun_family = AF_UNIX};
        snprintf(names[i].sun_path + 1, sizeof names[i].sun_path - 1, "stress-keepalive-%ld-%d", (long)getpid(), i);
        fds[i] = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        events[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        CHECK(fds[i] >= 0 && bind(fds[i], (struct sockaddr *)&names[i], sizeof names[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        uint32_t other = (uint32_t)!i;
        sides[i].alive = as_keepalive_open(fds[i], events[i], (uint32_t)i, 1, 1000000, UINT64_C(60000000000), 0);
        sides[i].peer = other;
        sides[i].is_attacked = hostile;
        CHECK(sides[i].alive != NULL);
        CHECK(as_keepalive_add(sides[i].alive, other, (const uint8_t *)&names[other], sizeof names[other], keys[i],
                               keys[other]) == AS_OK);
        CHECK(as_keepalive_add(sides[i].alive, 7, (const uint8_t *)&names[other], sizeof names[other], keys[i],
                               keys[other]) == AS_E_ARGUMENT);
        CHECK(as_keepalive_start(sides[i].alive) == AS_OK);
    }
    if (hostile) {
        attack(names, keys);
    }
    run_threads(work, sides, sizeof sides[0], 2);
    for (int i = 0; i < 2; i++) { /* what is under way may be heard, however many rounds there were */
        while (as_keepalive_state(sides[i].alive, sides[i].peer) == AS_PEER_UNHEARD) {
            sched_yield();
        }
    }
    for (int i = 0; i < 2; i++) {
        as_keepalive_close(sides[i].alive, 1);
        close(fds[i]);
        close(events[i]);
    }
    return 0;
}
