/*
 * Blocks of an own arena: size classes, free lists, merging. See arena.h.
 *
 * Payload classes are a quarter of a power of two apart: 256, 320, 384, 448, 512, 640, ... A freed block goes on top of
 * its class's list, so the next block of that size is still in cache. Neighbours are merged only by a sweep, and only
 * when memory would otherwise have to grow. All of it is private to the owner; a reader sees block headers alone.
 */
#include <errno.h>
#include <stdlib.h>

#include "hold.h"
#include "process.h"

enum { LEAST_SHIFT = 8, LEAST = 1 << LEAST_SHIFT };

/* The greatest class that is not above `bytes`; bytes >= LEAST. */
static uint32_t class_floor(uint64_t bytes) {
    uint32_t shift = 63u - (uint32_t)__builtin_clzll(bytes);
    uint32_t quarter = (uint32_t)(bytes >> (shift - 2)) & 3u;
    uint32_t number = (shift - LEAST_SHIFT) * 4 + quarter;
    return number < AS_CLASSES ? number : AS_CLASSES - 1;
}

static uint64_t class_bytes(uint32_t number) {
    return (uint64_t)(4 + number % 4) << (LEAST_SHIFT - 2 + number / 4);
}

static uint32_t class_ceiling(uint64_t bytes) {
    if (bytes <= LEAST) {
        return 0;
    }
    uint32_t number = class_floor(bytes);
    return class_bytes(number) < bytes ? number + 1 : number;
}

static void push_free(as_arena *arena, as_hold *block) {
    uint32_t number = class_floor(block->bytes);
    block->next_free = arena->bins[number];
    arena->bins[number] = block;
    arena->filled[number / 64] |= UINT64_C(1) << (number % 64);
    arena->free_bytes += block->bytes;
}

static as_hold *pop_free(as_arena *arena, uint32_t number) {
    as_hold *block = arena->bins[number];
    if (block != NULL) {
        arena->bins[number] = block->next_free;
        arena->free_bytes -= block->bytes;
        if (block->next_free == NULL) {
            arena->filled[number / 64] &= ~(UINT64_C(1) << (number % 64));
        }
    }
    return block;
}

/* The smallest class from `number` on whose list is not empty; AS_CLASSES if none. */
static uint32_t next_filled(const as_arena *arena, uint32_t number) {
    for (uint32_t word = number / 64; word < sizeof arena->filled / sizeof arena->filled[0]; word++) {
        uint64_t bits = arena->filled[word];
        if (word == number / 64) {
            bits &= ~UINT64_C(0) << (number % 64);
        }
        if (bits) {
            return word * 64 + (uint32_t)__builtin_ctzll(bits);
        }
    }
    return AS_CLASSES;
}

/* A descriptor, recycled or new; NULL: no memory. */
static as_hold *new_descriptor(as_arena *arena, uint64_t offset, uint64_t bytes) {
    as_hold *block = arena->spare;
    if (block != NULL) {
        arena->spare = block->next_free;
    } else if ((block = malloc(sizeof *block)) == NULL) {
        return NULL;
    }
    *block = (as_hold){.offset = offset, .bytes = bytes, .data = arena->base + offset, .arena = arena};
    return block;
}

static void write_header(as_arena *arena, as_hold *block, uint32_t generation) {
    as_block_header *header = as_block_at(arena, block->offset);
    atomic_store_explicit(&header->bytes, block->bytes, memory_order_relaxed);
    atomic_store_explicit(&header->arena, arena->id, memory_order_relaxed);
    atomic_store_explicit(&header->magic, AS_BLOCK_MAGIC, memory_order_relaxed);
    /* release; partner: the acquire in as_channel_borrow */
    atomic_store_explicit(&header->generation, generation, memory_order_release);
}

static void link_after(as_arena *arena, as_hold *block, as_hold *before) {
    block->before = before;
    block->after = before ? before->after : arena->first;
    *(before ? &before->after : &arena->first) = block;
    *(block->after ? &block->after->before : &arena->last) = block;
    arena->blocks++;
}

static void unlink_block(as_arena *arena, as_hold *block) {
    *(block->before ? &block->before->after : &arena->first) = block->after;
    *(block->after ? &block->after->before : &arena->last) = block->before;
    arena->blocks--;
    atomic_store_explicit(&as_block_at(arena, block->offset)->magic, 0, memory_order_relaxed);
    block->next_free = arena->spare;
    arena->spare = block;
}

/* Cuts what `payload` bytes do not need off a free block and makes it a free block of its own. */
static void trim(as_arena *arena, as_hold *block, uint64_t payload) {
    uint64_t rest = block->bytes - payload;
    if (rest < AS_BLOCK_HEADER + LEAST) {
        return;
    }
    as_hold *tail = new_descriptor(arena, block->offset + payload + AS_BLOCK_HEADER, rest - AS_BLOCK_HEADER);
    if (tail != NULL) {
        block->bytes = payload;
        link_after(arena, tail, block);
        write_header(arena, tail, 0);
        push_free(arena, tail);
    }
}

