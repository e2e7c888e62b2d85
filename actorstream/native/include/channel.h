/*
 * Channel: one SPSC ring of references between one producer and one consumer, its return ring and its frontier words,
 * in shared control memory. Never MPMC: a process that dies between claim and publish would block such a ring for good.
 *
 *   0    constants: magic u32, version u32, slots u32, returns u32, frontiers u32, plan fingerprint u64 at 24
 *   64   producer line: committed index u64 (seq_cst; partner: consumer's load), loans issued u64 (low half: how many;
 *                       high half: low half of the committed index they are valid from), producer epoch u32
 *   128  consumer line: consumed index u64 (seq_cst; partner: producer's load), consumer epoch u32
 *   192  return ring, consumer side: returned index u64 (seq_cst; partner: producer's load)
 *   256  return ring, producer side: reaped index u64 (release; partner: consumer's acquire)
 *   320  flags: wish u32 (1: producer waits for credit, 2: for returned loans; seq_cst, Dekker with consumed/returned),
 *               consumer closed u32, wished index u64 (ring when consumed has reached it)
 *   384  frontier words: i64 each, monotone, initially INT64_MIN (release; partner: acquire)
 *   ...  entries: slots x 128 bytes, 128-byte aligned
 *   ...  return slots: u32 loan number each, `returns` of them
 *
 * The committed index is the only publication point. Order of the producer: entry, committed (release), frontier
 * (release), doorbell. Order of the consumer: frontier (acquire), committed (acquire), drain up to that index, and
 * only then use the frontier.
 *
 * The producer keeps, in private memory, the hold behind every loan that is out: a loan's use is released when its
 * number comes back on the return ring. The return ring has a slot for every loan that can be out, so returning never
 * waits. Budgets are in bytes: as_channel_send answers AS_AGAIN while (bytes sent and not yet consumed) + bytes >
 * budget, unless nothing is unconsumed (one jumbo tuple larger than the budget is admitted alone).
 * Loans that the consumer keeps after consuming do not count against the budget; when `returns` loans are out the
 * channel is full. A producer that waits for credit is rung once half of the ring and half of the budget are free (or all
 * is consumed), so that a slow consumer does not wake it for every entry.
 *
 * A single row of few bytes travels in its entry (kind 5), in place of what the fields at 32 .. 103 say of a block: no
 * loan, no way back. It weighs the bytes of an entry.
 *
 * Epochs: an end that is opened later bumps its side's epoch; from then on the older end answers AS_E_STALE, or does
 * nothing where there is no status. A loan's number carries its producer's epoch, so that what comes back to a successor
 * releases nothing of his. The check comes right before each publication, not with it: whoever replaces an end kills and
 * reaps the old process first; the epoch is the second line of defence. Handles that a fork copied are stale too. A
 * predecessor may have died behind any store, so opening an end for the second time rings the other side. What he had
 * published is there for his successor. Blocks that a dead consumer had taken stay lent until their producer closes.
 *
 * Lifetime: the control memory must outlive the handle and, of a closed consumer, its borrowed holds, which still go back
 * over the return ring but ring nobody. The doorbell's memory and eventfd must live until the end is closed.
 */
#ifndef ACTORSTREAM_CHANNEL_H
#define ACTORSTREAM_CHANNEL_H
#include "arena.h"
#include "doorbell.h"
/* cffi: begin */
typedef struct as_producer as_producer;   /* private handle of the sending end */
typedef struct as_consumer as_consumer;   /* private handle of the receiving end */

/* One entry of the ring, and the header of a frame on a network: 128 bytes, little endian, no pointers.
   struct format: "<IHHIIQQQIIQQIIqqqqqqQ" ; python: actorstream.native.channel.ENTRY */
