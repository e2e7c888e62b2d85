/* The sending end of a channel: credit, loans, publication, frontiers. See channel.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../include/channel.h"
#include "machine.h"
#include "process.h"
#include "ring.h"

struct as_producer {
    as_ring *ring;
    as_entry *entries;
    const uint32_t *returns;
    as_doorbell *peer;
    uint32_t peer_bit;
    uint32_t epoch, forks;
    uint32_t wishes;    /* what we have noted in `wish` and not taken back */
    uint64_t slots, budget;
    uint64_t capacity;  /* of the return ring and the loan table */
    uint64_t committed; /* ours; the shared word follows */
    uint64_t consumed;  /* as last seen */
    uint64_t sent_bytes, consumed_bytes; /* running totals; their difference is what is unconsumed */
    uint64_t inherited_bytes; /* of the first, what a predecessor sent */
    uint64_t sent, reaped, peak_bytes;
    uint32_t issued;    /* loans ever issued, by our predecessors too; modulo 2^32 */
    uint32_t out;       /* our loans that are out */
    uint32_t foreign;   /* loans of our predecessors that are out */
    uint32_t fresh;     /* loan indices that were never used start here */
    uint32_t spare_count;
    uint64_t *totals;   /* by slot: sent_bytes after its entry */
    uint32_t *spare;    /* returned loan indices, last in first out */
    as_hold **held;     /* by loan index */
};

static int is_stale(const as_producer *producer) {
    /* relaxed: a fence against a successor, not a publication */
    return atomic_load_explicit(&producer->ring->producer_epoch, memory_order_relaxed) != producer->epoch ||
           producer->forks != as_process_now();
}

/* Rebuilds the running totals over what a predecessor has left in the ring, and rings for what he may not have rung for. */
static int take_over(as_producer *producer) {
    as_ring *ring = producer->ring;
    producer->committed = atomic_load_explicit(&ring->committed, memory_order_seq_cst);
    producer->consumed = atomic_load_explicit(&ring->consumed, memory_order_seq_cst);
    producer->reaped = atomic_load_explicit(&ring->reaped, memory_order_acquire);
    if (producer->committed - producer->consumed > producer->slots) {
        errno = EBADMSG;
        return -1;
    }
    for (uint64_t index = producer->consumed; index != producer->committed; index++) {
        const as_entry *entry = &producer->entries[index & (producer->slots - 1)];
        producer->sent_bytes += entry->kind == AS_KIND_ROW ? sizeof *entry : entry->bytes;
        producer->totals[index & (producer->slots - 1)] = producer->sent_bytes;
    }
    producer->inherited_bytes = producer->sent_bytes;
    /* acquire; partner: put, whose entry is in its slot once its loans are counted */
    uint64_t loans = atomic_load_explicit(&ring->loans, memory_order_acquire);
    producer->issued = (uint32_t)loans;
    if ((int32_t)((uint32_t)(loans >> 32) - (uint32_t)producer->committed) > 0 &&
        producer->entries[producer->committed & (producer->slots - 1)].loan != AS_NO_LOAN) {
        producer->issued--; /* he died after counting the loan and before committing its entry */
    }
    producer->foreign = producer->issued - (uint32_t)producer->reaped;
    if (producer->epoch > 1) {
        as_doorbell_ring(producer->peer, producer->peer_bit);
    }
    return 0;
}

as_producer *as_producer_open(void *memory, uint64_t plan, uint64_t budget, as_doorbell *peer, uint32_t peer_bit) {
    int error = as_ring_check(memory, plan);
    as_ring *ring = memory;
    as_producer *producer = error ? NULL : malloc(sizeof *producer);
    if (producer == NULL) {
        errno = error ? error : ENOMEM;
        return NULL;
    }
    *producer = (as_producer){
        .ring = ring,
        .entries = ring_entries(ring),
        .returns = ring_returns(ring),
        .peer = as_doorbell_retain(peer),
        .peer_bit = peer_bit,
        .forks = as_process_now(),
        .slots = ring->slots,
        .capacity = ring->returns,
        .budget = budget,
        .totals = malloc(ring->slots * sizeof(uint64_t)),
        .spare = malloc(ring->returns * sizeof(uint32_t)),
        .held = malloc(ring->returns * sizeof(as_hold *)),
    };
    if (producer->totals == NULL || producer->spare == NULL || producer->held == NULL) {
        as_producer_close(producer);
        errno = ENOMEM;
        return NULL;
    }
    /* seq_cst; partner: is_stale of a predecessor. From here on he publishes nothing. */
    producer->epoch = atomic_fetch_add_explicit(&ring->producer_epoch, 1, memory_order_seq_cst) + 1;
    if (take_over(producer) != 0) {
        as_producer_close(producer);
        errno = EBADMSG;
        return NULL;
    }
    return producer;
}

