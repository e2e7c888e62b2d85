/*
 * Arena: position-independent shared memory for jumbo tuples.
 *
 * One process owns an arena (maps it read-write, allocates and frees); any other maps it read-only. A block is named
 * by (arena id, offset, generation); nothing in shared memory holds a pointer.
 *
 *   memfd   +----------------+------------------+----------------+------------------+--- - - -+
 *           | block header   | payload          | block header   | payload          |         |
 *           | 64 bytes       | 64-byte aligned  | 64 bytes       |                  | not yet |
 *           +----------------+------------------+----------------+------------------+--- - - -+
 *           0                64                                                     committed  limit
 *   header  0 magic u32 | 4 generation u32 (odd: in use) | 8 payload bytes u64 | 16 arena id u32 | 20.. unused
 *
 * Memory is committed in steps (of a file by fallocate), after looking at the free memory of the cgroup; the address range up to
 * `limit` is reserved without memory: the file is `limit` bytes long but sparse, so that no address of the mapping can
 * raise SIGBUS. Use counts are private to the owner (as_hold), so a peer that dies cannot corrupt them. All functions on
 * one as_arena may be called by any thread of the owning process (a short mutex inside, never held across a system call
 * that waits for another process). Handles belong to the process that opened them: in a fork's child allocating fails
 * with EPERM, and releasing a hold touches nothing shared.
 */
#ifndef ACTORSTREAM_ARENA_H
#define ACTORSTREAM_ARENA_H
#include "status.h"
/* cffi: begin */
typedef struct as_arena as_arena;
typedef struct as_hold as_hold;

/* Owner side. `fd`: a memfd, which stays the caller's; -1: memory of this process alone. `limit`: bytes of address space. NULL with errno on failure. */
as_arena *as_arena_create(int fd, uint64_t limit, uint32_t id, uint64_t commit_step);
/* Reader side: maps `fd` read-only over `limit` bytes. */
as_arena *as_arena_map(int fd, uint64_t limit, uint32_t id);
/* Gives the handle up. The mapping lives until the last hold of this process that refers to it is released. */
void as_arena_close(as_arena *arena);
uint32_t as_arena_id(const as_arena *arena);
uint64_t as_arena_limit(const as_arena *arena);
/* Owner side, private counters: committed bytes, bytes in use, blocks in use, peak bytes in use. */
void as_arena_statistics(as_arena *arena, uint64_t out[4]);
/* Owner side: tries huge pages for memory that is committed from now on (rounds the step up to 2 MiB). */
void as_arena_want_huge(as_arena *arena);
/* Owner side: committed bytes that the kernel has backed with huge pages; 0: none wished or none granted. */
uint64_t as_arena_huge_bytes(as_arena *arena);
/* Owner side: memory that is committed from now on comes from memory node `node` while it has some (mbind); its pages, for all
   who map them. 0, or the errno of the system's refusal, which changes nothing. */
int as_arena_bind(as_arena *arena, uint32_t node);
/* Owner side: sets the next block's generation, for testing its wrap-around. */
void as_arena_start_generation(as_arena *arena, uint32_t generation);

/*
 * A hold is a counted reference to one block, of the own arena or on loan from another process. It starts with one
 * use. When the last use is released an own block returns to the free list, a borrowed one to its owner's return
 * ring. Retain and release are safe from any thread.
 */
/* Allocates a block of at least `bytes` payload. NULL: errno is ENOMEM (limit or memory) or the system's error. */
as_hold *as_hold_allocate(as_arena *arena, uint64_t bytes);
void as_hold_retain(as_hold *hold);
/* Retains; the hold's own address, for whoever calls the functions of this header by theirs. */
uint64_t as_hold_share(as_hold *hold);
void as_hold_release(as_hold *hold);
/* The same, with the signature of a destructor: `data` is not used. */
void as_hold_drop(as_hold *hold, void *data);
uint8_t *as_hold_data(as_hold *hold);          /* the payload's address in this process */
uint64_t as_hold_address(const as_hold *hold); /* the same as a number */
uint64_t as_hold_bytes(const as_hold *hold);   /* payload capacity */
uint32_t as_hold_arena(const as_hold *hold);
uint64_t as_hold_offset(const as_hold *hold);
uint32_t as_hold_generation(const as_hold *hold);
uint32_t as_hold_uses(const as_hold *hold);
int as_hold_is_own(const as_hold *hold);
/* cffi: end */
#endif
