/*
 * Kernels over columns: hashing, key groups and partitioning. Pure functions without state, safe from any thread.
 *
 * The key hash is stable and documented (docs/topology.md): integers, booleans, datetimes and dictionary codes hash
 * their value as int64, whatever their width; floats hash their float64 bits with -0.0 as 0.0 and one NaN; strings and
 * bytes hash their bytes; a null hashes to a constant; several key columns combine in order.
 */
#ifndef ACTORSTREAM_KERNELS_H
#define ACTORSTREAM_KERNELS_H
#include "column.h"
/* cffi: begin */
enum { AS_HASH_SIGNED = 1, AS_HASH_UNSIGNED = 2, AS_HASH_FLOAT = 3, AS_HASH_BYTES = 4 };
/* hash[i] for `rows` rows of one key column; `combine`: mixes into what hash[] holds instead of starting afresh. */
int as_hash_column(const as_column *column, uint32_t how, int64_t rows, uint64_t *hash, int combine);
/* The same hash for one value, for tests and for routing single messages. */
uint64_t as_hash_int64(int64_t value);
uint64_t as_hash_bytes(const void *data, uint64_t bytes);
/* Key group of a hash: 0 .. groups - 1. */
uint32_t as_key_group(uint64_t hash, uint32_t groups);
/* Stable partition of rows 0 .. rows-1 by hash: group -> destination[group] (< destinations). Writes the row numbers
   grouped by destination (ascending within each) to index[rows] and the count of each to counts[destinations]. */
int as_partition_hash(const uint64_t *hash, int64_t rows, const uint32_t *destination, uint32_t groups,
                      uint32_t destinations, uint32_t *index, int64_t *counts);
/* The same, with the destination of each row given (user functions, ranges). AS_E_ARGUMENT if one is out of range. */
int as_partition_rows(const uint32_t *destination, int64_t rows, uint32_t destinations, uint32_t *index,
                      int64_t *counts);
/* Fused: hash of one fixed-width integer key and partition, without an intermediate hash array. */
int as_partition_key(const as_column *key, uint32_t how, int64_t rows, const uint32_t *destination, uint32_t groups,
                     uint32_t destinations, uint32_t *index, int64_t *counts);
/* Row numbers where mask[i] != 0; answers how many. */
int64_t as_mask_to_index(const uint8_t *mask, int64_t rows, uint32_t *index);
/* cffi: end */
#endif
