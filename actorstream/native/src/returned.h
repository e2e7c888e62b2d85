/* Things that other threads give back, for their owner to take all at once. Any number of threads put, lock-free; one takes.
 * Internal. */
#pragma once
#include <stdatomic.h>
#include <stddef.h>

typedef struct returned {
    struct returned *next;
} returned;

typedef struct {
    _Atomic(returned *) last;
} returned_list;

static inline void returned_put(returned_list *list, returned *own) {
    own->next = atomic_load_explicit(&list->last, memory_order_relaxed);
    /* release; partner: the exchange of returned_take */
    while (!atomic_compare_exchange_weak_explicit(&list->last, &own->next, own, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

/* All that were put, linked by `next`, the last one first; NULL: none was. */
static inline returned *returned_take(returned_list *list) {
    if (atomic_load_explicit(&list->last, memory_order_relaxed) == NULL)
        return NULL;
    /* acquire; partner: returned_put */
    return atomic_exchange_explicit(&list->last, NULL, memory_order_acquire);
}
