/*
 * Figure 4: the exit section belongs to whoever finds the flag clear; nobody waits for it.
 *
 * No wake-up is lost. A worker stores its unit, then sets the flag by a read-modify-write, and leaves if it was set.
 * The owner clears the flag by a read-modify-write too, then reads the next slot again. The flag's modification order
 * has one of the two first:
 *   - the clearing first: the worker finds the flag clear and sends its unit itself;
 *   - the setting first: the exchange reads what it (or a later read-modify-write) wrote, so with acquire here and
 *     release there the worker's store of the slot happens before the owner's second look, which sees the unit.
 * That needs three things. The failed setting must write: a plain look at the flag before would not. It must release
 * what went before. And the clearing must read: a release store does not, and lets the second look go ahead of it (x86
 * keeps it in the store buffer), so that each of the two misses the other; neither spin nor ThreadSanitizer sees that.
 * Compiled with AS_REORDER_RELEASE_STORE the flag is cleared that way, for the litmus test that loses wake-ups.
 */
#include "reorder.h"

#define HELD 1u
#define FLUSHED 2u /* somebody made room for what the exit function may have refused meanwhile */

static uint32_t leave(as_reorder *buffer) {
#ifdef AS_REORDER_RELEASE_STORE
    atomic_store_explicit(&buffer->flag, 0, memory_order_release);
    return 0;
#else
    /* acq_rel; partners: acquire of every failed setting before it, release to the next successful one in enter */
    return atomic_exchange_explicit(&buffer->flag, 0, memory_order_acq_rel);
#endif
}

static int enter(as_reorder *buffer, uint32_t bits) {
    /* acq_rel; partners: acquire of the exchange in leave (what the last owner did), release to the next one */
    return !(atomic_fetch_or_explicit(&buffer->flag, bits, memory_order_acq_rel) & HELD);
}

static void visit(as_reorder *buffer, uint32_t bits) {
    int again;
    do {
        if (!enter(buffer, bits)) {
            return;
        }
        int refused = as_reorder_drain(buffer) != AS_OK;
        _Atomic uint64_t *slot =
            &buffer->slots[atomic_load_explicit(&buffer->next, memory_order_relaxed) & buffer->mask];
        uint32_t was = leave(buffer);
        /* A flush before leaving may have come too late for the refused unit; one after it finds the flag clear. */
        /* acquire; partner: the release store in as_reorder_try_add */
        again = refused ? (was & FLUSHED) != 0 : atomic_load_explicit(slot, memory_order_acquire) != NO_UNIT;
        bits = HELD;
    } while (again);
}

static void send_pending(as_reorder *buffer) {
    visit(buffer, HELD);
}

static void flush(as_reorder *buffer) {
    visit(buffer, HELD | FLUSHED);
}

static int send(as_reorder *buffer, uint64_t serial, uint64_t unit) {
    int outcome = as_reorder_try_add(buffer, serial, unit);
    visit(buffer, HELD);
    return outcome;
}

const as_reorder_scheme as_reorder_non_blocking = {as_reorder_try_add, send_pending, flush, send};
