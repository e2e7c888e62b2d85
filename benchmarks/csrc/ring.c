/* The bare ring that `ipc` is compared with: single producer, single consumer, fixed slots in memory that two
   processes share, driven from Python one call a slot. Nothing else: no parking, budgets, loans, epochs, headers. */
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* cdef */
size_t ring_size(uint32_t slots, size_t slot_bytes);
void ring_init(void *memory, uint32_t slots, size_t slot_bytes);
size_t ring_slot_offset(void *memory, uint32_t slot);
uint32_t ring_claim(void *memory);
void ring_publish(void *memory);
int64_t ring_take(void *memory);
void ring_release(void *memory);
void ring_end(void *memory);
/* end */

/* offset   0  slots, slot_bytes             read only after ring_init
   offset 128  committed  (producer's line)  slots published, ever
   offset 256  consumed   (consumer's line)  slots released, ever
   offset 384  ended      1 once the producer publishes no more
   offset 512  slot 0, slot 1, ...           64-byte aligned */
struct ring {
    _Alignas(128) uint32_t slots;
    size_t slot_bytes;
    _Alignas(128) _Atomic uint64_t committed;
    _Alignas(128) _Atomic uint64_t consumed;
    _Alignas(128) _Atomic uint32_t ended;
    _Alignas(128) char data[];
};

#define SPINS 4000

/* One look in vain: a pause, and every SPINS times the core, in case both processes were put on one. */
static inline void relax(uint32_t *spins) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
    if (++*spins % SPINS == 0)
        sched_yield();
}

size_t ring_size(uint32_t slots, size_t slot_bytes) {
    return sizeof(struct ring) + slots * slot_bytes;
}

void ring_init(void *memory, uint32_t slots, size_t slot_bytes) {
    struct ring *ring = memory;
    ring->slots = slots;
    ring->slot_bytes = slot_bytes;
    atomic_init(&ring->committed, 0);
    atomic_init(&ring->consumed, 0);
    atomic_init(&ring->ended, 0);
}

size_t ring_slot_offset(void *memory, uint32_t slot) {
    struct ring *ring = memory;
    return offsetof(struct ring, data) + slot * ring->slot_bytes;
}

/* Producer only. Spins until a slot is free; its number. Pairs with ring_release's store. */
uint32_t ring_claim(void *memory) {
    struct ring *ring = memory;
    uint64_t next = atomic_load_explicit(&ring->committed, memory_order_relaxed);
    uint32_t spins = 0;
    while (next - atomic_load_explicit(&ring->consumed, memory_order_acquire) >= ring->slots)
        relax(&spins);
    return (uint32_t)(next % ring->slots);
}

/* Producer only. The claimed slot may now be read. Pairs with ring_take's load. */
void ring_publish(void *memory) {
    struct ring *ring = memory;
    uint64_t next = atomic_load_explicit(&ring->committed, memory_order_relaxed);
    atomic_store_explicit(&ring->committed, next + 1, memory_order_release);
}

/* Consumer only. Spins until a slot is there; its number, or -1 at the end. Pairs with ring_publish's store. */
int64_t ring_take(void *memory) {
    struct ring *ring = memory;
    uint64_t next = atomic_load_explicit(&ring->consumed, memory_order_relaxed);
    uint32_t spins = 0;
    for (;;) {
        uint32_t ended = atomic_load_explicit(&ring->ended, memory_order_acquire);
        if (atomic_load_explicit(&ring->committed, memory_order_acquire) != next)
            return (int64_t)(next % ring->slots);
        if (ended)
            return -1;
        relax(&spins);
    }
}

/* Consumer only. The taken slot may now be overwritten. Pairs with ring_claim's load. */
void ring_release(void *memory) {
    struct ring *ring = memory;
    uint64_t next = atomic_load_explicit(&ring->consumed, memory_order_relaxed);
    atomic_store_explicit(&ring->consumed, next + 1, memory_order_release);
}

/* Producer only, after its last publish. Pairs with ring_take's load of ended. */
void ring_end(void *memory) {
    struct ring *ring = memory;
    atomic_store_explicit(&ring->ended, 1, memory_order_release);
}
