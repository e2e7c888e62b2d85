/* See pulse.h. The thread owns `heard_ns`; `state` and `wanted` are atomics between it and whoever calls. */
#define _GNU_SOURCE
#include "pulse.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ALIVE = 'a', LEAVING = 'l', END = 'e' };
enum { WATCHED = 0, FORGOTTEN = 100 };

typedef struct {
    int socket;
    int is_stream;
    int is_vital;
    uint64_t heard_ns;
    _Atomic int state; /* WATCHED, FORGOTTEN or an AS_PULSE_ value: the thread stores (release), as_pulse_state loads
                            (acquire); as_pulse_forget exchanges WATCHED for FORGOTTEN */
    _Atomic int is_told; /* as_pulse_end stores (release), the thread exchanges (acquire) */
} peer;

struct as_pulse {
    uint32_t count;
    int news, wake;
    uint64_t every_ns, limit_ns, grace_ns;
    _Atomic int is_over; /* as_pulse_close stores (release), the thread loads (acquire) */
    pthread_t thread;
    struct pollfd *polled;
    peer peers[];
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void write_event(int fd) {
    uint64_t one = 1;
    ssize_t written = write(fd, &one, sizeof one); /* a full counter is news enough */
    (void)written;
}

static int is_expected(peer *each) {
    return atomic_load_explicit(&each->state, memory_order_acquire) == WATCHED;
}

/* Returns whether the peer was watched until now. */
static int settle(as_pulse *pulse, peer *each, int state) {
    int watched = WATCHED;
    if (!atomic_compare_exchange_strong_explicit(&each->state, &watched, state, memory_order_acq_rel,
                                                 memory_order_acquire))
        return 0;
    if (state != FORGOTTEN)
        write_event(pulse->news);
    return 1;
}

static int is_passing(int code) {
    return code == EAGAIN || code == EWOULDBLOCK || code == EINTR || code == ENOBUFS;
}

/* Returns what is to become of the peer: WATCHED, FORGOTTEN, AS_PULSE_CLOSED or AS_PULSE_END. */
static int take_in(peer *each, uint64_t now) {
    char bytes[256];
    for (;;) {
        ssize_t count = recv(each->socket, bytes, sizeof bytes, MSG_DONTWAIT);
        if (count < 0)
            return is_passing(errno) ? WATCHED : AS_PULSE_CLOSED;
        if (count == 0 && each->is_stream)
            return AS_PULSE_CLOSED;
        each->heard_ns = now;
        for (ssize_t i = 0; i < count; i++) {
            if (bytes[i] == LEAVING)
                return FORGOTTEN;
            if (bytes[i] == END)
                return AS_PULSE_END;
        }
    }
}

static int put(peer *each, char byte) {
    ssize_t sent = send(each->socket, &byte, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 && !is_passing(errno) ? AS_PULSE_CLOSED : WATCHED;
}

/* Returns whether this process has to end because of the peer. */
static int look_at(as_pulse *pulse, uint32_t number, uint64_t now, int is_due) {
    peer *each = &pulse->peers[number];
    int ends = 0;
    if (atomic_exchange_explicit(&each->is_told, 0, memory_order_acq_rel))
        put(each, END);
    if (is_expected(each)) {
        int found = take_in(each, now);
        if (found == WATCHED && is_due)
            found = put(each, ALIVE);
        if (found == WATCHED && now - each->heard_ns > pulse->limit_ns)
            found = AS_PULSE_SILENT;
        if (found != WATCHED && settle(pulse, each, found))
            ends = found == AS_PULSE_END || (found != FORGOTTEN && each->is_vital);
    }
    pulse->polled[number].fd = is_expected(each) ? each->socket : -1;
    return ends;
}

static void *beat(void *argument) {
    as_pulse *pulse = argument;
    uint64_t due = 0, deadline = 0, last = now_ns();
    while (!atomic_load_explicit(&pulse->is_over, memory_order_acquire)) {
        uint64_t now = now_ns();
        if (now - last > 2 * pulse->every_ns)
            for (uint32_t i = 0; i < pulse->count; i++)
                pulse->peers[i].heard_ns += now - last;
        last = now;
        int is_due = now >= due;
        if (is_due)
            due = now + pulse->every_ns;
        for (uint32_t i = 0; i < pulse->count; i++)
            if (look_at(pulse, i, now, is_due) && deadline == 0)
                deadline = now + pulse->grace_ns;
        if (deadline != 0 && now >= deadline)
            _exit(AS_PULSE_STATUS);
        uint64_t until = deadline != 0 && deadline < due ? deadline : due;
        int wait_ms = (int)((until - now) / 1000000u) + 1;
        if (poll(pulse->polled, pulse->count + 1, wait_ms) > 0 && pulse->polled[pulse->count].revents) {
            uint64_t value;
            ssize_t taken = read(pulse->wake, &value, sizeof value);
            (void)taken;
        }
    }
    return NULL;
}

static int is_stream(int fd, int *found) {
    int type = 0;
    socklen_t size = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0)
        return -1;
    *found = type != SOCK_DGRAM;
    return 0;
}

static int started(as_pulse *pulse) {
    sigset_t all, before;
    sigfillset(&all); /* signals are for Python's main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&pulse->thread, NULL, beat, pulse);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

as_pulse *as_pulse_open(const int *sockets, const uint8_t *vital, uint32_t peers, int eventfd_, uint64_t every_ns,
                        uint64_t limit_ns, uint64_t grace_ns) {
    if (every_ns == 0 || limit_ns <= every_ns) {
        errno = EINVAL;
        return NULL;
    }
    as_pulse *pulse = calloc(1, sizeof *pulse + peers * sizeof(peer));
    struct pollfd *polled = calloc((size_t)peers + 1, sizeof *polled);
    int wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), code = errno;
    if (pulse == NULL || polled == NULL || wake < 0)
        goto failed;
    pulse->count = peers;
    pulse->news = eventfd_;
    pulse->wake = wake;
    pulse->every_ns = every_ns;
    pulse->limit_ns = limit_ns;
    pulse->grace_ns = grace_ns;
    pulse->polled = polled;
    uint64_t now = now_ns();
    for (uint32_t i = 0; i < peers; i++) {
        pulse->peers[i].socket = sockets[i];
        pulse->peers[i].is_vital = vital[i];
        pulse->peers[i].heard_ns = now;
        polled[i] = (struct pollfd){.fd = sockets[i], .events = POLLIN};
        code = EINVAL;
        if (is_stream(sockets[i], &pulse->peers[i].is_stream) != 0)
            goto failed;
    }
    polled[peers] = (struct pollfd){.fd = wake, .events = POLLIN};
    code = started(pulse);
    if (code == 0)
        return pulse;
failed:
    if (wake >= 0)
        close(wake);
    free(polled);
    free(pulse);
    errno = code;
    return NULL;
}

int as_pulse_state(const as_pulse *pulse, uint32_t peer_) {
    int state = atomic_load_explicit(&pulse->peers[peer_].state, memory_order_acquire);
    return state == FORGOTTEN ? 0 : state;
}

void as_pulse_end(as_pulse *pulse, uint32_t peer_) {
    atomic_store_explicit(&pulse->peers[peer_].is_told, 1, memory_order_release);
    write_event(pulse->wake);
}

void as_pulse_forget(as_pulse *pulse, uint32_t peer_) {
    settle(pulse, &pulse->peers[peer_], FORGOTTEN);
}

void as_pulse_close(as_pulse *pulse) {
    atomic_store_explicit(&pulse->is_over, 1, memory_order_release);
    write_event(pulse->wake);
    pthread_join(pulse->thread, NULL);
    for (uint32_t i = 0; i < pulse->count; i++) {
        peer *each = &pulse->peers[i];
        if (atomic_load_explicit(&each->is_told, memory_order_acquire))
            put(each, END);
        else if (is_expected(each))
            put(each, LEAVING);
    }
    close(pulse->wake);
    free(pulse->polled);
    free(pulse);
}
