/*
 * Figure 7. The master queue holds the partition of each item, the partition queues hold the items, and a partition's
 * counter says how many of its master entries have been taken whose items are not yet finished. Who raises it from zero
 * is the partition's worker; who finds it above zero has thereby delegated an item to that worker and goes on. The worker
 * takes one item for each count. So it takes exactly the items whose entries are gone from the master queue: there are
 * as many, since an item enters its queue before its partition enters the master queue.
 */
#include "positions.h"
#include "partition_queues.h"

static _Atomic uint64_t *master(const as_worklist *list) {
    return (_Atomic uint64_t *)list->body;
}

static partition_queues *queues_of(const as_worklist *list) {
    return (partition_queues *)(list->body + as_cells_end(list->capacity, 8));
}

static uint64_t size(uint32_t capacity, uint32_t partitions) {
    return as_cells_end(capacity, 8) + as_queues_size(capacity, partitions);
}

static void init(as_worklist *list) {
    uint64_t start = atomic_load_explicit(&list->pushed, memory_order_relaxed);
    for (uint32_t i = 0; i < list->capacity; i++) {
        atomic_init(&master(list)[i], 0);
    }
    as_queues_init(queues_of(list), list->capacity, list->partitions, start);
}

static int push(as_worklist *list, uint64_t item, uint32_t partition) {
    /* never NULL when a node is left: an item that was handed out had its entry taken before */
    _Atomic uint64_t *entry = as_next_entry(list, master(list));
    uint64_t serial = atomic_load_explicit(&list->pushed, memory_order_relaxed);
    if (entry == NULL || as_queues_push(queues_of(list), item, serial, partition) != AS_OK) {
        return AS_AGAIN;
    }
    atomic_store_explicit(entry, partition, memory_order_relaxed);
    as_publish(list);
    return AS_OK;
}

static int pop(as_worklist *list, uint32_t worker, uint64_t limit, as_work *out) {
    (void)worker;
    partition_queues *queues = queues_of(list);
    uint64_t of, position;
    while (as_claim(list, master(list), limit, &of, &position) == AS_OK) {
        /* acq_rel. Acquire; partner: the release in done, by which the last worker left the partition: its state and
         * the head of its queue. Release; partner: the acquire in done: the delegated item was pushed before our claim. */
        if (atomic_fetch_add_explicit(&queues->partitions[of].active, 1, memory_order_acq_rel) == 0) {
            as_queues_take(queues, (uint32_t)of, as_queues_first(queues, (uint32_t)of), out);
            return AS_OK;
        }
    }
    return AS_AGAIN;
}

static int done(as_worklist *list, uint64_t limit, as_work *work) {
    (void)limit;
    partition_queues *queues = queues_of(list);
    uint32_t of = work->partition;
    /* acq_rel; partners: both halves of the addition in pop */
    if (atomic_fetch_sub_explicit(&queues->partitions[of].active, 1, memory_order_acq_rel) == 1) {
        return AS_AGAIN;
    }
    as_queues_take(queues, of, as_queues_first(queues, of), work);
    return AS_OK;
}

static uint64_t removed(const as_worklist *list) {
    return as_queues_removed(queues_of(list), atomic_load_explicit(&list->pushed, memory_order_relaxed));
}

const as_worklist_kind as_worklist_hybrid = {size, init, push, pop, done, removed, as_claimable};
