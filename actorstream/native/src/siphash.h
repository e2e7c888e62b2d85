/* SipHash-2-4 (Aumasson and Bernstein 2012): a tag of 64 bits that only who has the key of 128 bits can make. Private to src/. */
#ifndef ACTORSTREAM_SIPHASH_H
#define ACTORSTREAM_SIPHASH_H
#include <stddef.h>
#include <stdint.h>

static inline uint64_t as_sip_word(const uint8_t *from, size_t count) {
    uint64_t word = 0;
    for (size_t i = 0; i < count; i++) {
        word |= (uint64_t)from[i] << (8 * i);
    }
    return word;
}

static inline uint64_t as_sip_turn(uint64_t word, int bits) {
    return word << bits | word >> (64 - bits);
}

static inline void as_sip_rounds(uint64_t v[4], int rounds) {
    for (; rounds > 0; rounds--) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = as_sip_turn(v[1], 13) ^ v[0];
        v[3] = as_sip_turn(v[3], 16) ^ v[2];
        v[0] = as_sip_turn(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = as_sip_turn(v[1], 17) ^ v[2];
        v[3] = as_sip_turn(v[3], 21) ^ v[0];
        v[2] = as_sip_turn(v[2], 32);
    }
}

static inline uint64_t as_siphash(const uint8_t key[16], const uint8_t *data, size_t length) {
    uint64_t low = as_sip_word(key, 8), high = as_sip_word(key + 8, 8);
    uint64_t v[4] = {low ^ UINT64_C(0x736f6d6570736575), high ^ UINT64_C(0x646f72616e646f6d),
                     low ^ UINT64_C(0x6c7967656e657261), high ^ UINT64_C(0x7465646279746573)};
    size_t whole = length / 8 * 8;
    for (size_t at = 0; at <= whole; at += 8) {
        uint64_t word = at < whole ? as_sip_word(data + at, 8)
                                   : as_sip_word(data + at, length - whole) | (uint64_t)(length & 255) << 56;
        v[3] ^= word;
        as_sip_rounds(v, 2);
        v[0] ^= word;
    }
    v[2] ^= 255;
    as_sip_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
#endif
