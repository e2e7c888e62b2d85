/* Section 4.2: no master queue. A worker owns a partition queue until it is empty or its first item has reached the limit;
 * then it looks for another one, from its own on. */
#include "partition_queues.h"

static partition_queues *queues_of(const as_worklist *list) {
    return (partition_queues *)list->body;
}

static void init(as_worklist *list) {
    uint64_t start = atomic_load_explicit(&list->pushed, memory_order_relaxed);
    as_queues_init(queues_of(list), list->capacity, list->partitions, start);
}

static int push(as_worklist *list, uint64_t item, uint32_t partition) {
    uint64_t serial = atomic_load_explicit(&list->pushed, memory_order_relaxed);
    if (as_queues_push(queues_of(list), item, serial, partition) != AS_OK) {
        return AS_AGAIN;
    }
    atomic_store_explicit(&list->pushed, serial + 1, memory_order_release); /* for as_worklist_end */
    return AS_OK;
}

/* Owner: takes the first item of the partition, if there is one before the limit. */
static int take(as_worklist *list, uint32_t of, uint64_t limit, as_work *out) {
    partition_queues *queues = queues_of(list);
    uint32_t first = as_queues_first(queues, of);
    if (first == 0 || !as_precedes(queues->nodes[first - 1].serial, limit)) {
        return AS_AGAIN;
    }
    as_queues_take(queues, of, first, out);
    return AS_OK;
}

static void leave(as_worklist *list, uint32_t of) {
    /* release; partner: the acquire in pop */
    atomic_store_explicit(&queues_of(list)->partitions[of].active, 0, memory_order_release);
}

/* A look from outside; what it says may be old. */
static int seems_free(const as_worklist *list, uint32_t of) {
    const partition_queues *queues = queues_of(list);
    return atomic_load_explicit(&queues->partitions[of].active, memory_order_relaxed) == 0 &&
           atomic_load_explicit(&queues->partitions[of].head, memory_order_relaxed) !=
               atomic_load_explicit(&queues->tails[of], memory_order_relaxed);
}

static int pop(as_worklist *list, uint32_t worker, uint64_t limit, as_work *out) {
    for (uint32_t i = 0; i < list->partitions; i++) {
        uint32_t of = (uint32_t)(((uint64_t)worker + i) % list->partitions);
        /* acquire; partner: the release in leave */
        if (seems_free(list, of) &&
            atomic_exchange_explicit(&queues_of(list)->partitions[of].active, 1, memory_order_acquire) == 0) {
            if (take(list, of, limit, out) == AS_OK) {
                return AS_OK;
            }
            leave(list, of);
        }
    }
    return AS_AGAIN;
}

static int done(as_worklist *list, uint64_t limit, as_work *work) {
    uint32_t of = work->partition;
    if (take(list, of, limit, work) == AS_OK) {
        return AS_OK;
    }
    leave(list, of);
    return AS_AGAIN;
}

static uint64_t removed(const as_worklist *list) {
    return as_queues_removed(queues_of(list), atomic_load_explicit(&list->pushed, memory_order_relaxed));
}

static uint64_t ready(const as_worklist *list, uint64_t limit) {
    (void)limit;
    uint64_t found = 0;
    for (uint32_t of = 0; of < list->partitions; of++) {
        found += (uint64_t)seems_free(list, of);
    }
    return found;
}

const as_worklist_kind as_worklist_partitioned = {as_queues_size, init, push, pop, done, removed, ready};
