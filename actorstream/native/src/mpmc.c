/* Bounded MPMC ring after Dmitry Vyukov; see mpmc.h. Indices and sequence numbers wrap around freely. */
#include "mpmc.h"

#include <stdatomic.h>
#include <stddef.h>

typedef struct slot {
    _Atomic uint64_t sequence; /* position p: free for the push of p; p + 1: holds the item of p */
    uint64_t item;
} slot;

struct as_mpmc {
    uint64_t mask;
    _Alignas(64) _Atomic uint64_t pushed;
    _Alignas(64) _Atomic uint64_t popped;
    _Alignas(64) slot slots[];
};

static int is_power_of_two(uint32_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

uint64_t as_mpmc_size(uint32_t slots) {
    return sizeof(as_mpmc) + (uint64_t)slots * sizeof(slot);
}

int as_mpmc_init(void *memory, uint32_t slots, uint64_t start) {
    as_mpmc *ring = memory;
    if (memory == NULL || (uintptr_t)memory % 64 || !is_power_of_two(slots) || slots < 2) {
        return AS_E_ARGUMENT;
    }
    ring->mask = slots - 1;
    atomic_init(&ring->pushed, start);
    atomic_init(&ring->popped, start);
    for (uint64_t position = start; position != start + slots; position++) {
        atomic_init(&ring->slots[position & ring->mask].sequence, position);
    }
    return AS_OK;
}

int as_mpmc_push(as_mpmc *ring, uint64_t item) {
    uint64_t position = atomic_load_explicit(&ring->pushed, memory_order_relaxed);
    for (;;) {
        slot *place = &ring->slots[position & ring->mask];
        /* acquire; partner: the release at the end of as_mpmc_pop, which has read the item */
        uint64_t sequence = atomic_load_explicit(&place->sequence, memory_order_acquire);
        int64_t ahead = (int64_t)(sequence - position);
        if (ahead < 0) {
            return AS_AGAIN;
        }
        if (ahead > 0) {
            position = atomic_load_explicit(&ring->pushed, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(&ring->pushed, &position, position + 1, memory_order_relaxed,
                                                         memory_order_relaxed)) {
            place->item = item;
            /* release; partner: the acquire in as_mpmc_pop */
            atomic_store_explicit(&place->sequence, position + 1, memory_order_release);
            return AS_OK;
        }
    }
}

int as_mpmc_pop(as_mpmc *ring, uint64_t *item) {
    uint64_t position = atomic_load_explicit(&ring->popped, memory_order_relaxed);
    for (;;) {
        slot *place = &ring->slots[position & ring->mask];
        /* acquire; partner: the release at the end of as_mpmc_push */
        uint64_t sequence = atomic_load_explicit(&place->sequence, memory_order_acquire);
        int64_t ahead = (int64_t)(sequence - (position + 1));
        if (ahead < 0) {
            return AS_AGAIN;
        }
        if (ahead > 0) {
            position = atomic_load_explicit(&ring->popped, memory_order_relaxed);
        } else if (atomic_compare_exchange_weak_explicit(&ring->popped, &position, position + 1, memory_order_relaxed,
                                                         memory_order_relaxed)) {
            *item = place->item;
            /* release; partner: the acquire in as_mpmc_push */
            atomic_store_explicit(&place->sequence, position + ring->mask + 1, memory_order_release);
            return AS_OK;
        }
    }
}

uint64_t as_mpmc_count(const as_mpmc *ring) {
    uint64_t popped = atomic_load_explicit(&ring->popped, memory_order_relaxed);
    uint64_t pushed = atomic_load_explicit(&ring->pushed, memory_order_relaxed);
    uint64_t count = pushed - popped;
    return (int64_t)count < 0 ? 0 : count > ring->mask + 1 ? ring->mask + 1 : count;
}
