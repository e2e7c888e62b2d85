/*
 * Writing to memory that another core has read before and will read next. A plain store first fetches the line from the
 * cache that has it. From a core with a last-level cache of its own that takes long (round trip of a line: 370 to 600 ns):
 * a pipe of jumbo tuples moves 2.4 to 2.8 GB/s. A streaming store does not fetch the line, and its reader gets it from
 * memory: 17 to 23 GB/s. Where both cores share a cache (80 to 310 ns) plain stores are better: 25 to 39 GB/s, and streaming
 * stores 19 to 23. These figures and those below are of tests/native/c/away_speed.c on two virtual cores of an EPYC.
 * Private to src/.
 */
#ifndef ACTORSTREAM_PAST_CACHES_H
#define ACTORSTREAM_PAST_CACHES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "machine.h"
#ifdef __SSE2__
#include <emmintrin.h>
#define AS_STREAMING_STORES 1
#endif
#define AS_LINE 64
#ifndef AS_PART /* a test lowers it */
#define AS_PART 4096
#endif

_Static_assert(AS_PART % AS_LINE == 0 && AS_PART >= AS_LINE, "a part is lines");

/* To try so many lines takes 130 to 260 ns where the cores share a cache, 460 to 650 where they do not. */
#define AS_TRIED_LINES 32
#ifndef AS_FAR_NS /* a test lowers it */
#define AS_FAR_NS 400
#endif

/* Whether plain stores to this memory are slow. Overwrites AS_TRIED_LINES lines. */
static inline bool lines_are_far(uint8_t *to) {
#ifdef AS_STREAMING_STORES
    _mm_mfence(); /* stores of before do not count */
    const uint64_t began = as_now_ns();
    for (size_t line = 0; line < AS_TRIED_LINES; line++)
        *(volatile uint8_t *)(to + line * AS_LINE) = 0;
    _mm_mfence();
    return as_now_ns() - began >= AS_FAR_NS;
#else
    (void)to;
    return false;
#endif
}

/* Gathers bytes in `part` and writes them to `to` in whole lines. */
typedef struct stream {
    uint8_t *to; /* where the part goes, the start of a line */
    size_t filled;
    _Alignas(AS_LINE) uint8_t part[AS_PART + AS_LINE];
} stream;

static inline void stream_lines(uint8_t *restrict to, const uint8_t *restrict from, size_t bytes) {
#ifdef AS_STREAMING_STORES
    for (size_t at = 0; at < bytes; at += AS_LINE) {
        __m128i line[4];
        memcpy(line, from + at, AS_LINE);
        for (int i = 0; i < 4; i++)
            _mm_stream_si128((__m128i *)(void *)(to + at) + i, line[i]);
    }
#else
    memcpy(to, from, bytes);
#endif
}

/* Writes the whole lines of the part. */
static inline void stream_part(stream *stream) {
    const size_t lines = stream->filled & ~(size_t)(AS_LINE - 1);
    stream_lines(stream->to, stream->part, lines);
    stream->to += lines;
    stream->filled -= lines;
    memcpy(stream->part, stream->part + lines, stream->filled);
}

/* Where `bytes` may be put, at most AS_PART, or less than a line more than complete the current one. The caller adds them to
   `filled`. */
static inline uint8_t *stream_room(stream *stream, size_t bytes) {
    if (stream->filled + bytes > sizeof stream->part)
        stream_part(stream);
    return stream->part + stream->filled;
}

static inline void stream_append(stream *stream, const uint8_t *from, size_t bytes) {
    const size_t missing = -stream->filled & (AS_LINE - 1);
    if (bytes >= missing + AS_LINE) { /* whole lines need no copy in between */
        memcpy(stream_room(stream, missing), from, missing);
        stream->filled += missing;
        stream_part(stream);
        const size_t lines = (bytes - missing) & ~(size_t)(AS_LINE - 1);
        stream_lines(stream->to, from + missing, lines);
        stream->to += lines;
        from += missing + lines;
        bytes -= missing + lines;
    }
    memcpy(stream_room(stream, bytes), from, bytes);
    stream->filled += bytes;
}

/* Writes the rest, and zeros up to the end of its line. Returns the end. */
static inline uint8_t *stream_finish(stream *stream) {
    const size_t missing = -stream->filled & (AS_LINE - 1);
    memset(stream_room(stream, missing), 0, missing);
    stream->filled += missing;
    stream_part(stream);
    return stream->to;
}

/* All that was written so far is seen before what is stored from now on. */
static inline void stream_fence(void) {
#ifdef AS_STREAMING_STORES
    _mm_sfence();
#endif
}
#endif
