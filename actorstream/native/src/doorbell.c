/* Telling a process that something of its was published; see doorbell.h for the layout and why no wake-up is lost. */
#define _GNU_SOURCE /* ppoll */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../include/doorbell.h"
#include "machine.h"
#include "ring.h"

#define MAGIC 0x4c4c4542u /* "BELL" */

typedef struct memory {
    uint32_t magic; /* 0 */
    uint32_t bits;
    _Alignas(64) _Atomic uint32_t parked;  /* 64 */
    _Alignas(64) _Atomic uint64_t words[]; /* 128 summary words, then bit words */
} memory;
_Static_assert(offsetof(memory, words) == 128, "doorbell.h draws it so");

struct as_doorbell {
    _Atomic uint32_t references; /* the opener and every end of a channel that rings it */
    memory *shared;
    _Atomic uint64_t *summary;
    _Atomic uint64_t *words;
    uint32_t bits;
    uint32_t summaries;
    uint32_t sleep; /* owner: number of its last sleep */
    int eventfd;
};

static uint32_t words_for(uint32_t bits) {
    return (uint32_t)(((uint64_t)bits + 63) / 64);
}

/* Summary words; padded so that bit words start on a cache line of their own, unless all fit into one: then a ring costs
   one line from the other core, and not two (benchmark `latency`). */
static uint32_t padded_summaries(uint32_t bits) {
    uint32_t summaries = words_for(words_for(bits));
    return summaries + words_for(bits) <= 8 ? summaries : (summaries + 7) / 8 * 8;
}

uint64_t as_doorbell_size(uint32_t bits) {
    uint64_t words = padded_summaries(bits) + (uint64_t)words_for(bits);
    return (sizeof(memory) + words * 8 + 63) / 64 * 64;
}

int as_doorbell_init(void *at, uint32_t bits) {
    memory *shared = at;
    if (at == NULL || bits == 0 || (uintptr_t)at % 64) {
        return AS_E_ARGUMENT;
    }
    memset(at, 0, as_doorbell_size(bits));
    shared->magic = MAGIC;
    shared->bits = bits;
    return AS_OK;
}

as_doorbell *as_doorbell_open(void *at, int eventfd) {
    memory *shared = at;
    int flags = eventfd < 0 ? O_NONBLOCK : fcntl(eventfd, F_GETFL);
    if (flags < 0) {
        return NULL;
    }
    if (at == NULL || (uintptr_t)at % 64 || shared->magic != MAGIC || shared->bits == 0 || !(flags & O_NONBLOCK)) {
        errno = EINVAL;
        return NULL;
    }
    as_doorbell *bell = malloc(sizeof *bell);
    if (bell != NULL) {
        *bell = (as_doorbell){
            .references = 1,
            .shared = shared,
            .summary = shared->words,
            .words = shared->words + padded_summaries(shared->bits),
            .bits = shared->bits,
            .summaries = words_for(words_for(shared->bits)),
            .sleep = (uint32_t)as_now_ns(), /* not the numbers that a predecessor used */
            .eventfd = eventfd,
        };
    }
    return bell;
}

as_doorbell *as_doorbell_retain(as_doorbell *bell) {
    if (bell != NULL) {
        atomic_fetch_add_explicit(&bell->references, 1, memory_order_relaxed);
    }
    return bell;
}

void as_doorbell_close(as_doorbell *bell) {
    /* acq_rel; partner: itself */
    if (bell != NULL && atomic_fetch_sub_explicit(&bell->references, 1, memory_order_acq_rel) == 1) {
        free(bell);
    }
}

/* Writing is worth it only if the bit is not set: then the line stays shared between the ringers. All seq_cst;
   partner: the exchanges of as_doorbell_collect. */
static void raise_bit(_Atomic uint64_t *word, uint32_t bit) {
    uint64_t mask = UINT64_C(1) << (bit % 64);
    if (!(atomic_load_explicit(word, memory_order_seq_cst) & mask)) {
        atomic_fetch_or_explicit(word, mask, memory_order_seq_cst);
    }
}

void as_doorbell_expect(const as_doorbell *bell, uint32_t bit) {
    if (bell != NULL && bit < bell->bits) {
        as_expect_write((const void *)&bell->words[bit / 64]);
    }
}