void as_producer_close(as_producer *producer) {
    for (uint32_t index = 0; index < producer->fresh; index++) {
        if (producer->held[index] != NULL) {
            as_hold_release(producer->held[index]);
        }
    }
    as_doorbell_close(producer->peer);
    free(producer->totals);
    free(producer->spare);
    free(producer->held);
    free(producer);
}

static void see_consumed(as_producer *producer) {
    /* seq_cst; partners: the store in as_channel_consume (his copies of the slots are done), and our note of a wish */
    uint64_t consumed = atomic_load_explicit(&producer->ring->consumed, memory_order_seq_cst);
    if (consumed - producer->consumed - 1 >= producer->committed - producer->consumed) {
        return; /* nothing new; or beyond what we sent, which only a broken consumer writes */
    }
    producer->consumed = consumed;
    producer->consumed_bytes = producer->totals[(consumed - 1) & (producer->slots - 1)];
}

static int is_admitted(const as_producer *producer, uint64_t bytes) {
    uint64_t waiting = producer->committed - producer->consumed;
    uint64_t weight = producer->sent_bytes - producer->consumed_bytes;
    return waiting == 0 ||
           (waiting < producer->slots && bytes <= producer->budget && weight <= producer->budget - bytes);
}

/* The consumed index at which `bytes` are admitted and the ring and the budget are half free; at most `committed`. */
static uint64_t wished_index(const as_producer *producer, uint64_t bytes) {
    uint64_t half = producer->budget / 2;
    uint64_t weight = bytes > producer->budget ? 0 : producer->budget - bytes < half ? producer->budget - bytes : half;
    uint64_t low = 1, high = producer->committed - producer->consumed;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        uint64_t total = producer->totals[(producer->consumed + middle - 1) & (producer->slots - 1)];
        uint64_t left = producer->committed - producer->consumed - middle;
        if (bytes <= producer->budget && left <= producer->slots / 2 && producer->sent_bytes - total <= weight) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return producer->consumed + low;
}

static void note_wish(as_producer *producer, uint32_t wish) {
    producer->wishes |= wish;
    /* seq_cst; partners: the loads in as_channel_consume and hand_back. Either they see it, or we see what they did. */
    atomic_fetch_or_explicit(&producer->ring->wish, wish, memory_order_seq_cst);
}

static void take_back_wish(as_producer *producer, uint32_t wish) {
    if (producer->wishes & wish) {
        producer->wishes &= ~wish;
        atomic_fetch_and_explicit(&producer->ring->wish, ~wish, memory_order_relaxed);
    }
}

static int admit(as_producer *producer, uint64_t bytes) {
    if (is_admitted(producer, bytes)) {
        return AS_OK;
    }
    see_consumed(producer);
    if (!is_admitted(producer, bytes)) {
        /* relaxed: ordered by note_wish */
        atomic_store_explicit(&producer->ring->wished, wished_index(producer, bytes), memory_order_relaxed);
        note_wish(producer, WISH_CREDIT);
        see_consumed(producer);
        return is_admitted(producer, bytes) ? AS_OK : AS_AGAIN;
    }
    return AS_OK;
}

static int check(const as_producer *producer) {
    if (is_stale(producer)) {
        return AS_E_STALE;
    }
    /* acquire; partner: the store in as_consumer_close */
    return atomic_load_explicit(&producer->ring->consumer_closed, memory_order_acquire) ? AS_E_CLOSED : AS_OK;
}

int as_channel_admits(as_producer *producer, uint64_t bytes) {
    int status = check(producer);
    if (status == AS_OK && (status = admit(producer, bytes)) == AS_OK) {
        take_back_wish(producer, WISH_CREDIT);
    }
    return status;
}

static int returns_wait(const as_producer *producer) {
    /* seq_cst; partners: the store in hand_back, and our note of a wish */
    return atomic_load_explicit(&producer->ring->returned, memory_order_seq_cst) != producer->reaped;
}

