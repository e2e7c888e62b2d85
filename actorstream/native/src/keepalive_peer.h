/* One peer of a keepalive: its messages, over datagrams or a stream of its own, and its clock. Private to keepalive.c, whose
   lock guards all of it. */
#ifndef ACTORSTREAM_KEEPALIVE_PEER_H
#define ACTORSTREAM_KEEPALIVE_PEER_H
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "machine.h"
#include "siphash.h"

#define MAGIC 0x766c4153u /* "SAlv" */
#define VERSION 1
#define DRIFT 10000 /* two clocks part by at most one of so many nanoseconds (100 ppm) */
#define KEY_BYTES 16

enum { ALIVE = 1, ECHO = 2, LEFT = 3, END = 4 };

typedef struct message {
    uint32_t magic;
    uint16_t version, kind;
    uint32_t sender, receiver;
    int64_t sent, echoed, at;
    uint64_t tag;
} message;
_Static_assert(sizeof(message) == 48, "keepalive.h draws it so");
#define TAGGED offsetof(message, tag)

typedef struct peer {
    int socket; /* a stream to it alone; -1: datagrams to `address` */
    struct sockaddr_storage address;
    socklen_t length;
    uint32_t number;
    uint8_t key_out[KEY_BYTES], key_in[KEY_BYTES];
    uint8_t in[sizeof(message)], out[sizeof(message)];
    size_t come, left; /* of `in`: bytes that have come; of `out`: bytes that are still to be sent */
    int64_t heard; /* by our clock; 0: never */
    int64_t newest; /* `sent` of its newest message */
    int64_t ahead, error, measured; /* of its clock; `measured` 0: not known */
    int state, is_vital, is_ended; /* AS_PEER_; without it this process ends; it was told to end */
} peer;

static int is_passing(int code) {
    return code == EAGAIN || code == EWOULDBLOCK || code == EINTR || code == ENOBUFS;
}

/* Sends what is left of `out`. Returns 0 if the stream is closed. */
static int push_out(peer *to) {
    ssize_t sent = send(to->socket, to->out + sizeof to->out - to->left, to->left, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0) {
        return is_passing(errno);
    }
    to->left -= (size_t)sent;
    return 1;
}

/* Returns 0 if the stream to the peer is closed. A message that cannot be sent is one that was lost. */
static int send_to(int fd, uint32_t own, peer *to, uint16_t kind) {
    message out = {.magic = MAGIC,
                   .version = VERSION,
                   .kind = kind,
                   .sender = own,
                   .receiver = to->number,
                   .sent = (int64_t)as_now_ns(),
                   .echoed = to->newest,
                   .at = to->newest ? to->heard : 0};
    out.tag = as_siphash(to->key_out, (const uint8_t *)&out, TAGGED);
    if (to->socket < 0) {
        (void)!sendto(fd, &out, sizeof out, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&to->address,
                      to->length);
        return 1;
    }
    if (to->left && !push_out(to)) {
        return 0;
    }
    if (to->left) {
        return 1; /* the stream is full, so the peer has enough to read */
    }
    memcpy(to->out, &out, sizeof out);
    to->left = sizeof out;
    int is_open = push_out(to);
    if (to->left == sizeof out) {
        to->left = 0; /* nothing of it was sent */
    }
    return is_open;
}

/* What the peer's message says of its clock, if it is better than what was known, which gets worse with time. */
static void compare_clocks(peer *from, const message *in, int64_t now) {
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
#endif
