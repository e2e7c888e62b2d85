/*
 * Keepalive: two handles that send each other datagrams over a pair of sockets, while a thread of each calls everything else.
 *
 * In mode "hostile" a third socket sends mutated datagrams to both meanwhile.
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

int stress_keepalive(const char *mode, uint64_t rounds) {
    int hostile = strcmp(mode, "hostile") == 0;
    if (!hostile && strcmp(mode, "pair") != 0) {
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
