/* Telling peers that this process lives, and noting which of them are not heard any more; see keepalive.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../include/keepalive.h"
#include "keepalive_peer.h"

#define AT_ONCE 256 /* messages that are read before peers are told again */

struct as_keepalive {
    pthread_mutex_t lock; /* guards all that follows up to `thread` */
    peer *peers;
    struct pollfd *polled;
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
    alive->polled = calloc((size_t)peers + 2, sizeof *alive->polled);
    alive->stop = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (alive->peers == NULL || alive->polled == NULL || alive->stop < 0 ||
        pthread_mutex_init(&alive->lock, NULL) != 0) {
        int error = alive->peers == NULL || alive->polled == NULL ? ENOMEM : errno;
        if (alive->stop >= 0) {
            close(alive->stop);
        }
        free(alive->polled);
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

/* The peer of this number, made if there is none yet; NULL: there is room for no other one. */
static peer *added(as_keepalive *alive, uint32_t number) {
    peer *found = find(alive, number);
    if (found == NULL && alive->count < alive->most) {
        found = &alive->peers[alive->count++];
        found->number = number;
        found->socket = -1;
        found->state = AS_PEER_UNHEARD;
    }
    return found;
}

int as_keepalive_add(as_keepalive *alive, uint32_t number, const uint8_t *address, uint32_t length,
                     const uint8_t *key_out, const uint8_t *key_in) {
    if (length == 0 || length > sizeof(struct sockaddr_storage) || alive->fd < 0) {
        return AS_E_ARGUMENT;
    }
    pthread_mutex_lock(&alive->lock);
    peer *found = added(alive, number);
    if (found != NULL) {
        memcpy(&found->address, address, length);
        found->length = length;
        memcpy(found->key_out, key_out, KEY_BYTES);
        memcpy(found->key_in, key_in, KEY_BYTES);
    }
    pthread_mutex_unlock(&alive->lock);
    return found == NULL ? AS_E_ARGUMENT : AS_OK;
}

int as_keepalive_join(as_keepalive *alive, uint32_t number, int socket) {
    peer *found = NULL;
    pthread_mutex_lock(&alive->lock);
    if (!alive->is_running && socket >= 0) {
        found = added(alive, number);
    }
    if (found != NULL) {
        found->socket = socket;
    }
    pthread_mutex_unlock(&alive->lock);
    return found == NULL ? AS_E_ARGUMENT : AS_OK;
}

static int is_expected(const peer *each) {
    return each->state == AS_PEER_ALIVE || each->state == AS_PEER_UNHEARD;
}

static void change(as_keepalive *alive, peer *of, int state) {
    uint64_t one = 1;
    of->state = state;
    if (alive->ends == 0 &&
        (state == AS_PEER_ENDS || (of->is_vital && (state == AS_PEER_SILENT || state == AS_PEER_CLOSED)))) {
        alive->ends = (int64_t)as_now_ns();
    }
    (void)!write(alive->event, &one, sizeof one); /* a full counter is news enough */
}

/* Sends the peer a message; a stream that is closed is its end. */
static void tell(as_keepalive *alive, peer *to, uint16_t kind) {
    if (!send_to(alive->fd, alive->own, to, kind) && is_expected(to)) {
        change(alive, to, AS_PEER_CLOSED);
    }
}

/* `over`: whose stream the message came over; NULL: it is a datagram. */
static void take(as_keepalive *alive, const message *in, ssize_t length, peer *over) {
    peer *from = NULL;
    if (length == (ssize_t)sizeof *in && in->magic == MAGIC && in->version == VERSION && in->receiver == alive->own) {
        from = over == NULL || over->number == in->sender ? find(alive, in->sender) : NULL;
    }
    if (from == NULL || (from->socket >= 0) != (over != NULL) ||
        as_siphash(from->key_in, (const uint8_t *)in, TAGGED) != in->tag) {
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
        tell(alive, from, ECHO);
    }
    if (is_expected(from)) {
        int state = in->kind == LEFT ? AS_PEER_LEFT : in->kind == END ? AS_PEER_ENDS : AS_PEER_ALIVE;
        if (state != from->state) {
            change(alive, from, state);
        }
    }
}

static void receive(as_keepalive *alive) {
    for (int left = AT_ONCE; left > 0 && alive->fd >= 0; left--) {
        message in;
        ssize_t length = recv(alive->fd, &in, sizeof in, MSG_DONTWAIT | MSG_TRUNC);
        if (length < 0 && errno != EINTR && errno != ECONNREFUSED) {
            return; /* nothing is left; ECONNREFUSED tells of a peer that is not there, and is no end */
        }
        if (length >= 0) {
            take(alive, &in, length, NULL);
        }
    }
}

/* Bytes that are no message are dropped: who sends nothing else falls silent. */
static void receive_over(as_keepalive *alive, peer *from) {
    for (int left = AT_ONCE; left > 0 && is_expected(from); left--) {
        ssize_t length = recv(from->socket, from->in + from->come, sizeof from->in - from->come, MSG_DONTWAIT);
        if (length < 0 && is_passing(errno)) {
            return;
        }
        if (length <= 0) {
            change(alive, from, AS_PEER_CLOSED);
            return;
        }
        from->come += (size_t)length;
        if (from->come == sizeof from->in) {
            message in;
            memcpy(&in, from->in, sizeof in);
            from->come = 0;
            take(alive, &in, sizeof in, from);
        }
    }
}

static void receive_all(as_keepalive *alive) {
    receive(alive);
    for (uint32_t i = 0; i < alive->count; i++) {
        if (alive->peers[i].socket >= 0) {
            receive_over(alive, &alive->peers[i]);
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
            tell(alive, each, END);
        } else if (is_expected(each)) {
            tell(alive, each, ALIVE);
        }
        if (each->state == AS_PEER_ALIVE && now - since > alive->limit) {
            change(alive, each, AS_PEER_SILENT);
        }
    }
}

/* Fills `polled`; returns how many descriptors it has. */
static nfds_t polled(as_keepalive *alive) {
    nfds_t count = 0;
    alive->polled[count++] = (struct pollfd){.fd = alive->stop, .events = POLLIN};
    alive->polled[count++] = (struct pollfd){.fd = alive->fd, .events = POLLIN};
    for (uint32_t i = 0; i < alive->count; i++) {
        if (alive->peers[i].socket >= 0 && is_expected(&alive->peers[i])) {
            alive->polled[count++] = (struct pollfd){.fd = alive->peers[i].socket, .events = POLLIN};
        }
    }
    return count;
}

static void end_process(const as_keepalive *alive) {
    char line[160];
    int length =
        snprintf(line, sizeof line,
                 "actorstream: worker %u: the run has ended elsewhere, and this process (%ld) did not let go in time; "
                 "it ends\n",
                 alive->own, (long)getpid());
    (void)!write(2, line, (size_t)length);
    _exit(AS_PEER_STATUS);
}

static void *run(void *argument) {
    as_keepalive *alive = argument;
    int64_t next = 0, last = (int64_t)as_now_ns(), awake = last;
    pthread_mutex_lock(&alive->lock);
    while (!alive->stops) {
        receive_all(alive);
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
        int64_t until = alive->ends && alive->ends + alive->grace < next ? alive->ends + alive->grace : next;
        nfds_t count = polled(alive);
        pthread_mutex_unlock(&alive->lock);
        poll(alive->polled, count, (int)((until - now) / 1000000 + 1));
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
        tell(alive, found, END); /* and again with each beat, since a datagram may get lost */
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
                peer *each = &alive->peers[i];
                send_to(alive->fd, alive->own, each, each->is_ended ? END : LEFT);
            }
        }
        pthread_mutex_destroy(&alive->lock);
    }
    close(alive->stop);
    free(alive->polled);
    free(alive->peers);
    free(alive);
}
