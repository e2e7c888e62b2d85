/*
 * A queue of 64-bit entries in the order of their positions: one pusher at a time, any number of takers, who go no
 * further than a limit. The master queue of the hybrid worklist and the whole of the stateless one. Private to src/.
 */
#ifndef AS_POSITIONS_H
#define AS_POSITIONS_H
#include "worklist.h"

/* Entry of the pusher's next position, to be written before as_publish; NULL: full. */
static inline _Atomic uint64_t *as_next_entry(as_worklist *list, _Atomic uint64_t *entries) {
    uint64_t position = atomic_load_explicit(&list->pushed, memory_order_relaxed);
    /* acquire; partner: the release in as_claim, whose reading of this entry lies before it */
    uint64_t taken = atomic_load_explicit(&list->taken, memory_order_acquire);
    return position - taken > list->mask ? NULL : &entries[position & list->mask];
}

static inline void as_publish(as_worklist *list) {
    uint64_t position = atomic_load_explicit(&list->pushed, memory_order_relaxed);
    /* release; partner: the acquire in as_claim: the entry, and what the pusher did before */
    atomic_store_explicit(&list->pushed, position + 1, memory_order_release);
}

/* Claims the first position that nobody has, unless it is the limit or beyond. The entry is read before the claim: the
 * claim succeeds only if nobody had the position by then, and until then the pusher does not write over it. So nobody
 * ever waits for a taker that was suspended half-way. */
static inline int as_claim(as_worklist *list, _Atomic uint64_t *entries, uint64_t limit, uint64_t *entry,
                           uint64_t *position) {
    uint64_t at = atomic_load_explicit(&list->taken, memory_order_relaxed);
    for (;;) {
        /* acquire; partner: the release in as_publish */
        uint64_t end = atomic_load_explicit(&list->pushed, memory_order_acquire);
        if (!as_precedes(at, end) || !as_precedes(at, limit)) {
            return AS_AGAIN;
        }
        uint64_t found = atomic_load_explicit(&entries[at & list->mask], memory_order_relaxed);
        /* release; partner: the acquire in as_next_entry */
        if (atomic_compare_exchange_weak_explicit(&list->taken, &at, at + 1, memory_order_release,
                                                  memory_order_relaxed)) {
            *entry = found;
            *position = at;
            return AS_OK;
        }
    }
}
#endif