typedef struct as_entry {
    uint32_t magic;          /*   0 AS_ENTRY_MAGIC */
    uint16_t version;        /*   4 layout version */
    uint16_t kind;           /*   6 1 data, 2 heartbeat, 3 barrier, 4 end, 5 one row: its bytes lie at 32 .. 103 */
    uint32_t flags;          /*   8 */
    uint32_t epoch;          /*  12 attempt of the producer */
    uint64_t schema;         /*  16 schema fingerprint */
    uint64_t sequence;       /*  24 channel sequence */
    uint64_t serial;         /*  32 serial number, or barrier id for a barrier */
    uint32_t piece;          /*  40 */
    uint32_t pieces;         /*  44 */
    uint64_t offset;         /*  48 block payload's offset in its arena; 0: no block */
    uint64_t bytes;          /*  56 weight against the budget */
    uint32_t arena;          /*  64 arena id */
    uint32_t generation;     /*  68 block generation */
    int64_t first;           /*  72 first row of the block that belongs to this jumbo tuple */
    int64_t rows;            /*  80 */
    int64_t min_time;        /*  88 event time, INT64_MAX if none */
    int64_t max_time;        /*  96 event time, INT64_MIN if none */
    int64_t min_entry;       /* 104 monotonic ns at which the oldest contributing tuple entered; 0 if unknown */
    int64_t max_entry;       /* 112 the same of the latest */
    uint32_t producer;       /* 120 producer replica */
    uint32_t loan;           /* 124 number of the loan; filled by send */
} as_entry;

/* Bytes of control memory for a channel; slots and returns are powers of two, slots <= returns <= 2^20. */
uint64_t as_channel_size(uint32_t slots, uint32_t returns, uint32_t frontiers);
/* Lays out zeroed memory, which begins at a multiple of 128. Call once, before either end opens it. */
int as_channel_init(void *memory, uint32_t slots, uint32_t returns, uint32_t frontiers, uint64_t plan);
/* The same with all indices starting at `start`, for testing their wrap-around. */
int as_channel_init_at(void *memory, uint32_t slots, uint32_t returns, uint32_t frontiers, uint64_t plan,
                       uint64_t start);

/* --- producer: one thread at a time --- */
/* `peer`/`peer_bit`: the consumer process's doorbell and this channel's bit in it; NULL: no doorbell.
   NULL with errno: EINVAL (no channel there), ESTALE (another plan), EBADMSG (indices make no sense), ENOMEM. */
as_producer *as_producer_open(void *memory, uint64_t plan, uint64_t budget, as_doorbell *peer, uint32_t peer_bit);
/* Releases private memory and every hold still out (call when the consumer is gone or has returned all). */
void as_producer_close(as_producer *producer);
/* Reaps, and closes if no loan is out: AS_OK. Else AS_AGAIN: the handle stays open, and so does what is lent. */
int as_producer_finish(as_producer *producer);
/* Publishes `entry` (its magic and version are filled, its loan, arena, offset and generation from `hold`), retains
   `hold` (may be NULL) and rings the consumer. AS_AGAIN: ring, budget or loans full, and the wish for credit is noted, so
   that the consumer will ring us; nothing else was changed. AS_E_CLOSED | AS_E_STALE. Wait-free. */
int as_channel_send(as_producer *producer, as_entry *entry, as_hold *hold);
/* as_channel_send of a whole jumbo tuple in one call: `form` has what all of an output have alike (kind, schema, producer, no
   times), and is filled with the others; `hold` is not NULL. */
int as_channel_send_whole(as_producer *producer, as_entry *form, as_hold *hold, uint64_t sequence, uint64_t bytes,
                          int64_t rows, int64_t min_entry, int64_t max_entry, uint32_t flags);
/* Publishes an entry of kind 5 whose row, flags, schema, sequence, entry times and producer are filled, and rings the
   consumer, if all entries before it are consumed. AS_AGAIN: they are not; nothing was changed or noted.
   AS_E_CLOSED | AS_E_STALE. Wait-free. */
int as_channel_send_row(as_producer *producer, as_entry *entry);
/* as_channel_send of up to `count` entries, one behind the other: `entry` with `step` rows from its `first` on, then the next
   `step`, as many as `entry->rows` has (the last may have fewer), each of its `bytes` and with the next sequence number; one
   ring for all. `sent`: how many went; `first`, `rows` and `sequence` of `entry` have moved past them. AS_AGAIN: not all, and
   the wish for credit is noted. AS_E_CLOSED | AS_E_STALE. Wait-free. */
int as_channel_send_run(as_producer *producer, as_entry *entry, as_hold *hold, int64_t step, uint32_t *sent);
/* Releases the holds of returned loans; answers how many. Waits for nobody but the arena's short mutex. */
uint32_t as_channel_reap(as_producer *producer);
/* AS_OK: loans have come back, reap them. AS_AGAIN: none have, and the next one will ring us. AS_E_CLOSED: none have, and
   none will ring. AS_E_STALE. For a producer whose arena is full. */
