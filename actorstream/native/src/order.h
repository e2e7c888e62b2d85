/* Sorting row numbers by words, stably: radix passes over as many digits as the words differ in. Private. */
#ifndef ACTORSTREAM_ORDER_H
#define ACTORSTREAM_ORDER_H
#include <stdint.h>

/* Reorders `order` (`count` row numbers) so that key[order[i] * stride] ^ flip ascends. `flip`: 2^63 for
   signed words. AS_OK | AS_E_MEMORY. */
int as_order_by(uint32_t *order, uint64_t count, const uint64_t *key, uint64_t stride, uint64_t flip);
#endif
