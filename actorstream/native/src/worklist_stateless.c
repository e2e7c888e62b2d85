/* The shared worklist of a stateless operator: items in order to whoever asks, nothing to finish. */
#include "positions.h"

static _Atomic uint64_t *entries(const as_worklist *list) {
    return (_Atomic uint64_t *)list->body;
}

static uint64_t size(uint32_t capacity, uint32_t partitions) {
    (void)partitions;
    return (uint64_t)capacity * sizeof(uint64_t);
}

static void init(as_worklist *list) {
    for (uint32_t i = 0; i < list->capacity; i++) {
        atomic_init(&entries(list)[i], 0);
    }
}

static int push(as_worklist *list, uint64_t item, uint32_t partition) {
    (void)partition;
    _Atomic uint64_t *entry = as_next_entry(list, entries(list));
    if (entry == NULL) {
        return AS_AGAIN;
    }
    atomic_store_explicit(entry, item, memory_order_relaxed);
    as_publish(list);
    return AS_OK;
}

static int pop(as_worklist *list, uint32_t worker, uint64_t limit, as_work *out) {
    (void)worker;
    out->partition = 0;
    return as_claim(list, entries(list), limit, &out->item, &out->serial);
}

static int done(as_worklist *list, uint64_t limit, as_work *work) {
    (void)list, (void)limit, (void)work;
    return AS_AGAIN;
}

static uint64_t removed(const as_worklist *list) {
    return atomic_load_explicit(&list->taken, memory_order_relaxed);
}

const as_worklist_kind as_worklist_stateless = {size, init, push, pop, done, removed, as_claimable};
