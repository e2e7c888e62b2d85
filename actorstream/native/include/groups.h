/*
 * Groups: the distinct keys of rows as dense numbers 0, 1, 2, ..., so that what is kept for a key is an array
 * (hash aggregation, AIR section 4.2). A key is any number of columns, nulls included; one owner at a time.
 *
 *   kind      key columns                        a key is found
 *   ALL       none                               all rows are group 0
 *   DIRECT    one of integers whose values lie   number = key - base; numbers of keys that were not seen are no
 *             close together                     groups
 *   NUMBER    one of integers or floats          in a hash table (buckets of a cache line, src/groups_find.h)
 *   TEXT      one of bytes                       in src/texts.h
 *   ROW       several, or nullable ones          bytes as numbers of texts, then all words in a hash table
 *
 * Keys are equal as in kernels.h, and two nulls are. DIRECT and NUMBER turn into each other as keys come and
 * go, and groups that are not needed any more are dropped: then all numbers change at once, at a moment that
 * the owner chooses (`as_groups_renumber`).
 */
#ifndef ACTORSTREAM_GROUPS_H
#define ACTORSTREAM_GROUPS_H
#include "kernels.h"
#include "operand.h"
/* cffi: begin */
enum { AS_GROUPS_ALL = 0, AS_GROUPS_DIRECT = 1, AS_GROUPS_NUMBER = 2, AS_GROUPS_TEXT = 3, AS_GROUPS_ROW = 4 };
enum { AS_GROUPS_KEYS = 16 };    /* key columns at the most */
enum { AS_GROUPS_BLOCK = 1024 }; /* rows of one as_groups_find at the most */
typedef struct as_groups as_groups;
/* `how[k]` as in kernels.h, `nullable[k]` 0 or 1. NULL with errno ENOMEM or EINVAL. */
as_groups *as_groups_create(uint32_t keys, const uint32_t *how, const uint32_t *nullable);
void as_groups_destroy(as_groups *groups);
/* The group of rows row .. row + rows - 1 of `keys` key columns; new ones are added. AS_OK | AS_E_MEMORY
   (also beyond 2^32 - 2 groups) | AS_AGAIN: as_groups_renumber is due, and nothing was changed. */
int as_groups_find(as_groups *groups, const as_operand *key, int64_t row, int64_t rows, uint32_t *group);
/* Whether renumbering now would make looking up faster: to be asked between batches; amortised O(1) a
   new group. */
int as_groups_crowded(as_groups *groups);
/* Gives groups new numbers and drops those without alive[group] (NULL: keeps all). map[old] is the new
   number, or UINT32_MAX; it has as_groups_count entries as of before. AS_OK | AS_E_MEMORY (nothing was
   changed). */
int as_groups_renumber(as_groups *groups, const uint8_t *alive, uint32_t *map);
/* Numbers are below this. */
uint64_t as_groups_count(const as_groups *groups);
uint32_t as_groups_kind(const as_groups *groups);
uint64_t as_groups_bytes(const as_groups *groups);
/* Group numbers in the order of their keys (columns in order, ascending, floats with NaN last, bytes
   bytewise, nulls last); good until groups are added. *order NULL: the numbers themselves ascend. AS_OK |
   AS_E_MEMORY. */
int as_groups_order(as_groups *groups, const uint32_t **order);
/* Key column `key` of `rows` groups as words of 64 bits (floats: of float64), for integers and floats. */
void as_groups_words(const as_groups *groups, uint32_t key, const uint32_t *group, int64_t rows, uint64_t *word);
/* One byte a group: 0 where the key column is null. */
void as_groups_valid(const as_groups *groups, uint32_t key, const uint32_t *group, int64_t rows, uint8_t *valid);
/* For bytes: offsets[rows + 1] from 0, and with `data` != NULL the bytes. Answers how many bytes. */
int64_t as_groups_texts(const as_groups *groups, uint32_t key, const uint32_t *group, int64_t rows, int64_t *offsets,
                        uint8_t *data);
/* cffi: end */
#endif
