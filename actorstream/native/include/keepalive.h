/*
 * Keepalive: a thread that tells the peers of this process that it lives, and notes when each of them was last heard. It is a
 * thread of its own so that a hook which keeps the process busy for a minute is no death, while a process that is stopped,
 * or a host that is cut off, falls silent. A peer is reached by datagrams over a socket that all of them share, or over a
 * stream of its own. Each message has a tag (SipHash-2-4) under a key for its sender and receiver; others are dropped. The
 * keys of a stream are 0: nobody else can write to it.
 *
 *   0    magic u32, version u16, kind u16, sender u32, receiver u32
 *   16   sent i64: the sender's clock (CLOCK_MONOTONIC, ns); it rises from message to message
 *   24   echoed i64, at i64: `sent` of the receiver's last message, and when that came by the sender's clock; 0: none came
 *   40   tag u64
 *
 * A message of kind ALIVE is answered at once by an ECHO. From the four times of such a pair follows by how much the peer's
 * clock is ahead, and within which bound that is known: half of the time that the pair was under way. LEFT says that the
 * sender ends in order, END that the receiver is to end.
 *
 * If this process was told to end, or a peer is lost without which it cannot go on (`vital`), it exits when the grace has
 * passed, whatever Python does, unless the handle is closed before. A process that was stopped itself has heard nobody
 * meanwhile, so it gives its peers time anew.
 *
 * Every function may be called by any thread, except that open and close are calls of one owner. None waits for the network.
 */
#ifndef ACTORSTREAM_KEEPALIVE_H
#define ACTORSTREAM_KEEPALIVE_H
#include "status.h"
/* cffi: begin */
enum {
    AS_PEER_ALIVE = 0,
    AS_PEER_UNHEARD = 1,
    AS_PEER_SILENT = 2,
    AS_PEER_ENDS = 3,
    AS_PEER_LEFT = 4,
    AS_PEER_CLOSED = 5
};
enum { AS_PEER_STATUS = 137 }; /* of a process that exits without its Python: as if it had been killed, which it has */
typedef struct as_keepalive as_keepalive;
/* `fd`: a bound datagram socket; -1: there is none. `event`, an eventfd, is written when the state of a peer changes. Both
   stay the caller's and must outlive the handle. `limit_ns`: a peer that is not heard for so long is silent. NULL: errno
   says why. */
as_keepalive *as_keepalive_open(int fd, int event, uint32_t own, uint32_t peers, uint64_t every_ns, uint64_t limit_ns,
                                uint64_t grace_ns);
/* Adds a peer, or changes the address of one. `address`: a struct sockaddr; keys of 16 bytes each. */
int as_keepalive_add(as_keepalive *alive, uint32_t peer, const uint8_t *address, uint32_t length,
                     const uint8_t *key_out, const uint8_t *key_in);
/* Adds a peer at the other end of a connected stream, which stays the caller's; before the start only. */
int as_keepalive_join(as_keepalive *alive, uint32_t peer, int socket);
/* Starts the thread. AS_E_SYSTEM: errno says why not. */
int as_keepalive_start(as_keepalive *alive);
/* An AS_PEER_ value: it lives, was never heard, has fallen silent, has told this process to end, is gone in order,
   or its end of the stream has closed. */
int as_keepalive_state(as_keepalive *alive, uint32_t peer);
/* The process cannot go on without this peer. */
void as_keepalive_need(as_keepalive *alive, uint32_t peer);
/* Tells a peer to end. */
void as_keepalive_end(as_keepalive *alive, uint32_t peer);
/* The peer is not expected to be heard any more. */
void as_keepalive_forget(as_keepalive *alive, uint32_t peer);
/* By how much the peer's clock is ahead of this one, and the bound of the error, ns. AS_AGAIN: not known yet. */
int as_keepalive_clock(as_keepalive *alive, uint32_t peer, int64_t *ahead, int64_t *error);
/* Messages that were dropped since they carried no tag of this run. */
uint64_t as_keepalive_refused(as_keepalive *alive);
/* Tells the peers that silence is in order from now on (`leaves`), ends the thread and frees the handle. */
void as_keepalive_close(as_keepalive *alive, int leaves);
/* The tag of `length` bytes under a key of 16 bytes; for tests. */
uint64_t as_keepalive_tag(const uint8_t *key, const uint8_t *data, uint64_t length);
/* cffi: end */
#endif
