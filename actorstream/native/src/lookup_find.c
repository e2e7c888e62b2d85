/* Looking keys up in tables that were built: a block of rows at a time, what it will need prefetched. See lookup.h;
 * keys with several rows are in lookup_expand.c.
 * Figures on one core of Zen 4 by tests/native/c/lookup_speed.c. */
#include "lookup.h"
#include <string.h>
#include "lookup_slots.h"

#define CACHED 4096 /* rows of a table that need no prefetching */

/* Keys as places in a direct table; those outside as its last one. */
AS_INLINE void places_body(const uint64_t *keys, uint64_t least, uint64_t span, int64_t rows, uint32_t *place) {
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t at = keys[i] - least;
        place[i] = (uint32_t)(at < span ? at : span);
    }
}
AS_VERSIONS(places, (const uint64_t *keys, uint64_t least, uint64_t span, int64_t rows, uint32_t *place),
            (keys, least, span, rows, place))

AS_INLINE void hits_of_body(const uint32_t *found, int64_t rows, int64_t *hits) {
    uint32_t none = 0;
    for (int64_t i = 0; i < rows; i++)
        none += found[i] == NONE;
    *hits = rows - none;
}
AS_VERSIONS(hits_of, (const uint32_t *found, int64_t rows, int64_t *hits), (found, rows, hits))

/* Rows of one column that are looked up together: `index` as for as_lookup_find, already at the first of them. */
typedef struct asked {
    const as_column *key;
    const uint32_t *how;
    const uint32_t *index;
    int64_t row;
    int64_t rows;
} asked;

static void asked_numbers(const asked *ask, uint64_t *out) {
    const as_column *key = ask->key;
    const uint8_t *data = (const uint8_t *)key->data + key->first * key->width;
    if (ask->index != NULL)
        numbers_at(data, key->width, ask->how[0], ask->index, ask->rows, out);
    else
        numbers(data + ask->row * key->width, key->width, ask->how[0], ask->rows, out);
}

static void find_dense(const as_lookup *lookup, const asked *ask, uint32_t *found) {
    uint64_t keys[BLOCK];
    const uint32_t *direct = lookup->memory;
    asked_numbers(ask, keys);
    places(keys, lookup->least, lookup->span, ask->rows, found);
    for (int64_t i = 0; i < ask->rows; i++)
        found[i] = direct[found[i]];
}

AS_INLINE void homes_body(const uint64_t *word, uint64_t start, uint32_t buckets, int64_t rows, uint32_t *place) {
    for (int64_t i = 0; i < rows; i++)
        place[i] = home(word[i], start, buckets);
}
AS_VERSIONS(homes, (const uint64_t *word, uint64_t start, uint32_t buckets, int64_t rows, uint32_t *place),
            (word, start, buckets, rows, place))

/* The row of the lowest slot with the word, else what stands in `next`. */
AS_INLINE uint32_t in_bucket(const bucket *here, uint64_t word) {
    uint32_t slots = 1u << SLOTS;
    for (int slot = 0; slot < SLOTS; slot++)
        slots |= (uint32_t)(here->word[slot] == word) << slot;
    return ((const uint32_t *)here)[2 * SLOTS + __builtin_ctz(slots)];
}

static bool in_buckets(const bucket *buckets, const uint32_t *place, const uint64_t *word, int64_t rows,
                       uint32_t *found) {
    bool more = false;
    for (int64_t i = 0; i < rows; i++) {
        found[i] = in_bucket(&buckets[place[i]], word[i]);
        more |= found[i] == MORE;
    }
    return more;
}

#ifdef AS_AVX512
AS_TARGET_AVX512 static bool in_buckets_avx512(const bucket *buckets, const uint32_t *place, const uint64_t *word,
                                               int64_t rows, uint32_t *found) {
    bool more = false;
    for (int64_t i = 0; i < rows; i++) {
        const bucket *here = &buckets[place[i]];
        const __m512i line = _mm512_load_si512(here);
        const unsigned slots =
            _mm512_mask_cmpeq_epi64_mask((1 << SLOTS) - 1, line, _mm512_set1_epi64((long long)word[i])) | 1u << SLOTS;
        found[i] = ((const uint32_t *)here)[2 * SLOTS + __builtin_ctz(slots)];
        more |= found[i] == MORE;
    }
    return more;
}
#endif