int as_channel_await_returns(as_producer *producer);
/* Whether ring and budget admit an entry of `bytes` now: AS_OK, AS_AGAIN with the wish for credit noted, AS_E_CLOSED or
   AS_E_STALE. More bytes than the budget are admitted only by an empty ring: UINT64_MAX waits for all to be consumed. */
int as_channel_admits(as_producer *producer, uint64_t bytes);
/* Raises frontier word `word` to `value` (never lowers it); rings the consumer iff `ring` and it rose. */
void as_frontier_advance(as_producer *producer, uint32_t word, int64_t value, int ring);
int as_channel_is_empty(const as_producer *producer);       /* all entries consumed */
int as_channel_consumer_closed(const as_producer *producer);
/* out: sent entries, unconsumed entries, unconsumed bytes, loans out, peak unconsumed bytes, sent bytes */
void as_producer_statistics(const as_producer *producer, uint64_t out[6]);

/* --- consumer: one thread at a time, except as_hold_release of borrowed holds (any thread) --- */
/* `peer`/`peer_bit`: the producer process's doorbell and the bit that means "credit on this channel". */
as_consumer *as_consumer_open(void *memory, uint64_t plan, as_doorbell *peer, uint32_t peer_bit);
/* Marks the end closed (the producer's sends then answer AS_E_CLOSED) and frees private memory. Outstanding borrowed
   holds stay valid until released. */
void as_consumer_close(as_consumer *consumer);
/* Copies the entry `ahead` places behind the head without consuming it. AS_AGAIN: none. AS_E_CORRUPT / AS_E_STALE. */
int as_channel_peek(as_consumer *consumer, uint32_t ahead, as_entry *out);
/* If the head is an entry of kind 5: copies and consumes it. AS_AGAIN: nothing waits, or something else, which was left.
   AS_E_CORRUPT / AS_E_STALE. */
int as_channel_take_row(as_consumer *consumer, as_entry *out);
/* How many entries from the one `ahead` places behind the head on, at most `most`, hand over rows of one block that follow each
   other, with the same flags, schema and entry times; `rows`: how many they have together. 0: none is there, or it is no data. */
uint32_t as_channel_run(as_consumer *consumer, uint32_t ahead, uint32_t most, int64_t *rows);
/* as_channel_consume of `count` entries, of which all but the first `borrowed` hand their blocks back here. */
void as_channel_consume_run(as_consumer *consumer, uint32_t borrowed, uint32_t count);
/* as_doorbell_wait of the owner of `bell` (which `ns` 0 does not spin for), and then, if `bit` alone rang,
   as_channel_take_row: AS_TAKEN if that took one; else how many bits are in out[..max], which then are to be dealt with
   as if nothing had been tried. */
uint32_t as_channel_wait_row(as_consumer *consumer, as_doorbell *bell, uint32_t bit, uint64_t ns, as_entry *row,
                             uint32_t *out, uint32_t max);
/* Entries that wait. */
uint64_t as_channel_waiting(as_consumer *consumer);
/* Makes a hold of one use for the loan of `entry`, whose block lies in `arena` (mapped here). Call at most once an
   entry, before or after consuming it. NULL with errno ESTALE if magic or generation differ. */
as_hold *as_channel_borrow(as_consumer *consumer, const as_entry *entry, as_arena *arena);
/* Moves the head by `count`: gives credit to the producer, rings it if it waits. An entry with a block that was never
   borrowed must be handed back with as_channel_return, afterwards: a successor may read what is not consumed. */
void as_channel_consume(as_consumer *consumer, uint32_t count);
void as_channel_return(as_consumer *consumer, uint32_t loan);
int64_t as_frontier_load(const as_consumer *consumer, uint32_t word);
/* out: consumed entries, waiting entries, loans borrowed and not returned */
void as_consumer_statistics(const as_consumer *consumer, uint64_t out[3]);
/* cffi: end */
#define AS_NO_LOAN 0xffffffffu
#define AS_ENTRY_MAGIC 0x4a544153u /* "SATJ" */
#define AS_ENTRY_VERSION 1
#define AS_KIND_ROW 5
#define AS_TAKEN 0xffffffffu
#endif
