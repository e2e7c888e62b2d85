/* The receiving end of a channel: entries, borrowed blocks and their way back. See channel.h. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../include/channel.h"
#include "hold.h"
#include "machine.h"
#include "process.h"
#include "ring.h"

enum {
    KIND_DATA = 1,
    RUN = 64, /* entries consumed at a time */
};

/* Where borrowed blocks go back to. Outlives the consumer while one of its blocks is held. */
typedef struct as_return_path {
    _Atomic uint32_t references; /* one for the consumer and one per borrowed hold */
    _Atomic uint32_t locked;     /* any thread may return; acquire and release, partners: each other */
    _Atomic uint64_t out;        /* borrowed and not returned; relaxed, a statistic */
    as_ring *ring;
    uint32_t *slots;
    as_doorbell *peer; /* NULL once the consumer is closed */
    uint32_t peer_bit;
    uint32_t epoch;
    uint32_t forks;
    uint64_t capacity;
    uint64_t returned; /* ours; the shared word follows */
    uint64_t reaped;   /* as last seen */
} as_return_path;

struct as_consumer {
    as_ring *ring;
    const as_entry *entries;
    as_return_path *path;
    as_doorbell *peer;
    uint32_t peer_bit;
    uint32_t epoch;
    uint32_t forks;
    uint64_t slots;
    uint64_t consumed;  /* ours; the shared word follows */
    uint64_t committed; /* as last seen */
    uint64_t taken;
};

static int is_stale(const as_consumer *consumer) {
    /* relaxed: a fence against a successor, not a publication */
    return atomic_load_explicit(&consumer->ring->consumer_epoch, memory_order_relaxed) != consumer->epoch ||
           consumer->forks != as_process_now();
}

as_consumer *as_consumer_open(void *memory, uint64_t plan, as_doorbell *peer, uint32_t peer_bit) {
    int error = as_ring_check(memory, plan);
    if (error) {
        errno = error;
        return NULL;
    }
    as_ring *ring = memory;
    as_consumer *consumer = malloc(sizeof *consumer);
    as_return_path *path = malloc(sizeof *path);
    if (consumer == NULL || path == NULL) {
        free(consumer);
        free(path);
        errno = ENOMEM;
        return NULL;
    }
    /* seq_cst; partner: is_stale of a predecessor */
    uint32_t epoch = atomic_fetch_add_explicit(&ring->consumer_epoch, 1, memory_order_seq_cst) + 1;
    atomic_store_explicit(&ring->consumer_closed, 0, memory_order_seq_cst);
    uint64_t consumed = atomic_load_explicit(&ring->consumed, memory_order_seq_cst);
    *path = (as_return_path){
        .references = 1,
        .ring = ring,
        .slots = ring_returns(ring),
        .peer = peer,
        .peer_bit = peer_bit,
        .epoch = epoch,
        .forks = as_process_now(),
        .capacity = ring->returns,
        .returned = atomic_load_explicit(&ring->returned, memory_order_seq_cst),
        .reaped = atomic_load_explicit(&ring->reaped, memory_order_acquire),
    };
    *consumer = (as_consumer){
        .ring = ring,
        .entries = ring_entries(ring),
        .path = path,
        .peer = as_doorbell_retain(peer),
        .peer_bit = peer_bit,
        .epoch = epoch,
        .forks = path->forks,
        .slots = ring->slots,
        .consumed = consumed,
        .committed = consumed,
    };
    if (epoch > 1) {
        as_doorbell_ring(peer, peer_bit); /* a predecessor may have died between making room and ringing */
    }
    return consumer;
}

static void lock(as_return_path *path) {
    for (uint32_t round = 1; atomic_exchange_explicit(&path->locked, 1, memory_order_acquire); round++) {
        if (round % 64 == 0) {
            sched_yield(); /* its holder may have lost the core */
        }
        as_relax();
    }
}

static void unlock(as_return_path *path) {
    atomic_store_explicit(&path->locked, 0, memory_order_release);
}

static void unreference(as_return_path *path) {
    if (atomic_fetch_sub_explicit(&path->references, 1, memory_order_acq_rel) == 1) {
        free(path);
    }
}

void as_consumer_close(as_consumer *consumer) {
    as_return_path *path = consumer->path;
    if (!is_stale(consumer)) {
        /* seq_cst; partner: the load in as_channel_send */
        atomic_store_explicit(&consumer->ring->consumer_closed, 1, memory_order_seq_cst);
        as_doorbell_ring(consumer->peer, consumer->peer_bit); /* he may wait for credit that will never come */
    }
    if (path->forks == as_process_now()) {
        lock(path);
        path->peer = NULL;
        unlock(path);
    }
    unreference(path);
    as_doorbell_close(consumer->peer);
    free(consumer);
}

/* How many entries wait behind the head; sees what is new if there are not more than `known`. */
static uint64_t waiting(as_consumer *consumer, uint64_t known) {
    if (consumer->committed - consumer->consumed <= known) {
        /* seq_cst; partner: the store in as_channel_send. At least acquire for the entries; seq_cst because the
           doorbell bit was cleared before. */
        consumer->committed = atomic_load_explicit(&consumer->ring->committed, memory_order_seq_cst);
    }
    return consumer->committed - consumer->consumed;
}

