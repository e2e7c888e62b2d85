/*
 * Doorbell: how a process is told that something of its was published. One for each process, in shared control memory,
 * with one eventfd. A bit per channel end; a summary bit per 64 of them.
 *
 *   0    magic u32, bits u32
 *   64   parked u32 (seq_cst)
 *   128  summary words: u64[(bits + 4095) / 4096]
 *   ...  bit words: u64[(bits + 63) / 64]
 *
 * No lost wake-up. Ringer: publishes, sets the bit and its summary bit (seq_cst), then reads `parked` (seq_cst) and, if
 * it exchanges it from 1 to 0, writes the eventfd. Sleeper: stores parked = 1 (seq_cst), re-reads the summary
 * (seq_cst), and sleeps only if it is zero. Collecting clears by exchange, before the rings are read.
 */
#ifndef ACTORSTREAM_DOORBELL_H
#define ACTORSTREAM_DOORBELL_H
#include "status.h"
/* cffi: begin */
typedef struct as_doorbell as_doorbell;   /* private handle: mapped memory and the eventfd number in this process */
uint64_t as_doorbell_size(uint32_t bits);
int as_doorbell_init(void *memory, uint32_t bits);
as_doorbell *as_doorbell_open(void *memory, int eventfd);
void as_doorbell_close(as_doorbell *bell);     /* frees the handle; memory and eventfd are the caller's */
/* Any thread, any process. */
void as_doorbell_ring(as_doorbell *bell, uint32_t bit);
/* Owner: clears and lists up to `max` set bits; answers how many (call again if it is `max`). */
uint32_t as_doorbell_collect(as_doorbell *bell, uint32_t *out, uint32_t max);
int as_doorbell_pending(const as_doorbell *bell);
/* Owner: spins up to `ns` until something is pending; answers as_doorbell_pending. */
int as_doorbell_spin(as_doorbell *bell, uint64_t ns);
/* Owner: AS_OK: parked, sleep on the eventfd now. AS_AGAIN: something is pending, not parked. */
int as_doorbell_park(as_doorbell *bell);
/* Owner, after waking: clears parked and drains the eventfd. */
void as_doorbell_unpark(as_doorbell *bell);
/* cffi: end */
#endif
