/* Arrays that begin as zeros and grow without being copied: small ones on the heap, large ones as pages of
 * their own, so that what is never touched takes no memory and what is dropped goes back to the kernel at
 * once. Private. */
#ifndef ACTORSTREAM_ZEROED_H
#define ACTORSTREAM_ZEROED_H
#include <stddef.h>

/* `old` (of `old_bytes`, or NULL and 0) as an array of `bytes` > old_bytes, the rest zero. NULL: no memory,
   and `old` is as it was. */
void *as_zeroed_grow(void *old, size_t old_bytes, size_t bytes);
/* `bytes`: as it was grown to. NULL is allowed. */
void as_zeroed_free(void *array, size_t bytes);
#endif