int as_channel_peek(as_consumer *consumer, uint32_t ahead, as_entry *out) {
    if (is_stale(consumer)) {
        return AS_E_STALE;
    }
    uint64_t count = waiting(consumer, ahead);
    if (count > consumer->slots) {
        return AS_E_CORRUPT;
    }
    if (count <= ahead) {
        return AS_AGAIN;
    }
    memcpy(out, &consumer->entries[(consumer->consumed + ahead) & (consumer->slots - 1)], sizeof *out);
    return out->magic == AS_ENTRY_MAGIC && out->version == AS_ENTRY_VERSION ? AS_OK : AS_E_CORRUPT;
}

static void consume(as_consumer *consumer, uint64_t count) {
    as_ring *ring = consumer->ring;
    consumer->consumed += count;
    consumer->taken += count;
    /* seq_cst; partner: see_consumed. At least release, so that our copies of the slots are done; seq_cst because the
       wish is read next. */
    atomic_store_explicit(&ring->consumed, consumer->consumed, memory_order_seq_cst);
    /* seq_cst; partner: note_wish */
    if ((atomic_load_explicit(&ring->wish, memory_order_seq_cst) & WISH_CREDIT) &&
        (int64_t)(consumer->consumed - atomic_load_explicit(&ring->wished, memory_order_relaxed)) >= 0 &&
        (atomic_fetch_and_explicit(&ring->wish, ~(uint32_t)WISH_CREDIT, memory_order_seq_cst) & WISH_CREDIT)) {
        as_doorbell_ring(consumer->peer, consumer->peer_bit);
    }
}

int as_channel_take_row(as_consumer *consumer, as_entry *out) {
    if (is_stale(consumer)) {
        return AS_E_STALE;
    }
    uint64_t count = waiting(consumer, 0);
    if (count > consumer->slots) {
        return AS_E_CORRUPT;
    }
    const as_entry *entry = &consumer->entries[consumer->consumed & (consumer->slots - 1)];
    if (count == 0 || entry->kind != AS_KIND_ROW) {
        return AS_AGAIN;
    }
    memcpy(out, entry, sizeof *out);
    if (out->magic != AS_ENTRY_MAGIC || out->version != AS_ENTRY_VERSION) {
        return AS_E_CORRUPT;
    }
    consume(consumer, 1);
    return AS_OK;
}

uint32_t as_channel_run(as_consumer *consumer, uint32_t ahead, uint32_t most, int64_t *rows) {
    *rows = 0;
    if (is_stale(consumer) || most == 0) {
        return 0;
    }
    const uint64_t all = waiting(consumer, (uint64_t)ahead + most - 1), mask = consumer->slots - 1;
    const uint64_t first = consumer->consumed + ahead;
    const as_entry *head = &consumer->entries[first & mask];
    if (all <= ahead || all > consumer->slots || head->kind != KIND_DATA) {
        return 0;
    }
    const uint64_t count = all - ahead;
    int64_t next = head->first + head->rows;
    uint32_t found = 1;
    for (; found < most && found < count && head->offset != 0; found++) {
        const as_entry *each = &consumer->entries[(first + found) & mask];
        if (each->magic != AS_ENTRY_MAGIC || each->version != AS_ENTRY_VERSION || each->kind != head->kind ||
            each->offset != head->offset || each->arena != head->arena || each->generation != head->generation ||
            each->first != next || each->flags != head->flags || each->schema != head->schema ||
            each->min_entry != head->min_entry || each->max_entry != head->max_entry) {
            break;
        }
        next += each->rows;
    }
    *rows = next - head->first;
    return found;
}

uint32_t as_channel_wait_row(as_consumer *consumer, as_doorbell *bell, uint32_t bit, uint64_t ns, as_entry *row,
                             uint32_t *out, uint32_t max) {
    if (ns != 0 && !as_doorbell_spin(bell, ns)) {
        return 0;
    }
    const as_entry *entry = &consumer->entries[consumer->consumed & (consumer->slots - 1)];
    as_expect_read((const void *)&consumer->ring->committed);
    as_expect_read(entry);
    as_expect_read((const char *)entry + 64);
    as_expect_write((const void *)&consumer->ring->consumed);
    uint32_t count = as_doorbell_collect(bell, out, max);
    return count == 1 && out[0] == bit && as_channel_take_row(consumer, row) == AS_OK ? AS_TAKEN : count;
}

uint64_t as_channel_waiting(as_consumer *consumer) {
    return is_stale(consumer) ? 0 : waiting(consumer, UINT64_MAX);
}

