/* Telling peers that this process lives, and noting which of them are not heard any more; see keepalive.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../include/keepalive.h"
#include "machine.h"
#include "siphash.h"

#define MAGIC 0x766c4153u /* "SAlv" */
#define VERSION 1
#define AT_ONCE 256    /* datagrams that are read before peers are told again */
#define DRIFT 10000    /* two clocks part by at most one of so many nanoseconds (100 ppm) */
#define KEY_BYTES 16

enum { ALIVE = 1, ECHO = 2, LEFT = 3, END = 4 };

typedef struct datagram {
    uint32_t magic;
    uint16_t version, kind;
    uint32_t sender, receiver;
    int64_t sent, echoed, at;
    uint64_t tag;
} datagram;
_Static_assert(sizeof(datagram) == 48, "keepalive.h draws it so");
#define TAGGED offsetof(datagram, tag)

typedef struct peer {
    struct sockaddr_storage address;
    socklen_t length;
    uint32_t number;
    uint8_t key_out[KEY_BYTES], key_in[KEY_BYTES];
    int64_t heard;    /* by our clock; 0: never */
    int64_t newest;   /* `sent` of its newest datagram */
    int64_t ahead, error, measured; /* of its clock; `measured` 0: not known */
    int state, is_vital, is_ended; /* AS_PEER_; without it this process ends; it was told to end */
} peer;

struct as_keepalive {
    pthread_mutex_t lock; /* guards all that follows up to `thread` */
    peer *peers;
    uint32_t count, most;
    uint64_t refused;
    int64_t ends; /* since when this process is to end; 0: it is not */
    int stops;
    pthread_t thread;
    int is_running;
    pid_t process;
    int fd, event, stop;
    uint32_t own;
    int64_t every, limit, grace;
};

uint64_t as_keepalive_tag(const uint8_t *key, const uint8_t *data, uint64_t length) {
    return as_siphash(key, data, (size_t)length);
}

as_keepalive *as_keepalive_open(int fd, int event, uint32_t own, uint32_t peers, uint64_t every_ns, uint64_t limit_ns,
                                uint64_t grace_ns) {
    if (every_ns == 0 || limit_ns < every_ns) {
        errno = EINVAL;
        return NULL;
    }
    as_keepalive *alive = calloc(1, sizeof *alive);
    if (alive == NULL) {
        return NULL;
    }
    alive->peers = calloc(peers ? peers : 1, sizeof *alive->peers);
    alive->stop = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (alive->peers == NULL || alive->stop < 0 || pthread_mutex_init(&alive->lock, NULL) != 0) {
        int error = alive->peers == NULL ? ENOMEM : errno;
        if (alive->stop >= 0) {
            close(alive->stop);
        }
        free(alive->peers);
        free(alive);
        errno = error;
        return NULL;
    }
    alive->most = peers;
    alive->process = getpid();
    alive->fd = fd;
    alive->event = event;
    alive->own = own;
    alive->every = (int64_t)every_ns;
    alive->limit = (int64_t)limit_ns;
    alive->grace = (int64_t)grace_ns;
    return alive;
}

static peer *find(as_keepalive *alive, uint32_t number) {
    for (uint32_t i = 0; i < alive->count; i++) {
        if (alive->peers[i].number == number) {
            return &alive->peers[i];
        }
    }
    return NULL;
}

int as_keepalive_add(as_keepalive *alive, uint32_t number, const uint8_t *address, uint32_t length,
                     const uint8_t *key_out, const uint8_t *key_in) {
    int status = AS_OK;
    if (length == 0 || length > sizeof(struct sockaddr_storage)) {
        return AS_E_ARGUMENT;
    }
    pthread_mutex_lock(&alive->lock);
    peer *found = find(alive, number);
    if (found == NULL && alive->count < alive->most) {
        found = &alive->peers[alive->count++];
        found->number = number;
        found->state = AS_PEER_UNHEARD;
    }
    if (found == NULL) {
        status = AS_E_ARGUMENT;
    } else {
        memcpy(&found->address, address, length);
        found->length = length;
        memcpy(found->key_out, key_out, KEY_BYTES);
        memcpy(found->key_in, key_in, KEY_BYTES);
    }
    pthread_mutex_unlock(&alive->lock);
    return status;
}

