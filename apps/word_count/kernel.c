/* Word count on whole columns: lines to words, and keyed counting. Plain C without Python; see kernel.py.

   Strings come and go as Arrow has them: n + 1 offsets (32 bits) into the bytes of all rows. A word is a maximal run
   of ASCII letters, lower-cased. Every function may be called for different objects at the same time and never waits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* cdef */
typedef struct wc_table wc_table;
int64_t wc_split(int64_t lines, const int32_t *offsets, const uint8_t *data, int32_t *word_offsets, uint8_t *word_data,
                 uint32_t *line_of);
wc_table *wc_table_new(void);
void wc_table_free(wc_table *table);
int wc_count(wc_table *table, int64_t words, const int32_t *offsets, const uint8_t *data, int64_t *counts);
int wc_table_add(wc_table *table, const uint8_t *word, int32_t length, int64_t count);
int64_t wc_table_words(const wc_table *table);
int64_t wc_table_bytes(const wc_table *table);
void wc_table_read(const wc_table *table, int32_t *offsets, uint8_t *data, int64_t *counts);
/* end */

/* The words of one line are appended to `out`. Branch-free over the bytes, since words are so short that a branch at each
   end would be mispredicted: 1.5 ns a byte; with AVX-512, 64 bytes at a time, 0.4 ns. WC_PLAIN leaves
   that way out. */
struct words {
    int64_t number;
    int32_t bytes;
    int32_t *offsets;
    uint8_t *data;
};

#if defined(__AVX512BW__) && defined(__AVX512VBMI2__) && !defined(WC_PLAIN)
#include <immintrin.h>

static void split_line(struct words *out, const uint8_t *at, int32_t left) {
    uint64_t open = 0; /* 1: the block before ended inside a word */
    for (; left > 0; at += 64, left -= 64) {
        uint64_t here = left < 64 ? (1ull << left) - 1 : ~0ull;
        __m512i low = _mm512_or_si512(_mm512_maskz_loadu_epi8(here, at), _mm512_set1_epi8(32));
        uint64_t letters = _mm512_cmplt_epu8_mask(_mm512_sub_epi8(low, _mm512_set1_epi8('a')), _mm512_set1_epi8(26));
        for (uint64_t gaps = ~letters & (letters << 1 | open); gaps; gaps &= gaps - 1) {
            uint64_t before = (gaps & -gaps) - 1;
            out->offsets[++out->number] = out->bytes + __builtin_popcountll(letters & before);
        }
        _mm512_storeu_si512(out->data + out->bytes, _mm512_maskz_compress_epi8(letters, low));
        out->bytes += __builtin_popcountll(letters);
        open = letters >> 63;
    }
    if (open)
        out->offsets[++out->number] = out->bytes;
}
#else
/* Letter -> its lower case, anything else -> 0. */
#define L(c) [c] = (c) | 32, [(c) | 32] = (c) | 32
static const uint8_t lower[256] = {L('A'), L('B'), L('C'), L('D'), L('E'), L('F'), L('G'), L('H'), L('I'),
                                   L('J'), L('K'), L('L'), L('M'), L('N'), L('O'), L('P'), L('Q'), L('R'),
                                   L('S'), L('T'), L('U'), L('V'), L('W'), L('X'), L('Y'), L('Z')};
#undef L

static void split_line(struct words *out, const uint8_t *at, int32_t left) {
    uint8_t before = 0;
    for (const uint8_t *end = at + left; at < end; at++) {
        uint8_t letter = lower[*at];
        out->number += (before != 0) & (letter == 0);
        out->data[out->bytes] = letter;
        out->bytes += letter != 0;
        out->offsets[out->number + 1] = out->bytes;
        before = letter;
    }
    out->number += before != 0;
    out->offsets[out->number] = out->bytes;
}
#endif

/* Splits `lines` lines; answers the number of words. The caller owns the outputs: `word_data` 64 bytes more than the
   lines have, `word_offsets` and `line_of`, the line of each word, half as many entries plus one a line plus two (a word
   takes a letter and a gap, or the end of the line). */