void as_doorbell_ring(as_doorbell *bell, uint32_t bit) {
    if (bell == NULL || bit >= bell->bits) {
        return;
    }
    raise_bit(&bell->words[bit / 64], bit);
    raise_bit(&bell->summary[bit / 4096], bit / 64);
    /* seq_cst; partner: the store in as_doorbell_park. Either we see him parked, or he sees our summary bit. */
    uint32_t sleep = atomic_load_explicit(&bell->shared->parked, memory_order_seq_cst);
    if (sleep != 0) {
        uint64_t one = 1;
        if (bell->eventfd >= 0) {
            while (write(bell->eventfd, &one, sizeof one) < 0 && errno == EINTR) {
            }
        }
        atomic_compare_exchange_strong_explicit(&bell->shared->parked, &sleep, 0, memory_order_seq_cst,
                                                memory_order_relaxed);
    }
}

/* Lists the bits of one word into out[..max]; what does not fit is set again. */
static uint32_t take_word(as_doorbell *bell, uint32_t number, uint32_t *out, uint32_t max) {
    /* seq_cst; partner: raise_bit. What was published before the bit was set is visible from here on. */
    uint64_t bits = atomic_exchange_explicit(&bell->words[number], 0, memory_order_seq_cst);
    uint32_t count = 0;
    for (; bits && count < max; bits &= bits - 1) {
        out[count++] = number * 64 + (uint32_t)__builtin_ctzll(bits);
    }
    if (bits) {
        atomic_fetch_or_explicit(&bell->words[number], bits, memory_order_seq_cst);
        raise_bit(&bell->summary[number / 64], number);
    }
    return count;
}

uint32_t as_doorbell_collect(as_doorbell *bell, uint32_t *out, uint32_t max) {
    uint32_t count = 0;
    for (uint32_t summary = 0; summary < bell->summaries && count < max; summary++) {
        if (atomic_load_explicit(&bell->summary[summary], memory_order_relaxed) == 0) {
            continue; /* a bit that is set later is seen by the next collect, or by park */
        }
        /* seq_cst; partner: raise_bit. Cleared before the words, so that a ringer who finds bit and summary set can
           rely on the bit being taken after it published. */
        uint64_t words = atomic_exchange_explicit(&bell->summary[summary], 0, memory_order_seq_cst);
        for (; words && count < max; words &= words - 1) {
            count += take_word(bell, summary * 64 + (uint32_t)__builtin_ctzll(words), out + count, max - count);
        }
        if (words) {
            atomic_fetch_or_explicit(&bell->summary[summary], words, memory_order_seq_cst);
        }
    }
    return count;
}

int as_doorbell_pending(const as_doorbell *bell) {
    for (uint32_t summary = 0; summary < bell->summaries; summary++) {
        /* seq_cst; partner: raise_bit, after the store in as_doorbell_park */
        if (atomic_load_explicit(&bell->summary[summary], memory_order_seq_cst) != 0) {
            return 1;
        }
    }
    return 0;
}

int as_doorbell_spin(as_doorbell *bell, uint64_t ns) {
    uint64_t start = as_now_ns();
    do {
        for (int round = 0; round < 16; round++) {
            if (as_doorbell_pending(bell)) {
                return 1;
            }
            as_relax();
        }
    } while (as_now_ns() - start < ns);
    return as_doorbell_pending(bell);
}

uint32_t as_doorbell_wait(as_doorbell *bell, uint64_t ns, uint32_t *out, uint32_t max) {
    return as_doorbell_spin(bell, ns) ? as_doorbell_collect(bell, out, max) : 0;
}

int as_doorbell_park(as_doorbell *bell) {
    bell->sleep = bell->sleep == UINT32_MAX ? 1 : bell->sleep + 1;
    /* seq_cst; partner: the load in as_doorbell_ring */
    atomic_store_explicit(&bell->shared->parked, bell->sleep, memory_order_seq_cst);
    if (as_doorbell_pending(bell)) {
        atomic_store_explicit(&bell->shared->parked, 0, memory_order_seq_cst);
        return AS_AGAIN;
    }
    return AS_OK;
}

static void empty(int eventfd) {
    uint64_t count;
    while (eventfd >= 0 && read(eventfd, &count, sizeof count) < 0 && errno == EINTR) {
    }
}

void as_doorbell_unpark(as_doorbell *bell) {
    atomic_store_explicit(&bell->shared->parked, 0, memory_order_seq_cst);
    empty(bell->eventfd);
}

int as_doorbell_look(const as_doorbell *bell, int descriptor, uint64_t ns) {
    struct pollfd watched = {descriptor, POLLIN, 0};
    uint64_t start = as_now_ns();
    while (!as_doorbell_pending(bell)) {
        if (poll(&watched, 1, 0) > 0) {
            return AS_OK;
        }
        if (as_now_ns() - start >= ns) {
            break;
        }
        sched_yield(); /* to the threads that make the descriptor readable, if they share this core */
    }
    return AS_AGAIN;
}