static void send_to(const as_keepalive *alive, const peer *to, uint16_t kind) {
    datagram out = {.magic = MAGIC,
                    .version = VERSION,
                    .kind = kind,
                    .sender = alive->own,
                    .receiver = to->number,
                    .sent = (int64_t)as_now_ns(),
                    .echoed = to->newest,
                    .at = to->newest ? to->heard : 0};
    out.tag = as_siphash(to->key_out, (const uint8_t *)&out, TAGGED);
    /* a datagram that cannot be sent is one that was lost */
    (void)!sendto(alive->fd, &out, sizeof out, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&to->address,
                  to->length);
}

/* What the peer's datagram says of its clock, if it is better than what was known, which gets worse with time. */
static void compare_clocks(peer *from, const datagram *in, int64_t now) {
    int64_t under_way = (now - in->echoed) - (in->sent - in->at);
    if (in->echoed == 0 || in->echoed > now || in->sent < in->at || under_way < 0) {
        return;
    }
    int64_t error = under_way / 2 + 1 + (in->sent - in->at) / DRIFT;
    if (from->measured == 0 || error <= from->error + (now - from->measured) / DRIFT) {
        from->ahead = (in->at - in->echoed) / 2 + (in->sent - now) / 2;
        from->error = error;
        from->measured = now;
    }
}

static int is_expected(const peer *each) {
    return each->state == AS_PEER_ALIVE || each->state == AS_PEER_UNHEARD;
}

static void change(as_keepalive *alive, peer *of, int state) {
    uint64_t one = 1;
    of->state = state;
    if (alive->ends == 0 && (state == AS_PEER_ENDS || (state == AS_PEER_SILENT && of->is_vital))) {
        alive->ends = (int64_t)as_now_ns();
    }
    (void)!write(alive->event, &one, sizeof one); /* a full counter is news enough */
}

static void take(as_keepalive *alive, const datagram *in, ssize_t length) {
    peer *from = NULL;
    if (length == (ssize_t)sizeof *in && in->magic == MAGIC && in->version == VERSION && in->receiver == alive->own) {
        from = find(alive, in->sender);
    }
    if (from == NULL || as_siphash(from->key_in, (const uint8_t *)in, TAGGED) != in->tag) {
        alive->refused++;
        return;
    }
    if (in->sent <= from->newest) {
        return; /* it was overtaken, or somebody repeats it */
    }
    int64_t now = (int64_t)as_now_ns();
    compare_clocks(from, in, now);
    from->newest = in->sent;
    from->heard = now;
    if (in->kind == ALIVE) {
        send_to(alive, from, ECHO);
    }
    if (is_expected(from)) {
        int state = in->kind == LEFT ? AS_PEER_LEFT : in->kind == END ? AS_PEER_ENDS : AS_PEER_ALIVE;
        if (state != from->state) {
            change(alive, from, state);
        }
    }
}

static void receive(as_keepalive *alive) {
    for (int left = AT_ONCE; left > 0; left--) {
        datagram in;
        ssize_t length = recv(alive->fd, &in, sizeof in, MSG_DONTWAIT | MSG_TRUNC);
        if (length < 0 && errno != EINTR && errno != ECONNREFUSED) {
            return; /* nothing is left; ECONNREFUSED tells of a peer that is not there, and is no end */
        }
        if (length >= 0) {
            take(alive, &in, length);
        }
    }
}

/* Tells every peer that this process lives, and finds who has fallen silent. `awake`: since when this process runs without a
   pause of its own. */
static void beat(as_keepalive *alive, int64_t now, int64_t awake) {
    for (uint32_t i = 0; i < alive->count; i++) {
        peer *each = &alive->peers[i];
        int64_t since = each->heard > awake ? each->heard : awake;
        if (each->is_ended) {
            send_to(alive, each, END);
        } else if (is_expected(each)) {
            send_to(alive, each, ALIVE);
        }
        if (each->state == AS_PEER_ALIVE && now - since > alive->limit) {
            change(alive, each, AS_PEER_SILENT);
        }
    }
}

static void end_process(const as_keepalive *alive) {
    char line[160];
    int length =
        snprintf(line, sizeof line,
                 "actorstream: worker %u: the run has ended elsewhere, and this process (%ld) did not let go in time; "
                 "it ends\n",
                 alive->own, (long)getpid());
    (void)!write(2, line, (size_t)length);
    _exit(1);
}