/* The rest of a search: slots behind `after` (a row, or MORE: the first bucket had no slot with the word). For modes
   whose words may be equal while keys are not, `ask` says which row's key it must be; else NULL. */
static uint32_t search(const as_lookup *lookup, uint32_t place, uint64_t word, uint32_t after, const asked *ask,
                       int64_t row) {
    const bucket *buckets = lookup->memory;
    bool passed = after == MORE;
    for (bool first = true;; first = false) {
        const bucket *here = &buckets[place];
        for (int slot = 0; slot < SLOTS && !(first && after == MORE); slot++) {
            if (here->row[slot] == NONE)
                return NONE;
            if (passed && here->word[slot] == word &&
                (ask == NULL || same_key(lookup, here->row[slot], ask->key, ask->how, row)))
                return here->row[slot];
            passed |= here->row[slot] == after;
        }
        if (here->next == NONE)
            return NONE;
        place = place + 1 == lookup->buckets ? 0 : place + 1;
    }
}

/* The row whose word is that of each row, the first if several have it. `place` is left as the homes. */
static void find_words(const as_lookup *lookup, const uint64_t *word, int64_t rows, uint32_t *place, uint32_t *found) {
    const bucket *buckets = lookup->memory;
    bool more;
    homes(word, as_hash_secret.word, lookup->buckets, rows, place);
    for (int64_t i = 0; i < rows; i++)
        __builtin_prefetch(&buckets[place[i]]);
#ifdef AS_AVX512
    if (cpu_has_avx512())
        more = in_buckets_avx512(buckets, place, word, rows, found);
    else
#endif
        more = in_buckets(buckets, place, word, rows, found);
    for (int64_t i = 0; more && i < rows; i++)
        if (found[i] == MORE)
            found[i] = search(lookup, place[i], word[i], MORE, NULL, 0);
}

static void find_numbers(const as_lookup *lookup, const asked *ask, uint32_t *found) {
    uint64_t keys[BLOCK];
    uint32_t place[BLOCK];
    asked_numbers(ask, keys);
    find_words(lookup, keys, ask->rows, place, found);
}

/* Numbers of the rows whose two texts differ, in order; answers how many. */
static int64_t unlike(const text *a, const text *b, int64_t rows, uint32_t *which) {
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++) {
        which[count] = (uint32_t)i;
        count += a[i].length != b[i].length || !same_bytes(a[i].data, b[i].data, a[i].length);
    }
    return count;
}

#ifdef AS_AVX512
AS_TARGET_AVX512 static int64_t unlike_avx512(const text *a, const text *b, int64_t rows, uint32_t *which) {
    int64_t count = 0;
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t length = a[i].length;
        which[count] = (uint32_t)i;
        if (length <= 64 && length == b[i].length) { /* masked loads touch nothing beyond */
            const __mmask64 some = _bzhi_u64(~UINT64_C(0), (unsigned)length);
            const __m512i mine = _mm512_maskz_loadu_epi8(some, a[i].data),
                          own = _mm512_maskz_loadu_epi8(some, b[i].data);
            count += _mm512_cmpneq_epi8_mask(mine, own) != 0;
        } else {
            count += length != b[i].length || !same_bytes(a[i].data, b[i].data, length);
        }
    }
    return count;
}
#endif

static void words_of(const as_lookup *lookup, const text *keys, int64_t rows, uint64_t *word) {
    const uint64_t least = (uint64_t)lookup->word_at + 8; /* no key of the table is shorter */
    if (lookup->word_at == NONE)
        for (int64_t i = 0; i < rows; i++)
            word[i] = text_word(keys[i], NONE);
    else
        for (int64_t i = 0; i < rows; i++)
            word[i] = keys[i].length < least ? 0 : *(const u64_any *)(keys[i].data + least - 8);
}

