/* Counted references to blocks, own or borrowed; see arena.h. */
#include "hold.h"

void as_hold_retain(as_hold *hold) {
    atomic_fetch_add_explicit(&hold->uses, 1, memory_order_relaxed);
}

uint64_t as_hold_share(as_hold *hold) {
    as_hold_retain(hold);
    return (uint64_t)(uintptr_t)hold;
}

void as_hold_release(as_hold *hold) {
    /* acq_rel: what any user did with the block happens before whoever releases last gives it away */
    if (atomic_fetch_sub_explicit(&hold->uses, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (hold->path == NULL) {
        as_block_free(hold);
    } else {
        as_loan_end(hold);
    }
}

void as_hold_drop(as_hold *hold, void *data) {
    (void)data;
    as_hold_release(hold);
}

uint8_t *as_hold_data(as_hold *hold) {
    return hold->data;
}

uint64_t as_hold_address(const as_hold *hold) {
    return (uint64_t)(uintptr_t)hold->data;
}

uint64_t as_hold_bytes(const as_hold *hold) {
    return hold->bytes;
}

uint32_t as_hold_arena(const as_hold *hold) {
    return hold->arena->id;
}

uint64_t as_hold_offset(const as_hold *hold) {
    return hold->offset;
}

uint32_t as_hold_generation(const as_hold *hold) {
    return hold->generation;
}

uint32_t as_hold_uses(const as_hold *hold) {
    return atomic_load_explicit(&hold->uses, memory_order_relaxed);
}

int as_hold_is_own(const as_hold *hold) {
    return hold->path == NULL;
}