int64_t wc_split(int64_t lines, const int32_t *offsets, const uint8_t *data, int32_t *word_offsets, uint8_t *word_data,
                 uint32_t *line_of) {
    struct words out = {.offsets = word_offsets, .data = word_data};
    word_offsets[0] = 0;
    for (int64_t line = 0; line < lines; line++) {
        int64_t first = out.number;
        split_line(&out, data + offsets[line], offsets[line + 1] - offsets[line]);
        for (int64_t word = first; word < out.number; word++)
            line_of[word] = (uint32_t)line;
    }
    return out.number;
}

/* Open addressing with linear probing. A word of up to 16 bytes lies in its slot, zero-padded; a longer one in `text`,
   with its hash and place in the slot. Bytes are compared as little-endian integers. */
struct slot {
    uint64_t low, high; /* up to 16 bytes; longer: hash, place in text */
    int64_t count;
    int64_t size; /* bytes + 1; 0: free */
};

struct wc_table {
    struct slot *slots;
    uint64_t mask;
    int64_t used, bytes;
    uint8_t *text;
    int64_t text_used, text_size;
};

#define FIRST_SLOTS 16384
#define LONGEST_INSIDE 16

wc_table *wc_table_new(void) {
    wc_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    table->mask = FIRST_SLOTS - 1;
    table->slots = calloc(FIRST_SLOTS, sizeof *table->slots);
    if (table->slots)
        return table;
    free(table);
    return NULL;
}

void wc_table_free(wc_table *table) {
    if (!table)
        return;
    free(table->slots);
    free(table->text);
    free(table);
}

static inline uint64_t place_of(uint64_t low, uint64_t high) {
    uint64_t mixed = (low ^ (high * 0x9E3779B97F4A7C15ull)) * 0xD6E8FEB86659FD93ull;
    return mixed ^ (mixed >> 32);
}

static uint64_t hash_long(const uint8_t *word, int32_t length) {
    uint64_t hash = 0xCBF29CE484222325ull;
    for (int32_t i = 0; i < length; i++)
        hash = (hash ^ word[i]) * 0x100000001B3ull;
    return hash;
}

/* The bytes before `length` of the 8 at `word`; all 8 must be readable. */
static inline uint64_t load(const uint8_t *word, int32_t length) {
    uint64_t value;
    memcpy(&value, word, 8);
    return length >= 8 ? value : value & ~(~0ull << (8 * length));
}

static int is_long(const wc_table *table, const struct slot *slot, uint64_t hash, const uint8_t *word, int32_t length) {
    return slot->low == hash && slot->size == length + 1 && !memcmp(table->text + slot->high, word, (size_t)length);
}

static int keep_text(wc_table *table, const uint8_t *word, int32_t length) {
    if (table->text_used + length > table->text_size) {
        int64_t size = 2 * table->text_size + length + 4096;
        uint8_t *text = realloc(table->text, (size_t)size);
        if (!text)
            return -1;
        table->text = text;
        table->text_size = size;
    }
    memcpy(table->text + table->text_used, word, (size_t)length);
    table->text_used += length;
    return 0;
}

static int grow(wc_table *table) {
    uint64_t mask = 2 * table->mask + 1;
    struct slot *slots = calloc(mask + 1, sizeof *slots);
    if (!slots)
        return -1;
    for (uint64_t i = 0; i <= table->mask; i++) {
        struct slot *slot = &table->slots[i];
        if (!slot->size)
            continue;
        uint64_t at = place_of(slot->low, slot->size > LONGEST_INSIDE + 1 ? 0 : slot->high) & mask;
        while (slots[at].size)
            at = (at + 1) & mask;
        slots[at] = *slot;
    }
    free(table->slots);
    table->slots = slots;
    table->mask = mask;
    return 0;
}

/* Puts a new word into the free slot that its search ended in. */
static struct slot *settle(wc_table *table, struct slot *slot, uint64_t low, uint64_t high, int32_t length) {
    *slot = (struct slot){.low = low, .high = high, .size = length + 1};
    table->used++;
    table->bytes += length;
    return slot;
}