int as_channel_await_returns(as_producer *producer) {
    if (is_stale(producer)) {
        return AS_E_STALE;
    }
    if (returns_wait(producer)) {
        return AS_OK;
    }
    note_wish(producer, WISH_RETURNS);
    /* closing rings, whether or not we are waiting; so if it is not closed by now we shall hear of it */
    int status = check(producer) == AS_OK ? AS_AGAIN : AS_E_CLOSED;
    return returns_wait(producer) ? AS_OK : status;
}

uint32_t as_channel_reap(as_producer *producer) {
    if (is_stale(producer)) {
        return 0;
    }
    /* seq_cst; partner: the store in hand_back, which follows the slot */
    uint64_t returned = atomic_load_explicit(&producer->ring->returned, memory_order_seq_cst);
    uint32_t count = 0, epoch = producer->epoch % LOAN_EPOCHS;
    if (returned == producer->reaped || returned - producer->reaped > producer->capacity) {
        return 0;
    }
    for (; producer->reaped != returned; producer->reaped++) {
        uint32_t loan = producer->returns[producer->reaped & (producer->capacity - 1)];
        uint32_t index = loan & ((1u << LOAN_BITS) - 1);
        if (loan >> LOAN_BITS != epoch) {
            producer->foreign -= producer->foreign > 0;
        } else if (index < producer->fresh && producer->held[index] != NULL) {
            as_hold_release(producer->held[index]);
            producer->held[index] = NULL;
            producer->spare[producer->spare_count++] = index;
            producer->out--;
            count++;
        }
    }
    take_back_wish(producer, WISH_RETURNS);
    /* release; partner: the acquire in hand_back, which may then overwrite the slots */
    atomic_store_explicit(&producer->ring->reaped, producer->reaped, memory_order_release);
    return count;
}

static int can_lend(as_producer *producer) {
    if (producer->out + producer->foreign >= producer->capacity) {
        as_channel_reap(producer);
    }
    if (producer->out + producer->foreign >= producer->capacity && as_channel_await_returns(producer) == AS_OK) {
        as_channel_reap(producer);
    }
    return producer->out + producer->foreign < producer->capacity;
}

/* Numbers the loan and keeps a use of its hold until the number comes back. */
static void lend(as_producer *producer, as_entry *entry, as_hold *hold) {
    uint32_t index = producer->spare_count ? producer->spare[--producer->spare_count] : producer->fresh++;
    producer->held[index] = hold;
    producer->out++;
    producer->issued++;
    as_hold_retain(hold);
    entry->loan = producer->epoch % LOAN_EPOCHS << LOAN_BITS | index;
    entry->arena = as_hold_arena(hold);
    entry->offset = as_hold_offset(hold);
    entry->generation = as_hold_generation(hold);
}

int as_producer_finish(as_producer *producer) {
    as_channel_reap(producer);
    if (producer->out > 0) {
        return AS_AGAIN;
    }
    as_producer_close(producer);
    return AS_OK;
}

/* Puts an admitted entry of `bytes` into the ring. The consumer is to be rung afterwards. */
static int put(as_producer *producer, const as_entry *entry, uint64_t bytes) {
    uint64_t slot = producer->committed & (producer->slots - 1);
    memcpy(&producer->entries[slot], entry, sizeof *entry);
    producer->sent_bytes += bytes;
    producer->totals[slot] = producer->sent_bytes;
    producer->committed++;
    producer->sent++;
    take_back_wish(producer, WISH_CREDIT);
    if (producer->sent_bytes - producer->consumed_bytes > producer->peak_bytes) {
        see_consumed(producer); /* the peak is rare, so it can afford the true figure */
        uint64_t weight = producer->sent_bytes - producer->consumed_bytes;
        producer->peak_bytes = weight > producer->peak_bytes ? weight : producer->peak_bytes;
    }
    if (is_stale(producer)) {
        return AS_E_STALE;
    }
    /* release, so that it is not seen after the index; partner: take_over of a successor, after our death */
    atomic_store_explicit(&producer->ring->loans, producer->committed << 32 | producer->issued, memory_order_release);
    /* seq_cst; partner: the consumer's load of it. Not just release, because ringing reads the doorbell next. */
    atomic_store_explicit(&producer->ring->committed, producer->committed, memory_order_seq_cst);
    return AS_OK;
}

