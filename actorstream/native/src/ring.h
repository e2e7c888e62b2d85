/* The shared memory of a channel, as drawn in channel.h; private to src/. */
#ifndef ACTORSTREAM_RING_H
#define ACTORSTREAM_RING_H
#include <stdatomic.h>
#include <stddef.h>

#include "../include/channel.h"
#include "shared.h"

enum {
    RING_MAGIC = 0x474e4952, /* "RING" */
    RING_VERSION = 1,
    WISH_CREDIT = 1,
    WISH_RETURNS = 2,
    LOAN_BITS = 20, /* of a loan's number: index in the loan table; above: the producer's epoch */
    LOAN_EPOCHS = 1 << (32 - LOAN_BITS),
};

typedef struct as_ring {
    uint32_t magic;
    uint32_t version;
    uint32_t slots;
    uint32_t returns;
    uint32_t frontiers;
    uint64_t plan;
    _Alignas(64) _Atomic uint64_t committed; /* 64 */
    _Atomic uint64_t loans;
    _Atomic uint32_t producer_epoch;
    _Alignas(64) _Atomic uint64_t consumed; /* 128 */
    _Atomic uint32_t consumer_epoch;
    _Alignas(64) _Atomic uint64_t returned; /* 192 */
    _Alignas(64) _Atomic uint64_t reaped;   /* 256 */
    _Alignas(64) _Atomic uint32_t wish;     /* 320 */
    _Atomic uint32_t consumer_closed;
    _Atomic uint64_t wished;
    _Alignas(64) _Atomic int64_t frontier[]; /* 384 */
} as_ring;
_Static_assert(offsetof(as_ring, plan) == 24 && offsetof(as_ring, committed) == 64 &&
                   offsetof(as_ring, consumed) == 128 && offsetof(as_ring, returned) == 192 &&
                   offsetof(as_ring, reaped) == 256 && offsetof(as_ring, wish) == 320 &&
                   offsetof(as_ring, frontier) == 384,
               "channel.h draws it so");
_Static_assert(sizeof(as_entry) == 128, "an entry is two cache lines");

static inline uint64_t ring_entries_at(uint32_t frontiers) {
    return (sizeof(as_ring) + (uint64_t)frontiers * 8 + 127) / 128 * 128;
}

static inline as_entry *ring_entries(as_ring *ring) {
    return (as_entry *)((uint8_t *)ring + ring_entries_at(ring->frontiers));
}

static inline uint32_t *ring_returns(as_ring *ring) {
    return (uint32_t *)(ring_entries(ring) + ring->slots);
}

/* doorbell.c: another user of the handle, who ends with as_doorbell_close; NULL stays NULL */
as_doorbell *as_doorbell_retain(as_doorbell *bell);
/* doorbell.c: a hint that the caller is about to ring `bit`; NULL is nothing */
void as_doorbell_expect(const as_doorbell *bell, uint32_t bit);
/* channel.c: 0, or the errno that opening an end answers */
int as_ring_check(const void *memory, uint64_t plan);
#endif