as_hold *as_channel_borrow(as_consumer *consumer, const as_entry *entry, as_arena *arena) {
    if (entry->loan == AS_NO_LOAN || arena->id != entry->arena || entry->offset % 64 ||
        entry->offset < AS_BLOCK_HEADER) {
        errno = EINVAL;
        return NULL;
    }
    as_block_header *header = as_block_at(arena, entry->offset);
    if (!as_arena_reaches(arena, entry->offset)) {
        errno = ESTALE;
        return NULL;
    }
    /* acquire; partner: the release in write_header of the owner */
    uint32_t generation = atomic_load_explicit(&header->generation, memory_order_acquire);
    uint32_t magic = atomic_load_explicit(&header->magic, memory_order_relaxed);
    uint64_t bytes = atomic_load_explicit(&header->bytes, memory_order_relaxed);
    if (generation != entry->generation || magic != AS_BLOCK_MAGIC || bytes > arena->limit - entry->offset ||
        !as_arena_reaches(arena, entry->offset + bytes)) {
        errno = ESTALE;
        return NULL;
    }
    as_hold *hold = malloc(sizeof *hold);
    if (hold == NULL) {
        return NULL;
    }
    as_return_path *path = consumer->path;
    *hold = (as_hold){
        .uses = 1,
        .generation = generation,
        .loan = entry->loan,
        .offset = entry->offset,
        .bytes = bytes,
        .data = arena->base + entry->offset,
        .arena = arena,
        .path = path,
    };
    atomic_fetch_add_explicit(&arena->references, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&path->references, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&path->out, 1, memory_order_relaxed);
    return hold;
}

/* Any thread of the consumer's process. The ring has room for every loan that can be out; if it has none, someone has
   returned a loan twice, and the surplus is dropped. */
static void hand_back(as_return_path *path, uint32_t loan) {
    as_ring *ring = path->ring;
    if (loan == AS_NO_LOAN || path->forks != as_process_now()) {
        return;
    }
    lock(path);
    if (path->returned - path->reaped >= path->capacity) {
        /* acquire; partner: the store in as_channel_reap, which has read the slots */
        path->reaped = atomic_load_explicit(&ring->reaped, memory_order_acquire);
    }
    if (path->returned - path->reaped < path->capacity &&
        atomic_load_explicit(&ring->consumer_epoch, memory_order_relaxed) == path->epoch) {
        path->slots[path->returned & (path->capacity - 1)] = loan;
        path->returned++;
        /* seq_cst; partner: the loads in as_channel_reap and as_channel_await_returns */
        atomic_store_explicit(&ring->returned, path->returned, memory_order_seq_cst);
        /* seq_cst; partner: note_wish */
        if ((atomic_load_explicit(&ring->wish, memory_order_seq_cst) & WISH_RETURNS) &&
            (atomic_fetch_and_explicit(&ring->wish, ~(uint32_t)WISH_RETURNS, memory_order_seq_cst) & WISH_RETURNS)) {
            as_doorbell_ring(path->peer, path->peer_bit);
        }
    }
    unlock(path);
}

void as_loan_end(as_hold *hold) {
    as_return_path *path = hold->path;
    hand_back(path, hold->loan);
    atomic_fetch_sub_explicit(&path->out, 1, memory_order_relaxed);
    unreference(path);
    as_arena_unreference(hold->arena);
    free(hold);
}

void as_channel_return(as_consumer *consumer, uint32_t loan) {
    hand_back(consumer->path, loan);
}

void as_channel_consume(as_consumer *consumer, uint32_t count) {
    if (count == 0 || is_stale(consumer)) {
        return;
    }
    uint64_t most = waiting(consumer, count - 1);
    consume(consumer, count < most ? count : most);
}

void as_channel_consume_run(as_consumer *consumer, uint32_t borrowed, uint32_t count) {
    if (count == 0 || is_stale(consumer)) {
        return;
    }
    const uint64_t most = waiting(consumer, count - 1);
    const uint32_t there = count < most ? count : (uint32_t)most;
    uint32_t loan[RUN];
    for (uint32_t done = 0; done < there;) {
        const uint32_t run = there - done < RUN ? there - done : RUN;
        for (uint32_t n = 0; n < run; n++) {
            loan[n] = consumer->entries[(consumer->consumed + n) & (consumer->slots - 1)].loan;
        }
        consume(consumer, run); /* first: a successor must not find an entry whose block has gone back */
        for (uint32_t n = 0; n < run; n++, done++) {
            hand_back(consumer->path, done < borrowed ? AS_NO_LOAN : loan[n]);
        }
    }
}

int64_t as_frontier_load(const as_consumer *consumer, uint32_t word) {
    if (word >= consumer->ring->frontiers) {
        return INT64_MIN;
    }
    /* seq_cst (at least acquire); partner: the store in as_frontier_advance. What it covers is committed. */
    return atomic_load_explicit(&consumer->ring->frontier[word], memory_order_seq_cst);
}

void as_consumer_statistics(const as_consumer *consumer, uint64_t out[3]) {
    out[0] = consumer->taken;
    out[1] = atomic_load_explicit(&consumer->ring->committed, memory_order_acquire) - consumer->consumed;
    out[2] = atomic_load_explicit(&consumer->path->out, memory_order_relaxed);
}
