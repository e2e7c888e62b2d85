/*
 * Turns: batch after batch of a source that makes its rows in C, each through all steps of a chain (chain.h), in one call;
 * or one batch that whoever calls has read. Nothing here chooses how large a batch is or what a chain has: whoever calls
 * says so, and how long the call may take.
 *
 * After each batch the call looks whether it must end. What it promises of event time on the way rings nobody, so that a
 * consumer that sleeps is woken at most once a call; the last promise, which says more than those before it, rings.
 *
 * One thread at a time for each turn and whatever it names. A call waits for nobody.
 */
#ifndef ACTORSTREAM_TURN_H
#define ACTORSTREAM_TURN_H
#include "chain.h"
#include "channel.h"
#include "doorbell.h"
/* cffi: begin */
enum as_turn_end { /* why a call returned; what it has taken is in `made` and `member` in any case */
                   AS_TURN_ROWS = 0, /* all rows that were asked for were made */
                   AS_TURN_TIME = 1, /* the deadline has passed */
                   AS_TURN_RUNG = 2, /* the doorbell was rung: another unit of the worker has something to do */
                   AS_TURN_DUE = 3, /* the event time that was promised has reached `due` */
                   AS_TURN_FULL = 4, /* a member has taken as many rows as it may, or more */
                   AS_TURN_REFUSED =
                       5 /* the next batch has a row that failed or is late: it is to go through the hooks */
};                      /* or AS_E_MEMORY or AS_E_CORRUPT, as as_chain_job returns them */
/* Makes `rows` rows from row `made` of a source on: sets `data` (and `offsets`) of its columns, and writes the least and the
   greatest event time of the rows, and what the next row has at the least. 0, or the rows cannot be made. */
typedef struct as_turn_source {
    uintptr_t make; /* int32_t (*)(void *context, uint64_t made, int64_t rows, as_column *columns, int64_t time[3]) */
    void *context;
    uint64_t entered; /* when the rows were asked for; 0: when they are made */
} as_turn_source;
/* A function that makes rows for a batch that was read: its columns lie where whoever calls has written. `time`: int64_t[3]
   that it returns. */
int32_t as_turn_read(void *time, uint64_t made, int64_t rows, as_column *columns, int64_t found[3]);
typedef struct as_turn_promise { /* a frontier word that says what the chain promises */
    as_producer *producer;
    uint32_t word;
} as_turn_promise;
typedef struct as_turn_member { /* what has come to a member since the counts were set to 0 */
    uint64_t rows, batches;
    uint64_t entered,
        began; /* of the last batch that had rows: when the source was asked for it, and when it had come */
    int64_t room; /* rows that it may still take; of one without a state INT64_MAX */
    int64_t *bounds; /* two words that are told the least and the greatest event time of each batch, or NULL */
    uint32_t set; /* given: the rows that come to it */
} as_turn_member;
typedef struct as_turn {
    const as_chain_work *work;
    as_turn_source source;
    as_turn_member *member; /* each behind the one that it takes rows of; `work` has the time of each */
    const as_turn_promise *promise;
    const as_doorbell *bell; /* or NULL */
    uint32_t members;
    uint32_t full; /* whether a member has no room */
    int64_t low; /* a batch with a row of an event time below it, or of 2^62 or more, is refused */
    int64_t due;
    int64_t bound; /* no promise passes it: what other partitions of the source may still have */
    uint64_t end; /* rows of the source that may be made */
    uint64_t made; /* rows of the source that were made */
    uint64_t took_ns; /* by the source: added to */
    int64_t latest; /* the greatest event time of the rows; undefined unless there were some */
    int64_t frontier; /* what was promised; as it was unless there were rows */
} as_turn;
/* Takes up to `most` rows, `rows` a batch, until `deadline` (ns); from `listens` on it looks at the doorbell. Makes the first
   `promises` of the promises. */
int32_t as_turn_run(as_turn *turn, int64_t rows, int64_t most, uint32_t promises, uint64_t deadline, uint64_t listens);
/* cffi: end */
#endif