static struct slot *find_short(wc_table *table, uint64_t low, uint64_t high, int32_t length) {
    for (uint64_t at = place_of(low, high) & table->mask;; at = (at + 1) & table->mask) {
        struct slot *slot = &table->slots[at];
        if (slot->low == low && slot->high == high && slot->size == length + 1)
            return slot;
        if (!slot->size)
            return settle(table, slot, low, high, length);
    }
}

static struct slot *find_long(wc_table *table, const uint8_t *word, int32_t length) {
    uint64_t hash = hash_long(word, length);
    for (uint64_t at = place_of(hash, 0) & table->mask;; at = (at + 1) & table->mask) {
        struct slot *slot = &table->slots[at];
        if (slot->size && is_long(table, slot, hash, word, length))
            return slot;
        if (slot->size)
            continue;
        uint64_t place = (uint64_t)table->text_used;
        return keep_text(table, word, length) ? NULL : settle(table, slot, hash, place, length);
    }
}

/* Adds `count` (> 0) to the count of one word. 0, or -1: no memory. */
int wc_table_add(wc_table *table, const uint8_t *word, int32_t length, int64_t count) {
    if (2 * (uint64_t)table->used > table->mask && grow(table))
        return -1;
    struct slot *slot;
    if (length > LONGEST_INSIDE) {
        slot = find_long(table, word, length);
        if (!slot)
            return -1;
    } else {
        uint8_t padded[LONGEST_INSIDE] = {0};
        memcpy(padded, word, (size_t)length);
        slot = find_short(table, load(padded, 8), load(padded + 8, 8), length);
    }
    slot->count += count;
    return 0;
}

/* Counts the words of a column; `counts` gets each word's count so far, itself included. 0, or -1: no memory (the
   words before the one it failed at are counted). */
int wc_count(wc_table *table, int64_t words, const int32_t *offsets, const uint8_t *data, int64_t *counts) {
    int32_t end = words ? offsets[words] : 0;
    for (int64_t i = 0; i < words; i++) {
        int32_t begin = offsets[i], length = offsets[i + 1] - begin;
        struct slot *slot;
        if (2 * (uint64_t)table->used > table->mask && grow(table))
            return -1;
        if (length <= LONGEST_INSIDE && begin + LONGEST_INSIDE <= end) {
            uint64_t high = length > 8 ? load(data + begin + 8, length - 8) : 0;
            slot = find_short(table, load(data + begin, length), high, length);
            counts[i] = ++slot->count;
        } else if (length > LONGEST_INSIDE) {
            slot = find_long(table, data + begin, length);
            if (!slot)
                return -1;
            counts[i] = ++slot->count;
        } else { /* at the end of the data: not to be read past */
            uint8_t padded[LONGEST_INSIDE] = {0};
            memcpy(padded, data + begin, (size_t)length);
            slot = find_short(table, load(padded, 8), load(padded + 8, 8), length);
            counts[i] = ++slot->count;
        }
    }
    return 0;
}

int64_t wc_table_words(const wc_table *table) {
    return table->used;
}

int64_t wc_table_bytes(const wc_table *table) {
    return table->bytes;
}

/* All words and their counts, in no particular order: wc_table_words + 1 offsets, wc_table_bytes bytes. */
void wc_table_read(const wc_table *table, int32_t *offsets, uint8_t *data, int64_t *counts) {
    int32_t bytes = 0;
    offsets[0] = 0;
    for (uint64_t i = 0, row = 0; i <= table->mask; i++) {
        const struct slot *slot = &table->slots[i];
        if (!slot->size)
            continue;
        int64_t length = slot->size - 1;
        const uint8_t *word = length > LONGEST_INSIDE ? table->text + slot->high : (const uint8_t *)&slot->low;
        memcpy(data + bytes, word, (size_t)length);
        bytes += (int32_t)length;
        counts[row++] = slot->count;
        offsets[row] = bytes;
    }
}
