/* What memory that several processes map asks of atomics. An atomic that takes a lock takes one of its own process, which
   holds back nobody in another. Private to src/. */
#ifndef ACTORSTREAM_SHARED_H
#define ACTORSTREAM_SHARED_H
#include <stdatomic.h>
#include <stdint.h>

_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LONG_LOCK_FREE == 2 && ATOMIC_LLONG_LOCK_FREE == 2,
               "shared memory needs lock-free atomics of 32 and 64 bits");
_Static_assert(sizeof(_Atomic uint32_t) == 4 && sizeof(_Atomic uint64_t) == 8 && sizeof(_Atomic int64_t) == 8,
               "atomics in shared memory lie where the drawings say");
#endif
