/*
 * Time slice: for how long a thread wants to run before others of its core do. Among threads that are due, Linux (6.12 and
 * later) lets one with a shorter slice run at once when it is woken; the share of the core that each gets stays the same.
 * Of the calling thread, and of threads and processes that it starts later.
 */
#ifndef ACTORSTREAM_SLICE_H
#define ACTORSTREAM_SLICE_H
#include <stdint.h>
/* cffi: begin */
/* The slice in ns; 0: this kernel does not say, or the thread has a policy without one. */
uint64_t as_slice_read(void);
/* Asks for a slice of 0.1 to 100 ms. 0, or the error's number: what it was before stays. */
int as_slice_request(uint64_t ns);
/* cffi: end */
#endif
