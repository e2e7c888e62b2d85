/*
 * Doorbell: how a process is told that something of its was published. One for each process, in shared control memory,
 * with one eventfd. A bit per channel end; a summary bit per 64 of them.
 *
 *   0    magic u32, bits u32
 *   64   parked u32 (seq_cst): 0 awake, else the number of this sleep
 *   128  summary words: u64[(bits + 4095) / 4096], padded to 64 bytes unless they and the bit words fit into 64
 *   ...  bit words: u64[(bits + 63) / 64]
 *
 * No lost wake-up. Ringer: publishes (seq_cst), sets the bit, then its summary bit (seq_cst; not written when it reads
 * them as set, the bit first), then reads `parked` (seq_cst) and, if it is not 0, writes the eventfd and exchanges that
 * very number for 0. Sleeper: stores its next number in `parked` (seq_cst), re-reads the summary (seq_cst), and sleeps
 * only if it is zero. Collecting clears by exchange, the summary first, before the rings are read.
 *
 * The eventfd is written before `parked` is cleared, so a ringer that is killed in between leaves no sleeper whom others
 * cannot wake; the price is that two ringers may both write. The number keeps a late ringer from clearing the next
 * sleep. What a ringer published but was killed before ringing is found at the next wake-up (the death of a peer must be
 * one: pidfd).
 */
#ifndef ACTORSTREAM_DOORBELL_H
#define ACTORSTREAM_DOORBELL_H
#include "status.h"
/* cffi: begin */
typedef struct as_doorbell as_doorbell;   /* private handle: mapped memory and the eventfd number in this process */
uint64_t as_doorbell_size(uint32_t bits);
int as_doorbell_init(void *memory, uint32_t bits);
/* NULL with errno: EINVAL (no doorbell there, or an eventfd that would block), EBADF, ENOMEM. eventfd -1: spin only. */
as_doorbell *as_doorbell_open(void *memory, int eventfd);
/* Frees the handle once every end of a channel that was opened with it is closed; memory and eventfd are the caller's. */
void as_doorbell_close(as_doorbell *bell);
/* Any thread, any process. */
void as_doorbell_ring(as_doorbell *bell, uint32_t bit);
/* Owner: clears and lists up to `max` set bits; answers how many (call again if it is `max`). */
uint32_t as_doorbell_collect(as_doorbell *bell, uint32_t *out, uint32_t max);
int as_doorbell_pending(const as_doorbell *bell);
/* Owner: spins up to `ns` until something is pending; answers as_doorbell_pending. */
int as_doorbell_spin(as_doorbell *bell, uint64_t ns);
/* Owner: as_doorbell_spin, and then as_doorbell_collect. */
uint32_t as_doorbell_wait(as_doorbell *bell, uint64_t ns, uint32_t *out, uint32_t max);
/* Owner: AS_OK: parked, sleep on the eventfd now. AS_AGAIN: something is pending, not parked. */
int as_doorbell_park(as_doorbell *bell);
/* Owner, after waking: clears parked and drains the eventfd. */
void as_doorbell_unpark(as_doorbell *bell);
/* Owner: looks for up to `ns` whether something is pending or `descriptor` is readable, and gives the core away between two
   looks. AS_OK: the descriptor is readable; AS_AGAIN: something is pending, or the time is over. */
int as_doorbell_look(const as_doorbell *bell, int descriptor, uint64_t ns);
/* cffi: end */
#endif
