/* Which process a private handle belongs to: handles that a fork copies are dead in the child. Private to src/. */
#ifndef ACTORSTREAM_PROCESS_H
#define ACTORSTREAM_PROCESS_H
#include <stdatomic.h>
#include <stdint.h>

/* How often this process descends from a fork since the core was loaded; a handle keeps the number it was made under.
   Written only in a fork's child, while it has one thread: relaxed. */
extern _Atomic uint32_t as_process_forks;

static inline uint32_t as_process_now(void) {
    return atomic_load_explicit(&as_process_forks, memory_order_relaxed);
}
#endif