static void find_text(const as_lookup *lookup, const asked *ask, uint32_t *found) {
    text keys[BLOCK], own[BLOCK];
    uint64_t words[BLOCK];
    uint32_t place[BLOCK], which[BLOCK];
    const as_column *table = &lookup->key[0];
    int64_t count;
    for (int64_t i = 0; i < ask->rows; i++)
        keys[i] = text_at(ask->key, ask->index != NULL ? ask->index[i] : ask->row + i);
    words_of(lookup, keys, ask->rows, words);
    find_words(lookup, words, ask->rows, place, found);
    if (lookup->rows > CACHED)
        for (int64_t i = 0; i < ask->rows; i++)
            __builtin_prefetch((const uint8_t *)table->offsets + (table->wide ? 8 : 4) * (table->first + found[i]));
    for (int64_t i = 0; i < ask->rows; i++) {
        own[i] = found[i] == NONE ? keys[i] : text_at(table, found[i]);
        __builtin_prefetch(own[i].data);
    }
#ifdef AS_AVX512
    if (cpu_has_avx512())
        count = unlike_avx512(keys, own, ask->rows, which);
    else
#endif
        count = unlike(keys, own, ask->rows, which);
    for (int64_t n = 0; n < count; n++) {
        const uint32_t i = which[n];
        found[i] = search(lookup, place[i], words[i], found[i], ask, ask->index != NULL ? ask->index[i] : ask->row + i);
    }
}

static void find_rows(const as_lookup *lookup, const asked *ask, uint32_t *found) {
    uint64_t hash[BLOCK], next[BLOCK];
    uint32_t place[BLOCK];
    for (uint32_t column = 0; column < lookup->columns; column++) {
        hash_rows(&ask->key[column], ask->how[column], ask->row, ask->rows, &as_hash_secret, column ? next : hash);
        if (column)
            combine_all(hash, next, ask->rows);
    }
    find_words(lookup, hash, ask->rows, place, found);
    for (int64_t i = 0; i < ask->rows; i++)
        if (found[i] != NONE && !same_key(lookup, found[i], ask->key, ask->how, ask->row + i))
            found[i] = search(lookup, place[i], hash[i], found[i], ask, ask->row + i);
}

/* The first table row of each of at most BLOCK rows; answers how many have one. */
static int64_t find_block(const as_lookup *lookup, const asked *ask, uint32_t *found) {
    switch (lookup->mode) {
    case AS_LOOKUP_DENSE: find_dense(lookup, ask, found); break;
    case AS_LOOKUP_NUMBERS: find_numbers(lookup, ask, found); break;
    case AS_LOOKUP_TEXT: find_text(lookup, ask, found); break;
    default: find_rows(lookup, ask, found);
    }
    for (uint32_t column = 0; column < lookup->columns; column++) {
        if (ask->key[column].validity == NULL)
            continue;
        for (int64_t i = 0; i < ask->rows; i++)
            if (is_null(&ask->key[column], ask->index != NULL ? ask->index[i] : ask->row + i))
                found[i] = NONE;
    }
    int64_t hits;
    hits_of(found, ask->rows, &hits);
    return hits;
}

static bool answerable(const as_lookup *lookup, const as_column *key, const uint32_t *how, const uint32_t *index,
                       int64_t rows) {
    if (rows < 0 || (index != NULL && lookup->columns > 1))
        return false;
    for (uint32_t column = 0; column < lookup->columns; column++) {
        const uint32_t own = lookup->how[column] & 15;
        const bool integers = own <= AS_HASH_UNSIGNED && how[column] <= AS_HASH_UNSIGNED;
        if (!readable_as(how[column], &key[column], rows) || (own != how[column] && !integers))
            return false;
    }
    return true;
}

