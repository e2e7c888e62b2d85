/* Reading and writing Arrow validity bitmaps at any bit offset. Private to the kernels; never reads past the
 * last byte. */
#ifndef ACTORSTREAM_BITS_H
#define ACTORSTREAM_BITS_H
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "jumbo tuples and key hashes are defined on little-endian machines"
#endif
#define AS_INLINE static inline __attribute__((always_inline, unused))

/* Values of a column may lie at any address (a NumPy view, a slice of a message): these types say so to the
   compiler, which then still vectorises. */
typedef uint16_t u16_any __attribute__((aligned(1), may_alias));
typedef uint32_t u32_any __attribute__((aligned(1), may_alias));
typedef uint64_t u64_any __attribute__((aligned(1), may_alias));
typedef int16_t i16_any __attribute__((aligned(1), may_alias));
typedef int32_t i32_any __attribute__((aligned(1), may_alias));
typedef int64_t i64_any __attribute__((aligned(1), may_alias));
typedef float f32_any __attribute__((aligned(1), may_alias));
typedef double f64_any __attribute__((aligned(1), may_alias));
typedef struct u128_any {
    u64_any low, high;
} u128_any;

AS_INLINE int bit_at(const uint8_t *bits, int64_t at) {
    return (bits[at >> 3] >> (at & 7)) & 1;
}

/* Bits at .. at + count - 1 (count 1 .. 64) in the low end of a word; the rest is zero. */
AS_INLINE uint64_t bits_load(const uint8_t *bits, int64_t at, unsigned count) {
    const uint8_t *from = bits + (at >> 3);
    unsigned shift = (unsigned)(at & 7), bytes = (shift + count + 7) >> 3;
    uint64_t word = 0;
    if (bytes >= 8) {
        word = *(const u64_any *)from >> shift;
        if (bytes == 9)
            word |= (uint64_t)from[8] << (64 - shift);
    } else {
        for (unsigned byte = 0; byte < bytes; byte++)
            word |= (uint64_t)from[byte] << (8 * byte);
        word >>= shift;
    }
    return count == 64 ? word : word & ((UINT64_C(1) << count) - 1);
}

/* Appends bits to a bitmap: whole words go out, the rest waits in `word`. */
typedef struct bit_writer {
    uint8_t *out;
    uint64_t word;
    unsigned held; /* bits in `word`, 0 .. 63 */
} bit_writer;

/* Invariant: bits of `word` at and above `held` are zero, and so are those of `bits` at and above `count`. */
AS_INLINE void bits_append(bit_writer *writer, uint64_t bits, unsigned count) {
    writer->word |= bits << writer->held;
    if (writer->held + count < 64) {
        writer->held += count;
        return;
    }
    *(u64_any *)writer->out = writer->word;
    writer->out += 8;
    unsigned written = 64 - writer->held;
    writer->word = written == 64 ? 0 : bits >> written;
    writer->held = count - written;
}

AS_INLINE uint8_t *bits_finish(bit_writer *writer) {
    unsigned bytes = (writer->held + 7) >> 3;
    memcpy(writer->out, &writer->word, bytes);
    return writer->out + bytes;
}
#endif
