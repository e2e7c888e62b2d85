/* Section 4.1: one queue. Looking at the first item and entering its partition is one step under a mutex, and while that
 * partition is busy nobody may take a later item. A worker that is answered AS_AGAIN then waits in the paper's sense. */
#include "futex_lock.h"
#include "worklist.h"

typedef struct cell {
    uint64_t item;
    uint64_t partition;
} cell;

typedef struct shared {
    _Alignas(64) as_futex_lock lock;
    _Alignas(64) cell cells[];
} shared;

static shared *queue_of(const as_worklist *list) {
    return (shared *)list->body;
}

static _Atomic uint8_t *busy(const as_worklist *list) {
    return (_Atomic uint8_t *)&queue_of(list)->cells[list->capacity];
}

static uint64_t size(uint32_t capacity, uint32_t partitions) {
    return sizeof(shared) + (uint64_t)capacity * sizeof(cell) + partitions;
}

static void init(as_worklist *list) {
    atomic_init(&queue_of(list)->lock, 0);
    for (uint32_t i = 0; i < list->partitions; i++) {
        atomic_init(&busy(list)[i], 0);
    }
}

static int push(as_worklist *list, uint64_t item, uint32_t partition) {
    shared *queue = queue_of(list);
    as_lock(&queue->lock);
    uint64_t position = atomic_load_explicit(&list->pushed, memory_order_relaxed);
    int full = position - atomic_load_explicit(&list->taken, memory_order_relaxed) > list->mask;
    if (!full) {
        queue->cells[position & list->mask] = (cell){item, partition};
        atomic_store_explicit(&list->pushed, position + 1, memory_order_release); /* for as_claimable */
    }
    as_unlock(&queue->lock);
    return full ? AS_AGAIN : AS_OK;
}

static int pop(as_worklist *list, uint32_t worker, uint64_t limit, as_work *out) {
    (void)worker;
    shared *queue = queue_of(list);
    as_lock(&queue->lock);
    uint64_t position = atomic_load_explicit(&list->taken, memory_order_relaxed);
    int outcome = AS_AGAIN;
    if (as_claimable(list, limit) > 0) {
        cell found = queue->cells[position & list->mask];
        /* acquire; partner: the release in done */
        if (!atomic_load_explicit(&busy(list)[found.partition], memory_order_acquire)) {
            atomic_store_explicit(&busy(list)[found.partition], 1, memory_order_relaxed);
            atomic_store_explicit(&list->taken, position + 1, memory_order_relaxed);
            *out = (as_work){.item = found.item, .serial = position, .partition = (uint32_t)found.partition};
            outcome = AS_OK;
        }
    }
    as_unlock(&queue->lock);
    return outcome;
}

static int done(as_worklist *list, uint64_t limit, as_work *work) {
    (void)limit;
    /* release; partner: the acquire in pop */
    atomic_store_explicit(&busy(list)[work->partition], 0, memory_order_release);
    return AS_AGAIN;
}

static uint64_t removed(const as_worklist *list) {
    return atomic_load_explicit(&list->taken, memory_order_relaxed);
}

const as_worklist_kind as_worklist_shared = {size, init, push, pop, done, removed, as_claimable};
