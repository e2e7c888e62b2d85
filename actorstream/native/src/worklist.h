/* What every kind of worklist begins with, and the functions that a kind brings. Private to src/. */
#ifndef AS_WORKLIST_PRIVATE_H
#define AS_WORKLIST_PRIVATE_H
#include <stdatomic.h>
#include <stddef.h>

#include "../include/worklist.h"

typedef struct as_worklist_kind {
    uint64_t (*size)(uint32_t capacity, uint32_t partitions); /* of the body */
    void (*init)(as_worklist *list);
    int (*push)(as_worklist *list, uint64_t item, uint32_t partition);
    int (*pop)(as_worklist *list, uint32_t worker, uint64_t limit, as_work *out);
    int (*done)(as_worklist *list, uint64_t limit, as_work *work);
    uint64_t (*removed)(const as_worklist *list); /* items handed out so far, in step with pushed */
    uint64_t (*ready)(const as_worklist *list, uint64_t limit);
} as_worklist_kind;

struct as_worklist {
    const as_worklist_kind *kind;
    uint64_t mask;
    uint32_t capacity, partitions;
    _Alignas(64) _Atomic uint64_t pushed; /* serial number of the next push; written by the pusher alone */
    _Alignas(64) _Atomic uint64_t taken;  /* how far the positions of the (master) queue are claimed */
    _Alignas(64) uint8_t body[];
};

extern const as_worklist_kind as_worklist_stateless, as_worklist_hybrid, as_worklist_shared, as_worklist_partitioned;

static inline int as_precedes(uint64_t serial, uint64_t limit) {
    return (int64_t)(serial - limit) < 0;
}

/* Positions that may be claimed: below what is pushed and below the limit. */
static inline uint64_t as_claimable(const as_worklist *list, uint64_t limit) {
    uint64_t taken = atomic_load_explicit(&list->taken, memory_order_relaxed);
    /* acquire; partner: the release in as_publish */
    uint64_t end = atomic_load_explicit(&list->pushed, memory_order_acquire);
    end = as_precedes(limit, end) ? limit : end;
    return as_precedes(taken, end) ? end - taken : 0;
}

static inline uint64_t as_cells_end(uint32_t capacity, uint32_t width) {
    return ((uint64_t)capacity * width + 63) / 64 * 64;
}
#endif
