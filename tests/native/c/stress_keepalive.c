/*
 * Keepalive: two handles that send each other datagrams over a pair of sockets, while a thread of each calls everything else.
 *
 *   FORBIDDEN: a peer that lives is found silent; a clock that is the same is found apart by more than the bound.
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
        CHECK(as_keepalive_refused(mine->alive) == 0);
    }
    return NULL;
}

int stress_keepalive(const char *mode, uint64_t rounds) {
    if (strcmp(mode, "pair") != 0) {
        return -1;
    }
    side sides[2];
    int fds[2], events[2];
    struct sockaddr_un names[2];
    uint8_t keys[2][16] = {{1}, {2}};
    each = rounds;
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
        CHECK(sides[i].alive != NULL);
        CHECK(as_keepalive_add(sides[i].alive, other, (const uint8_t *)&names[other], sizeof names[other], keys[i],
                               keys[other]) == AS_OK);
        CHECK(as_keepalive_add(sides[i].alive, 7, (const uint8_t *)&names[other], sizeof names[other], keys[i],
                               keys[other]) == AS_E_ARGUMENT);
        CHECK(as_keepalive_start(sides[i].alive) == AS_OK);
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