/* Merges free neighbours, gives what ends at the top back to it, and rebuilds the lists, lowest address on top. */
static void sweep(as_arena *arena) {
    for (uint32_t number = 0; number < AS_CLASSES; number++) {
        arena->bins[number] = NULL;
    }
    for (uint32_t word = 0; word < sizeof arena->filled / sizeof arena->filled[0]; word++) {
        arena->filled[word] = 0;
    }
    arena->frees = arena->free_bytes = 0;
    for (as_hold *block = arena->last; block != NULL;) {
        as_hold *before = block->before;
        if (!block->in_use && before != NULL && !before->in_use) {
            before->bytes += AS_BLOCK_HEADER + block->bytes;
            unlink_block(arena, block);
        } else if (!block->in_use && block->after == NULL) {
            arena->top = block->offset - AS_BLOCK_HEADER;
            unlink_block(arena, block);
        } else if (!block->in_use) {
            write_header(arena, block, 0);
            push_free(arena, block);
        }
        block = before;
    }
}

static as_hold *from_top(as_arena *arena, uint64_t payload) {
    if (arena->top + AS_BLOCK_HEADER + payload > arena->committed) {
        return NULL;
    }
    as_hold *block = new_descriptor(arena, arena->top + AS_BLOCK_HEADER, payload);
    if (block != NULL) {
        link_after(arena, block, arena->last);
        arena->top = block->offset + payload;
    }
    return block;
}

static as_hold *from_lists(as_arena *arena, uint32_t number, uint64_t payload) {
    uint32_t found = next_filled(arena, number);
    as_hold *block = found < AS_CLASSES ? pop_free(arena, found) : NULL;
    if (block != NULL && found != number) {
        trim(arena, block, payload);
    }
    return block;
}

/* Whether merging now is likely to save growing: much is free, and enough has changed since the last time. */
static int is_fragmented(const as_arena *arena, uint64_t payload) {
    return arena->free_bytes >= payload && arena->free_bytes * 4 >= arena->committed &&
           arena->frees * 8 >= arena->blocks;
}

/* Under the mutex. NULL: `error` says why. */
static as_hold *find_block(as_arena *arena, uint64_t bytes, int *error) {
    uint32_t number = class_ceiling(bytes);
    uint64_t payload = class_bytes(number);
    as_hold *block = arena->bins[number] ? from_lists(arena, number, payload) : from_top(arena, payload);
    if (block == NULL && is_fragmented(arena, payload)) {
        sweep(arena);
        block = from_top(arena, payload);
    }
    if (block == NULL) {
        block = from_lists(arena, number, payload);
    }
    if (block == NULL) {
        *error = as_arena_commit(arena, arena->top + AS_BLOCK_HEADER + payload);
        if (*error != 0 && arena->frees > 0) {
            sweep(arena);
            block = from_lists(arena, number, payload);
            *error = block ? 0 : as_arena_commit(arena, arena->top + AS_BLOCK_HEADER + payload);
        }
        if (block == NULL && *error == 0) {
            block = from_top(arena, payload);
            *error = block ? 0 : ENOMEM;
        }
    }
    return block;
}

as_hold *as_hold_allocate(as_arena *arena, uint64_t bytes) {
    int error = 0;
    if (!arena->owner || arena->forks != as_process_now()) {
        errno = EPERM;
        return NULL;
    }
    if (bytes > arena->limit) {
        errno = ENOMEM;
        return NULL;
    }
    pthread_mutex_lock(&arena->mutex);
    as_hold *block = find_block(arena, bytes, &error);
    if (block != NULL) {
        block->in_use = 1;
        block->generation = arena->generation;
        arena->generation += 2;
        write_header(arena, block, block->generation);
        arena->in_use_blocks++;
        arena->in_use_bytes += AS_BLOCK_HEADER + block->bytes;
        if (arena->in_use_bytes > arena->peak_bytes) {
            arena->peak_bytes = arena->in_use_bytes;
        }
        atomic_store_explicit(&block->uses, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&arena->references, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&arena->mutex);
    if (block == NULL) {
        errno = error;
    }
    return block;
}

void as_block_free(as_hold *block) {
    as_arena *arena = block->arena;
    if (arena->forks != as_process_now()) {
        return; /* a fork's copy of the handle: the block is the parent's */
    }
    pthread_mutex_lock(&arena->mutex);
    block->in_use = 0;
    write_header(arena, block, block->generation + 1);
    push_free(arena, block);
    arena->in_use_blocks--;
    arena->in_use_bytes -= AS_BLOCK_HEADER + block->bytes;
    arena->frees++;
    pthread_mutex_unlock(&arena->mutex);
    as_arena_unreference(arena);
}

void as_blocks_discard(as_arena *arena) {
    for (as_hold *lists[2] = {arena->first, arena->spare}, **list = lists; list < lists + 2; list++) {
        while (*list != NULL) {
            as_hold *next = list == lists ? (*list)->after : (*list)->next_free;
            free(*list);
            *list = next;
        }
    }
}
