/* Reordering buffers: what does not depend on the scheme; see reorder.h. */
#include "reorder.h"
#include "machine.h"

#define MOST_CAPACITY (1u << 24)

uint64_t as_reorder_size(uint32_t capacity) {
    return sizeof(as_reorder) + (uint64_t)capacity * sizeof(uint64_t);
}

int as_reorder_init(void *memory, uint32_t scheme, uint32_t capacity, uint64_t next, as_reorder_exit exit,
                    void *context, int timed) {
    if (memory == NULL || (uintptr_t)memory % 64 || exit == NULL || capacity == 0 || capacity > MOST_CAPACITY ||
        (capacity & (capacity - 1)) != 0 || scheme > AS_REORDER_LOCK_BASED) {
        return AS_E_ARGUMENT;
    }
    as_reorder *buffer = memory;
    buffer->scheme = scheme == AS_REORDER_LOCK_BASED ? &as_reorder_lock_based : &as_reorder_non_blocking;
    buffer->mask = capacity - 1;
    buffer->exit = exit;
    buffer->context = context;
    buffer->timed = timed;
    atomic_init(&buffer->next, next);
    atomic_init(&buffer->most_units, 0);
    atomic_init(&buffer->refused, 0);
    atomic_init(&buffer->flag, 0);
    atomic_init(&buffer->longest_ns, 0);
    for (uint32_t i = 0; i < capacity; i++) {
        atomic_init(&buffer->slots[i], NO_UNIT);
    }
    return AS_OK;
}

uint64_t as_reorder_limit(const as_reorder *buffer) {
    /* acquire; partner: the release store in as_reorder_drain. An old value is only too low. */
    return atomic_load_explicit(&buffer->next, memory_order_acquire) + buffer->mask + 1;
}

int as_reorder_is_free(const as_reorder *buffer, uint64_t serial) {
    return serial - atomic_load_explicit(&buffer->next, memory_order_acquire) <= buffer->mask;
}

int as_reorder_send(as_reorder *buffer, uint64_t serial, uint64_t unit) {
    if (unit == NO_UNIT) {
        return AS_E_ARGUMENT;
    }
    if (!buffer->timed) {
        return buffer->scheme->send(buffer, serial, unit);
    }
    uint64_t begun = as_now_ns();
    int outcome = buffer->scheme->send(buffer, serial, unit);
    uint64_t took = as_now_ns() - begun;
    uint64_t longest = atomic_load_explicit(&buffer->longest_ns, memory_order_relaxed);
    while (took > longest && !atomic_compare_exchange_weak_explicit(&buffer->longest_ns, &longest, took,
                                                                    memory_order_relaxed, memory_order_relaxed)) {
    }
    return outcome;
}

void as_reorder_flush(as_reorder *buffer) {
    buffer->scheme->flush(buffer);
}

int as_reorder_add(as_reorder *buffer, uint64_t serial, uint64_t unit) {
    return unit == NO_UNIT ? AS_E_ARGUMENT : buffer->scheme->add(buffer, serial, unit);
}

void as_reorder_send_pending(as_reorder *buffer) {
    buffer->scheme->pending(buffer);
}

void as_reorder_statistics_read(const as_reorder *buffer, as_reorder_statistics *out) {
    out->next = atomic_load_explicit(&buffer->next, memory_order_relaxed);
    out->most_units = atomic_load_explicit(&buffer->most_units, memory_order_relaxed);
    out->longest_ns = atomic_load_explicit(&buffer->longest_ns, memory_order_relaxed);
    out->refused = atomic_load_explicit(&buffer->refused, memory_order_relaxed);
}
