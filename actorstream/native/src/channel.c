/* Laying out a channel in shared memory; its ends are producer.c and consumer.c. See channel.h. */
#include "../include/channel.h"

#include <errno.h>
#include <string.h>

#include "ring.h"

static int is_power_of_two(uint32_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

uint64_t as_channel_size(uint32_t slots, uint32_t returns, uint32_t frontiers) {
    uint64_t bytes = ring_entries_at(frontiers) + (uint64_t)slots * sizeof(as_entry) + (uint64_t)returns * 4;
    return (bytes + 127) / 128 * 128;
}

int as_channel_init(void *memory, uint32_t slots, uint32_t returns, uint32_t frontiers, uint64_t plan) {
    return as_channel_init_at(memory, slots, returns, frontiers, plan, 0);
}

int as_channel_init_at(void *memory, uint32_t slots, uint32_t returns, uint32_t frontiers, uint64_t plan,
                       uint64_t start) {
    as_ring *ring = memory;
    if (memory == NULL || (uintptr_t)memory % 128 || !is_power_of_two(slots) || !is_power_of_two(returns) ||
        returns < slots || returns > 1u << LOAN_BITS || frontiers > 1u << 24) {
        return AS_E_ARGUMENT;
    }
    memset(memory, 0, ring_entries_at(frontiers)); /* the rest is read only where it was written */
    ring->version = RING_VERSION;
    ring->slots = slots;
    ring->returns = returns;
    ring->frontiers = frontiers;
    ring->plan = plan;
    atomic_init(&ring->committed, start);
    atomic_init(&ring->loans, start << 32 | (uint32_t)start);
    atomic_init(&ring->consumed, start);
    atomic_init(&ring->returned, start);
    atomic_init(&ring->reaped, start);
    for (uint32_t word = 0; word < frontiers; word++) {
        atomic_init(&ring->frontier[word], INT64_MIN);
    }
    ring->magic = RING_MAGIC;
    return AS_OK;
}

int as_ring_check(const void *memory, uint64_t plan) {
    const as_ring *ring = memory;
    if (memory == NULL || (uintptr_t)memory % 128 || ring->magic != RING_MAGIC || ring->version != RING_VERSION) {
        return EINVAL;
    }
    return ring->plan == plan ? 0 : ESTALE;
}
