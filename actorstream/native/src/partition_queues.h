/*
 * One FIFO queue for each partition over a common stock of nodes, so that the sum of their lengths is bounded and any
 * one of them may have it all. One pusher at a time; one owner a partition at a time, who takes from its queue: what
 * makes him the owner is the kind's affair (`active`). Private to src/.
 *
 * A queue is a chain of nodes; its first node is spent (its item has been taken), the others wait. The owner who takes
 * gives the spent node back on a stack. Many push on that stack; the pusher alone takes from it, so no node can
 * leave it and come back unnoticed while somebody pushes, and he takes all of it at once.
 */
#ifndef AS_PARTITION_QUEUES_H
#define AS_PARTITION_QUEUES_H
#include "worklist.h"

typedef struct node {
    uint64_t item, serial;
    _Atomic uint32_t next; /* 1 + index of the next node in its queue, or on the stack; 0: the last */
} node;

typedef struct partition {
    _Alignas(64) _Atomic uint32_t active; /* hybrid: the counter of figure 7. Partitioned: 1 while it has an owner */
    _Atomic uint32_t head;                /* the spent node; written by the owner */
} partition;

typedef struct partition_queues {
    partition *partitions;
    node *nodes;
    _Alignas(64) uint32_t hoard;   /* pusher: 1 + index of the first of its spare nodes */
    _Atomic uint32_t *tails;       /* pusher: the last node of each queue */
    _Alignas(64) _Atomic uint64_t spare; /* items taken (mod 2^32) in the high half, 1 + index of the top in the low */
} partition_queues;

#define AS_SPARE_TOP UINT64_C(0xffffffff)
#define AS_SPARE_ONE (UINT64_C(1) << 32)

static inline uint64_t as_queues_size(uint32_t capacity, uint32_t partitions) {
    return sizeof(partition_queues) + (uint64_t)partitions * sizeof(partition) + as_cells_end(partitions, 4) +
           ((uint64_t)capacity + partitions) * sizeof(node);
}

static inline void as_queues_init(partition_queues *queues, uint32_t capacity, uint32_t partitions, uint64_t start) {
    uint8_t *at = (uint8_t *)(queues + 1);
    queues->partitions = (partition *)at;
    queues->tails = (_Atomic uint32_t *)(queues->partitions + partitions);
    queues->nodes = (node *)((uint8_t *)queues->tails + as_cells_end(partitions, 4));
    for (uint32_t i = 0; i < partitions + capacity; i++) {
        /* the first nodes are the spent ones of the partitions; the others the pusher's stock */
        atomic_init(&queues->nodes[i].next, i < partitions || i + 1 == partitions + capacity ? 0 : i + 2);
    }
    for (uint32_t i = 0; i < partitions; i++) {
        atomic_init(&queues->partitions[i].active, 0);
        atomic_init(&queues->partitions[i].head, i);
        atomic_init(&queues->tails[i], i);
    }
    queues->hoard = partitions + 1;
    atomic_init(&queues->spare, start << 32);
}

static inline uint64_t as_queues_removed(const partition_queues *queues, uint64_t pushed) {
    uint64_t count = atomic_load_explicit(&queues->spare, memory_order_relaxed) >> 32;
    return pushed - (uint32_t)((uint32_t)pushed - (uint32_t)count);
}

/* Puts an item behind the others of its partition. AS_AGAIN: no node is left. */
static inline int as_queues_push(partition_queues *queues, uint64_t item, uint64_t serial, uint32_t of) {
    if (queues->hoard == 0) {
        /* acquire; partner: the releases in as_queues_take; each went on with the one before, so all are covered */
        queues->hoard = (uint32_t)atomic_fetch_and_explicit(&queues->spare, ~AS_SPARE_TOP, memory_order_acquire);
        if (queues->hoard == 0) {
            return AS_AGAIN;
        }
    }
    uint32_t index = queues->hoard - 1, tail = atomic_load_explicit(&queues->tails[of], memory_order_relaxed);
    node *made = &queues->nodes[index];
    queues->hoard = atomic_load_explicit(&made->next, memory_order_relaxed);
    made->item = item;
    made->serial = serial;
    atomic_store_explicit(&made->next, 0, memory_order_relaxed);
    /* release; partner: the acquire in as_queues_first */
    atomic_store_explicit(&queues->nodes[tail].next, index + 1, memory_order_release);
    atomic_store_explicit(&queues->tails[of], index, memory_order_relaxed);
    return AS_OK;
}

/* Owner: 1 + index of the first node that waits in the partition, 0 if none does. */
static inline uint32_t as_queues_first(const partition_queues *queues, uint32_t of) {
    uint32_t spent = atomic_load_explicit(&queues->partitions[of].head, memory_order_relaxed);
    /* acquire; partner: the release in as_queues_push */
    return atomic_load_explicit(&queues->nodes[spent].next, memory_order_acquire);
}

/* Owner: takes the item of `first`, which as_queues_first has answered. */
static inline void as_queues_take(partition_queues *queues, uint32_t of, uint32_t first, as_work *out) {
    partition *queue = &queues->partitions[of];
    const node *found = &queues->nodes[first - 1];
    *out = (as_work){.item = found->item, .serial = found->serial, .partition = of};
    uint32_t spent = atomic_load_explicit(&queue->head, memory_order_relaxed);
    atomic_store_explicit(&queue->head, first - 1, memory_order_relaxed);
    uint64_t top = atomic_load_explicit(&queues->spare, memory_order_relaxed), grown;
    do {
        atomic_store_explicit(&queues->nodes[spent].next, (uint32_t)top, memory_order_relaxed);
        grown = ((top + AS_SPARE_ONE) & ~AS_SPARE_TOP) | (spent + 1);
        /* release; partner: the acquire in as_queues_push, which then writes over the node */
    } while (!atomic_compare_exchange_weak_explicit(&queues->spare, &top, grown, memory_order_release,
                                                    memory_order_relaxed));
}
#endif
