/*
 * Kernels over columns: hashing, key groups and partitioning. Pure functions without state: any thread may call them
 * on its own outputs, and none waits for another. Scratch is on the stack, beyond 4096 rows from malloc.
 *
 * The key hash is stable (version 1; also in docs/topology.md): integers, booleans, datetimes and dictionary codes
 * hash their value as int64, whatever their width; floats hash their float64 bits with -0.0 as 0.0 and one NaN;
 * strings and bytes hash their bytes; a null hashes to a constant; several key columns combine in order.
 * With all arithmetic on 64 bits without sign, >> filling with zeros, and constants that are the first 64 bits of the
 * fractions of square roots, lowest bit set:
 *
 *   mix(x)       x ^= x >> 32;  x *= R5;  x ^= x >> 29;  x *= R7;  x ^= x >> 32         (one to one)
 *   int64        mix(value ^ R2), so two integers never share a hash
 *   float64      mix(bits ^ R2); NaN has the bits 0x7ff8000000000000
 *   bytes        h = R3 ^ (length * R11);  words of 8 bytes, little-endian, the last one (1..8 bytes) zero-padded;
 *                each but the last: p = (h ^ word) * R13 on 128 bits, h = high(p) ^ low(p);  the last: mix(h ^ word);
 *                no bytes: mix(h)
 *   null         R19
 *   combine      c = rotate_left(h, 31) * R17 + next;  c ^ (c >> 32)
 *   key group    ((hash >> 32) * groups) >> 32
 */
#ifndef ACTORSTREAM_KERNELS_H
#define ACTORSTREAM_KERNELS_H
#include "column.h"
/* cffi: begin */
enum { AS_HASH_SIGNED = 1, AS_HASH_UNSIGNED = 2, AS_HASH_FLOAT = 3, AS_HASH_BYTES = 4 };
/* hash[i] for `rows` rows of one key column; `combine`: mixes into what hash[] holds instead of starting afresh.
   Signed and unsigned: widths 1, 2, 4, 8; float: 4, 8; bytes: variable, or any fixed width. AS_OK | AS_E_ARGUMENT. */
int as_hash_column(const as_column *column, uint32_t how, int64_t rows, uint64_t *hash, int combine);
/* The same hash for one value, for tests and for routing single messages. */
uint64_t as_hash_int64(int64_t value);
uint64_t as_hash_float64(double value);
uint64_t as_hash_bytes(const void *data, uint64_t bytes);
uint64_t as_hash_null(void);
uint64_t as_hash_combine(uint64_t hash, uint64_t next);
/* Key group of a hash: 0 .. groups - 1. */
uint32_t as_key_group(uint64_t hash, uint32_t groups);
/* The key group of each hash. */
void as_key_groups(const uint64_t *hash, int64_t rows, uint32_t groups, uint32_t *group);
/* Stable partition of rows 0 .. rows-1 by hash: group -> destination[group] (< destinations). Writes the row numbers
   grouped by destination (ascending within each) to index[rows] and the count of each to counts[destinations].
   AS_OK | AS_E_ARGUMENT (rows over 2^32 - 1, no groups, a destination out of range) | AS_E_MEMORY. */
int as_partition_hash(const uint64_t *hash, int64_t rows, const uint32_t *destination, uint32_t groups,
                      uint32_t destinations, uint32_t *index, int64_t *counts);
/* The same, with the destination of each row given (user functions, ranges). AS_E_ARGUMENT if one is out of range;
   then index and counts are unspecified. */
int as_partition_rows(const uint32_t *destination, int64_t rows, uint32_t destinations, uint32_t *index,
                      int64_t *counts);
/* Fused: hash of one key column of any kind and partition, without an intermediate hash array. */
int as_partition_key(const as_column *key, uint32_t how, int64_t rows, const uint32_t *destination, uint32_t groups,
                     uint32_t destinations, uint32_t *index, int64_t *counts);
/* Row numbers where mask[i] != 0; answers how many, or AS_E_ARGUMENT. index has room for `rows` numbers. */
int64_t as_mask_to_index(const uint8_t *mask, int64_t rows, uint32_t *index);
/* cffi: end */
#endif
