/*
 * Pulse: how processes on several hosts know of each other that they live. A thread of C sends a byte over each watched
 * socket every so often and reads what comes, so it goes on while Python holds its interpreter lock for a minute. A peer is
 * lost when its end closes, or when nothing has come from it for the limit: its process was killed or stopped, its host died,
 * or the network between was cut.
 *
 * A byte says ALIVE, LEAVING (the peer ends in order; its silence means nothing from now on) or END (this process is to end).
 * If this process was told to end, or a peer is lost without which it cannot go on (`vital`), then the process exits when the
 * grace has passed, whatever Python does, unless the pulse is closed before.
 *
 * A process that was stopped itself has heard nobody meanwhile. So time in which the thread did not run does not count.
 */
#ifndef ACTORSTREAM_PULSE_H
#define ACTORSTREAM_PULSE_H
#include "status.h"
/* cffi: begin */
enum { AS_PULSE_CLOSED = 1, AS_PULSE_SILENT = 2, AS_PULSE_END = 3 };
enum { AS_PULSE_STATUS = 137 }; /* of such an exit: as if it had been killed, which it has */
typedef struct as_pulse as_pulse;
/* `sockets`: connected, of streams or datagrams; they stay the caller's and outlive the pulse. `vital[i]`: whether the loss
   of peer i ends this process. `eventfd` is written when there is news. NULL with errno: EINVAL, ENOMEM, EAGAIN (no thread). */
as_pulse *as_pulse_open(const int *sockets, const uint8_t *vital, uint32_t peers, int eventfd, uint64_t every_ns,
                        uint64_t limit_ns, uint64_t grace_ns);
/* Any thread: what has become of peer i: 0 (it lives, or has left), AS_PULSE_CLOSED, AS_PULSE_SILENT, or AS_PULSE_END (it
   told this process to end). Lock-free. */
int as_pulse_state(const as_pulse *pulse, uint32_t peer);
/* Any thread: peer i is told to end. It takes effect at once. Lock-free. */
void as_pulse_end(as_pulse *pulse, uint32_t peer);
/* Any thread: nothing more is expected of peer i. Lock-free. */
void as_pulse_forget(as_pulse *pulse, uint32_t peer);
/* One thread: tells all peers that this process leaves in order, ends the thread and frees the pulse. */
void as_pulse_close(as_pulse *pulse);
/* cffi: end */
#endif
