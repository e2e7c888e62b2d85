/* Figure 2: everything under one mutex, for comparison. Whoever comes while another one sends, waits. */
#include "futex_lock.h"
#include "reorder.h"

static int add(as_reorder *buffer, uint64_t serial, uint64_t unit) {
    as_lock(&buffer->flag);
    int outcome = as_reorder_try_add(buffer, serial, unit);
    as_unlock(&buffer->flag);
    return outcome;
}

static void send_pending(as_reorder *buffer) {
    as_lock(&buffer->flag);
    as_reorder_drain(buffer);
    as_unlock(&buffer->flag);
}

static int send(as_reorder *buffer, uint64_t serial, uint64_t unit) {
    as_lock(&buffer->flag);
    int outcome = as_reorder_try_add(buffer, serial, unit);
    as_reorder_drain(buffer);
    as_unlock(&buffer->flag);
    return outcome;
}

const as_reorder_scheme as_reorder_lock_based = {add, send_pending, send_pending, send};
