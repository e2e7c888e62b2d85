/* What a reordering buffer is made of, and the body of the exit section, which both schemes share. Private to src/. */
#ifndef AS_REORDER_PRIVATE_H
#define AS_REORDER_PRIVATE_H
#include <stdatomic.h>
#include <stddef.h>

#include "../include/reorder.h"

#define NO_UNIT 0u /* the paper's EMPTY */

typedef struct as_reorder_scheme {
    int (*add)(as_reorder *buffer, uint64_t serial, uint64_t unit);
    void (*pending)(as_reorder *buffer);
    void (*flush)(as_reorder *buffer);
    int (*send)(as_reorder *buffer, uint64_t serial, uint64_t unit);
} as_reorder_scheme;

struct as_reorder {
    const as_reorder_scheme *scheme;
    uint64_t mask;
    as_reorder_exit exit;
    void *context;
    int timed;
    /* Written in the exit section only. Its release is at the end of as_reorder_drain's turn. */
    _Alignas(64) _Atomic uint64_t next;
    _Atomic uint64_t most_units;
    _Atomic uint64_t refused;
    _Alignas(64) _Atomic uint32_t flag; /* who is in the exit section: reorder_flag.c, reorder_lock.c */
    _Alignas(64) _Atomic uint64_t longest_ns;
    _Alignas(64) _Atomic uint64_t slots[];
};

extern const as_reorder_scheme as_reorder_non_blocking, as_reorder_lock_based;

/* Stores the unit if its slot is free. */
static inline int as_reorder_try_add(as_reorder *buffer, uint64_t serial, uint64_t unit) {
    /* acquire; partner: the release store of next in as_reorder_drain, which emptied this slot before. So that store of
     * NO_UNIT precedes ours in the slot's modification order and cannot overwrite it. */
    uint64_t next = atomic_load_explicit(&buffer->next, memory_order_acquire);
    if (serial - next > buffer->mask) {
        return AS_AGAIN; /* above the window, or (the difference wraps around) below it */
    }
    /* release; partners: the acquire loads of the slot in as_reorder_drain and in the re-check after it. They make what
     * the unit refers to visible. That the re-check sees this store at all is the exchange's doing: reorder_flag.c. */
    atomic_store_explicit(&buffer->slots[serial & buffer->mask], unit, memory_order_release);
    return AS_OK;
}

/* Sends while the next unit is there; only for the one who is in the exit section. AS_OK: the next one is missing.
 * AS_AGAIN: the exit function refused it. */
static inline int as_reorder_drain(as_reorder *buffer) {
    /* relaxed: only the exit section writes it, and entering that section acquired what its last owner released */
    uint64_t first = atomic_load_explicit(&buffer->next, memory_order_relaxed), next = first;
    int outcome = AS_OK;
    for (;; next++) {
        _Atomic uint64_t *slot = &buffer->slots[next & buffer->mask];
        /* acquire; partner: the release store in as_reorder_try_add */
        uint64_t unit = atomic_load_explicit(slot, memory_order_acquire);
        if (unit == NO_UNIT) {
            break;
        }
        outcome = buffer->exit(buffer->context, next, unit);
        if (outcome != AS_OK) {
            atomic_fetch_add_explicit(&buffer->refused, 1, memory_order_relaxed);
            break;
        }
        atomic_store_explicit(slot, NO_UNIT, memory_order_relaxed); /* ordered by the next line */
        /* release; partner: the acquire load of next in as_reorder_try_add */
        atomic_store_explicit(&buffer->next, next + 1, memory_order_release);
    }
    if (next - first > atomic_load_explicit(&buffer->most_units, memory_order_relaxed)) {
        atomic_store_explicit(&buffer->most_units, next - first, memory_order_relaxed);
    }
    return outcome;
}
#endif
