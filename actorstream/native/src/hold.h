/*
 * What a hold and an arena are made of; private to src/. Everything here is private memory of one process, except
 * as_block_header, which lies in the arena and is written by its owner alone.
 */
#ifndef ACTORSTREAM_HOLD_H
#define ACTORSTREAM_HOLD_H
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "../include/arena.h"
#include "shared.h"

#define AS_BLOCK_MAGIC 0x4b4c4253u /* "SBLK" */
#define AS_BLOCK_HEADER 64u
#define AS_CLASSES 160u

typedef struct as_block_header {
    _Atomic uint32_t magic;      /*  0 0 once the block has been merged into a neighbour */
    _Atomic uint32_t generation; /*  4 release; partner: the acquire in as_channel_borrow. Odd: in use */
    _Atomic uint64_t bytes;      /*  8 payload capacity */
    _Atomic uint32_t arena;      /* 16 arena id */
} as_block_header;
_Static_assert(sizeof(as_block_header) <= AS_BLOCK_HEADER, "a header fits before its payload");

struct as_return_path; /* where borrowed blocks go back to; channel.c */

struct as_hold {
    _Atomic uint32_t uses; /* retain: relaxed; release: acq_rel, partner: the release that brings it to zero */
    uint32_t generation;
    uint32_t in_use; /* own blocks: 0 while on a free list; under the arena's mutex */
    uint32_t loan;   /* borrowed blocks: the loan's number */
    uint64_t offset; /* of the payload in its arena */
    uint64_t bytes;  /* payload capacity */
    uint8_t *data;
    as_arena *arena;
    struct as_return_path *path;    /* NULL: an own block */
    as_hold *next_free;             /* own blocks: LIFO free list of the class, or spare descriptors */
    as_hold *before, *after;        /* own blocks: neighbours by address */
};

struct as_arena {
    _Atomic uint32_t references; /* one for the handle and one per hold: the mapping lives until the last is gone */
    uint32_t id;
    uint32_t forks; /* as_process_now() of its maker */
    int owner;
    int fd; /* own duplicate; -1: not needed, or private memory */
    uint8_t *base;
    uint64_t limit;
    uint64_t reach; /* reader: bytes of the file known to exist */
    pthread_mutex_t mutex; /* guards everything below; owner only */
    uint64_t commit_step, committed, top;
    uint64_t in_use_bytes, in_use_blocks, peak_bytes, free_bytes, huge_bytes;
    uint64_t frees, blocks; /* frees since the last sweep; blocks between 0 and top */
    uint32_t generation;    /* of the next block; always odd */
    int huge;
    as_hold *bins[AS_CLASSES];
    uint64_t filled[(AS_CLASSES + 63) / 64]; /* which bins are not empty */
    as_hold *first, *last, *spare;
};

/* arena.c */
void as_arena_unreference(as_arena *arena);
int as_arena_commit(as_arena *arena, uint64_t end);
int as_arena_reaches(as_arena *arena, uint64_t end);
/* blocks.c */
void as_block_free(as_hold *hold);
void as_blocks_discard(as_arena *arena);
/* channel.c: hands the loan of a borrowed hold back and frees the hold */
void as_loan_end(as_hold *hold);

static inline as_block_header *as_block_at(const as_arena *arena, uint64_t payload) {
    return (as_block_header *)(arena->base + payload - AS_BLOCK_HEADER);
}
#endif
