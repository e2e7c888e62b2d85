/*
 * Memory nodes: where pages are taken from, and what it costs a core to read them. Nothing here decides; a binding that the
 * kernel refuses changes nothing.
 *
 * All functions may be called by any thread; they share no state.
 */
#ifndef ACTORSTREAM_NODE_H
#define ACTORSTREAM_NODE_H
#include "status.h"
/* cffi: begin */
/* Pages of [address, address + bytes) that are taken from now on come from memory node `node` (mbind, MPOL_PREFERRED: from
   another one where it has none left). `address` is a multiple of the page size. 0, or the errno of the system's refusal. */
int as_node_bind(uint64_t address, uint64_t bytes, uint32_t node);
/* The memory node that has the page at `address`; -1: it has no memory yet, or the kernel does not say. */
int as_node_of(uint64_t address);
/* Makes the `lines` cache lines of `line` bytes at `memory` one cycle in an order that no prefetcher guesses. */
void as_node_weave(uint8_t *memory, uint64_t lines, uint32_t line);
/* Follows the cycle from its first line for `steps` steps, each of which waits for the one before. Nanoseconds. */
uint64_t as_node_chase(const uint8_t *memory, uint64_t steps);
/* Reads `bytes` bytes at `memory`, a multiple of 64, one after the other. Nanoseconds. */
uint64_t as_node_stream(const uint8_t *memory, uint64_t bytes);
/* cffi: end */
#endif