static int publish(as_producer *producer, const as_entry *entry, uint64_t bytes) {
    const int status = put(producer, entry, bytes);
    if (status == AS_OK) {
        as_doorbell_ring(producer->peer, producer->peer_bit);
    }
    return status;
}

int as_channel_send(as_producer *producer, as_entry *entry, as_hold *hold) {
    int status = check(producer);
    if (status != AS_OK || (status = admit(producer, entry->bytes)) != AS_OK) {
        return status;
    }
    if (hold != NULL && !can_lend(producer)) {
        return AS_AGAIN;
    }
    entry->magic = AS_ENTRY_MAGIC;
    entry->version = AS_ENTRY_VERSION;
    if (hold != NULL) {
        lend(producer, entry, hold);
    } else {
        entry->loan = AS_NO_LOAN;
        entry->arena = entry->generation = 0;
        entry->offset = 0;
    }
    return publish(producer, entry, entry->bytes);
}

int as_channel_send_run(as_producer *producer, as_entry *entry, as_hold *hold, int64_t step, uint32_t *sent) {
    int status = check(producer);
    *sent = 0;
    if (status != AS_OK || step < 1 || entry->rows < 1) {
        return status != AS_OK ? status : AS_E_ARGUMENT;
    }
    entry->magic = AS_ENTRY_MAGIC;
    entry->version = AS_ENTRY_VERSION;
    while (entry->rows > 0 && (status = admit(producer, entry->bytes)) == AS_OK) {
        if (!can_lend(producer)) {
            status = AS_AGAIN;
            break;
        }
        as_entry one = *entry;
        one.rows = entry->rows < step ? entry->rows : step;
        lend(producer, &one, hold);
        if ((status = put(producer, &one, one.bytes)) != AS_OK) {
            return status;
        }
        entry->first += one.rows;
        entry->rows -= one.rows;
        entry->sequence++;
        ++*sent;
    }
    if (*sent) {
        as_doorbell_ring(producer->peer, producer->peer_bit);
    }
    return status;
}

int as_channel_send_row(as_producer *producer, as_entry *entry) {
    as_entry *slot = &producer->entries[producer->committed & (producer->slots - 1)];
    as_doorbell_expect(producer->peer, producer->peer_bit);
    as_expect_write(&producer->ring->committed);
    as_expect_write(slot), as_expect_write((const char *)slot + 64);
    as_expect_read((const void *)&producer->ring->consumed);
    int status = check(producer);
    if (status != AS_OK) {
        return status;
    }
    if (producer->consumed != producer->committed) {
        see_consumed(producer);
        if (producer->consumed != producer->committed) {
            return AS_AGAIN;
        }
    }
    entry->magic = AS_ENTRY_MAGIC;
    entry->version = AS_ENTRY_VERSION;
    entry->kind = AS_KIND_ROW;
    entry->loan = AS_NO_LOAN;
    return publish(producer, entry, sizeof *entry);
}

void as_frontier_advance(as_producer *producer, uint32_t word, int64_t value, int ring) {
    if (word >= producer->ring->frontiers || is_stale(producer)) {
        return;
    }
    _Atomic int64_t *frontier = &producer->ring->frontier[word];
    if (value <= atomic_load_explicit(frontier, memory_order_relaxed)) {
        return;
    }
    /* seq_cst (at least release); partner: the load in as_frontier_load. It comes after the committed index that it
       covers, and before the doorbell is read. */
    atomic_store_explicit(frontier, value, memory_order_seq_cst);
    if (ring) {
        as_doorbell_ring(producer->peer, producer->peer_bit);
    }
}

int as_channel_is_empty(const as_producer *producer) {
    /* acquire; partner: the store in as_channel_consume */
    return atomic_load_explicit(&producer->ring->consumed, memory_order_acquire) == producer->committed;
}

int as_channel_consumer_closed(const as_producer *producer) {
    return (int)atomic_load_explicit(&producer->ring->consumer_closed, memory_order_acquire);
}

void as_producer_statistics(const as_producer *producer, uint64_t out[6]) {
    as_producer now = *producer;
    see_consumed(&now);
    out[0] = now.sent;
    out[1] = now.committed - now.consumed;
    out[2] = now.sent_bytes - now.consumed_bytes;
    out[3] = (uint64_t)now.out + now.foreign;
    out[4] = now.peak_bytes;
    out[5] = now.sent_bytes - now.inherited_bytes;
}
