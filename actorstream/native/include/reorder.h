/*
 * Puts the outputs of concurrent workers back in the order of their serial numbers (ordered-multicore, section 3).
 * For the threads of ONE process; the caller owns the memory, 64-byte aligned. Between processes: merges of rings.
 *
 * A unit is all that one serial number gave, any number of tuples: one 64-bit reference that the buffer does not look
 * at, or AS_UNIT_NONE for no tuples. Two schemes behind one interface:
 *   AS_REORDER_NON_BLOCKING  figure 4: no caller ever waits for another. One thread at a time is in the exit section and
 *                            sends for all; the others leave their unit and go.
 *   AS_REORDER_LOCK_BASED    figure 2: for comparison. Callers wait for a mutex while another one sends.
 *
 * The exit function is called once for every serial number, in their order, by one thread at a time; what one call did
 * happens before the next. It may send to other buffers, but to this one only under AS_REORDER_NON_BLOCKING. If it
 * answers AS_AGAIN (no credit downstream), the unit stays, the exit section is left, and whoever makes room calls
 * as_reorder_flush afterwards: it is then tried again, by him or by the thread that is still inside.
 *
 * A serial number may be sent while next <= serial < next + capacity (mod 2^64): its slot is free. Room is never lost
 * again, so a thread that takes only numbers below as_reorder_limit never fails to add.
 */
#ifndef ACTORSTREAM_REORDER_H
#define ACTORSTREAM_REORDER_H
#include "status.h"
/* cffi: begin */
enum { AS_REORDER_NON_BLOCKING = 0, AS_REORDER_LOCK_BASED = 1 };
enum { AS_UNIT_NONE = 1 };  /* a unit without tuples; 0 is no unit */
typedef struct as_reorder as_reorder;
typedef int (*as_reorder_exit)(void *context, uint64_t serial, uint64_t unit);  /* AS_OK | AS_AGAIN: keep it */
typedef struct as_reorder_statistics {
    uint64_t next;        /* the serial number that leaves next */
    uint64_t most_units;  /* that one stay in the exit section has sent */
    uint64_t longest_ns;  /* in one as_reorder_send; 0 unless timed */
    uint64_t refused;     /* AS_AGAIN answers of the exit function */
} as_reorder_statistics;

uint64_t as_reorder_size(uint32_t capacity);        /* capacity: a power of two, 1 to 2^24 */
/* next: first serial number. timed: as_reorder_send reads the clock twice, for longest_ns. AS_OK | AS_E_ARGUMENT. */
int as_reorder_init(void *memory, uint32_t scheme, uint32_t capacity, uint64_t next, as_reorder_exit exit,
                    void *context, int timed);
/* All that follows: any thread at any time. Nobody waits for another thread (the lock-based scheme does), and all but the
 * sending is wait-free. Who sends goes on while there is something ready, so its stay is as long as others keep adding. */
uint64_t as_reorder_limit(const as_reorder *buffer);                       /* next + capacity: see above */
int as_reorder_is_free(const as_reorder *buffer, uint64_t serial);         /* 1: may be sent now and from now on */
/* Adds the unit and sends what is ready. AS_OK: it was added. AS_AGAIN: its slot is not free (what is ready was sent
 * all the same). AS_E_ARGUMENT: unit 0. Every serial number once, or the outcome is undefined. */
int as_reorder_send(as_reorder *buffer, uint64_t serial, uint64_t unit);
void as_reorder_flush(as_reorder *buffer);          /* sends what is ready, also what the exit function refused */
/* The two halves of as_reorder_send, to single-step it: the one who adds must flush. */
int as_reorder_add(as_reorder *buffer, uint64_t serial, uint64_t unit);
void as_reorder_send_pending(as_reorder *buffer);
void as_reorder_statistics_read(const as_reorder *buffer, as_reorder_statistics *out);
/* cffi: end */
#endif