int64_t as_lookup_find(const as_lookup *lookup, const as_column *key, const uint32_t *how, const uint32_t *index,
                       int64_t rows, uint32_t *found) {
    if (!answerable(lookup, key, how, index, rows))
        return AS_E_ARGUMENT;
    int64_t hits = 0;
    for (int64_t row = 0; row < rows; row += BLOCK) {
        const asked ask = {key, how, index != NULL ? index + row : NULL, row, rows - row < BLOCK ? rows - row : BLOCK};
        hits += find_block(lookup, &ask, found + row);
    }
    return hits;
}

#ifdef AS_AVX512
/* Packs the rows that found something to the front, 16 at a time; both outputs have room for all rows. */
AS_TARGET_AVX512 static void pack_avx512(const uint32_t *found, const uint32_t *index, uint32_t row, int64_t rows,
                                         uint32_t *left, uint32_t *right) {
    const __m512i step = _mm512_set1_epi32(16), none = _mm512_set1_epi32(-1);
    __m512i numbers_of = _mm512_add_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                                          _mm512_set1_epi32((int)row));
    for (int64_t at = 0; at < rows; at += 16) {
        const __mmask16 some = rows - at < 16 ? (__mmask16)((1u << (rows - at)) - 1) : 0xffff;
        const __m512i here = _mm512_maskz_loadu_epi32(some, found + at);
        const __mmask16 kept = _mm512_mask_cmpneq_epi32_mask(some, here, none);
        const unsigned count = (unsigned)__builtin_popcount(kept);
        const __mmask16 packed = (__mmask16)((1u << count) - 1);
        const __m512i row_numbers = index != NULL ? _mm512_maskz_loadu_epi32(some, index + at) : numbers_of;
        _mm512_mask_storeu_epi32(left, packed, _mm512_maskz_compress_epi32(kept, row_numbers));
        _mm512_mask_storeu_epi32(right, packed, _mm512_maskz_compress_epi32(kept, here));
        left += count;
        right += count;
        numbers_of = _mm512_add_epi32(numbers_of, step);
    }
}
#endif

/* `found` and `right` may be the same memory: what is written lies behind what is read. */
static void pack(const uint32_t *found, const uint32_t *index, uint32_t row, int64_t rows, uint32_t *left,
                 uint32_t *right) {
#ifdef AS_AVX512
    if (cpu_has_avx512()) {
        pack_avx512(found, index, row, rows, left, right);
        return;
    }
#endif
    int64_t kept = 0;
    for (int64_t i = 0; i < rows; i++) {
        const uint32_t here = found[i];
        left[kept] = index != NULL ? index[i] : row + (uint32_t)i; /* in bounds: kept <= i */
        right[kept] = here;
        kept += here != NONE;
    }
}

AS_INLINE void count_up_body(uint32_t *out, uint32_t first, int64_t rows) {
    for (int64_t i = 0; i < rows; i++)
        out[i] = first + (uint32_t)i;
}
AS_VERSIONS(count_up, (uint32_t *out, uint32_t first, int64_t rows), (out, first, rows))

static void row_numbers(const uint32_t *index, uint32_t first, int64_t rows, uint32_t *out) {
    if (index != NULL)
        memcpy(out, index + first, 4 * (size_t)rows);
    else
        count_up(out, first, rows);
}

int64_t as_lookup_match(const as_lookup *lookup, const as_column *key, const uint32_t *how, const uint32_t *index,
                        int64_t rows, uint32_t *left, uint32_t *right) {
    if (!answerable(lookup, key, how, index, rows) || rows > NONE)
        return AS_E_ARGUMENT;
    int64_t total = 0;
    for (int64_t row = 0; row < rows; row += BLOCK) {
        const asked ask = {key, how, index != NULL ? index + row : NULL, row, rows - row < BLOCK ? rows - row : BLOCK};
        const int64_t hits = find_block(lookup, &ask, right + total);
        if (hits == ask.rows) {
            if (total != row)
                row_numbers(index, (uint32_t)row, hits, left + total);
        } else {
            if (total == row) /* the first row without a match: until now left was left alone */
                row_numbers(index, 0, row, left);
            pack(right + total, ask.index, (uint32_t)row, ask.rows, left + total, right + total);
        }
        total += hits;
    }
    return total;
}