static void *run(void *argument) {
    as_keepalive *alive = argument;
    struct pollfd wanted[2] = {{.fd = alive->fd, .events = POLLIN}, {.fd = alive->stop, .events = POLLIN}};
    int64_t next = 0, last = (int64_t)as_now_ns(), awake = last;
    pthread_mutex_lock(&alive->lock);
    while (!alive->stops) {
        receive(alive);
        int64_t now = (int64_t)as_now_ns();
        if (now - last > alive->limit / 2) {
            awake = now;
        }
        last = now;
        if (alive->ends && now - alive->ends >= alive->grace) {
            end_process(alive);
        }
        if (now >= next) {
            beat(alive, now, awake);
            next = now + alive->every;
        }
        pthread_mutex_unlock(&alive->lock);
        int64_t wait = next - now;
        poll(wanted, 2, (int)(wait / 1000000 + 1));
        pthread_mutex_lock(&alive->lock);
    }
    pthread_mutex_unlock(&alive->lock);
    return NULL;
}

int as_keepalive_start(as_keepalive *alive) {
    sigset_t all, before;
    sigfillset(&all); /* signals are the main thread's */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&alive->thread, NULL, run, alive);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        errno = error;
        return AS_E_SYSTEM;
    }
    pthread_setname_np(alive->thread, "as-keepalive");
    alive->is_running = 1;
    return AS_OK;
}

int as_keepalive_state(as_keepalive *alive, uint32_t number) {
    pthread_mutex_lock(&alive->lock);
    const peer *found = find(alive, number);
    int state = found == NULL ? AS_PEER_UNHEARD : found->state;
    pthread_mutex_unlock(&alive->lock);
    return state;
}

int as_keepalive_clock(as_keepalive *alive, uint32_t number, int64_t *ahead, int64_t *error) {
    pthread_mutex_lock(&alive->lock);
    const peer *found = find(alive, number);
    int status = found == NULL || found->measured == 0 ? AS_AGAIN : AS_OK;
    if (status == AS_OK) {
        *ahead = found->ahead;
        *error = found->error + ((int64_t)as_now_ns() - found->measured) / DRIFT;
    }
    pthread_mutex_unlock(&alive->lock);
    return status;
}

void as_keepalive_need(as_keepalive *alive, uint32_t number) {
    pthread_mutex_lock(&alive->lock);
    peer *found = find(alive, number);
    if (found != NULL) {
        found->is_vital = 1;
    }
    pthread_mutex_unlock(&alive->lock);
}

void as_keepalive_end(as_keepalive *alive, uint32_t number) {
    pthread_mutex_lock(&alive->lock);
    peer *found = find(alive, number);
    if (found != NULL) {
        found->is_ended = 1;
        send_to(alive, found, END); /* and again with each beat, since a datagram may get lost */
    }
    pthread_mutex_unlock(&alive->lock);
}

void as_keepalive_forget(as_keepalive *alive, uint32_t number) {
    pthread_mutex_lock(&alive->lock);
    peer *found = find(alive, number);
    if (found != NULL && is_expected(found)) {
        found->state = AS_PEER_LEFT;
    }
    pthread_mutex_unlock(&alive->lock);
}

uint64_t as_keepalive_refused(as_keepalive *alive) {
    pthread_mutex_lock(&alive->lock);
    uint64_t refused = alive->refused;
    pthread_mutex_unlock(&alive->lock);
    return refused;
}

void as_keepalive_close(as_keepalive *alive, int leaves) {
    if (alive == NULL) {
        return;
    }
    if (alive->process == getpid()) { /* the thread is not there in a fork, which may have copied a lock that is held */
        if (alive->is_running) {
            uint64_t one = 1;
            pthread_mutex_lock(&alive->lock);
            alive->stops = 1;
            pthread_mutex_unlock(&alive->lock);
            (void)!write(alive->stop, &one, sizeof one);
            pthread_join(alive->thread, NULL);
        }
        for (int again = 0; leaves && again < 3; again++) { /* a datagram may get lost */
            for (uint32_t i = 0; i < alive->count; i++) {
                send_to(alive, &alive->peers[i], alive->peers[i].is_ended ? END : LEFT);
            }
        }
        pthread_mutex_destroy(&alive->lock);
    }
    close(alive->stop);
    free(alive->peers);
    free(alive);
}
