/* Building lookups: which mode fits the keys, and the table in the caller's memory. See lookup.h. */
#include "lookup.h"
#include <string.h>
#include "lookup_slots.h"

#define DENSE_ROOM 65536 /* places that a direct table may always have: 256 KiB */
#define DENSE_SHARE 4    /* and for each row: less than the slots of a hash table take */
#define SAMPLE 1024      /* keys that are looked at to find where they differ */
#define TRIES 16

/* `rows` numbers of the table's only column in a block; nulls hold anything. */
static void table_numbers(const as_lookup *lookup, int64_t row, int64_t rows, uint64_t *out) {
    const as_column *key = &lookup->key[0];
    numbers((const uint8_t *)key->data + (key->first + row) * key->width, key->width, lookup->how[0] & 15, rows, out);
}

static bool skipped(const as_lookup *lookup, int64_t row) {
    for (uint32_t column = 0; column < lookup->columns; column++) {
        const as_column *key = &lookup->key[column];
        if (is_null(key, row))
            return true;
        if ((lookup->how[column] & AS_LOOKUP_POSITIVE) && number_at(key, lookup->how[column] & 15, row) >> 63)
            return true;
    }
    return false;
}

/* Least and greatest key as int64 (uint64 for unsigned ones); false if there is none. */
static bool range(const as_lookup *lookup, uint64_t *least, uint64_t *greatest) {
    const uint64_t flip = (lookup->how[0] & 15) == AS_HASH_SIGNED ? UINT64_C(1) << 63 : 0;
    uint64_t low = ~UINT64_C(0), high = 0;
    bool some = false;
    for (int64_t row = 0; row < lookup->rows; row++) {
        if (skipped(lookup, row))
            continue;
        const uint64_t key = number_at(&lookup->key[0], lookup->how[0] & 15, row) ^ flip;
        low = key < low ? key : low;
        high = key > high ? key : high;
        some = true;
    }
    *least = low ^ flip;
    *greatest = high ^ flip;
    return some;
}

static uint64_t aligned(uint64_t bytes) {
    return (bytes + 63) & ~UINT64_C(63);
}

/* Where 8 bytes tell the keys of a sample apart as well as all their bytes do; NONE: nowhere. */
static uint32_t telling_word(const as_lookup *lookup) {
    uint64_t shortest = ~UINT64_C(0);
    for (int64_t row = 0; row < lookup->rows; row++) {
        if (skipped(lookup, row))
            continue;
        const uint64_t length = text_at(&lookup->key[0], row).length;
        shortest = length < shortest ? length : shortest;
    }
    if (shortest < 8 || shortest == ~UINT64_C(0))
        return NONE;
    const int64_t step = lookup->rows > SAMPLE ? lookup->rows / SAMPLE : 1;
    const uint64_t last = shortest - 8;
    uint32_t best = NONE;
    int most = -1, distinct = 0;
    for (int try = -1; try < TRIES; try++) { /* -1: the hash of all bytes, which the others are compared with */
        const uint64_t at = try < 0 ? NONE : try == 0 ? last : 8 * (uint64_t)(try - 1);
        if (try > 0 && at > last)
            break;
        uint64_t seen[4 * SAMPLE];
        bool used[4 * SAMPLE] = {false};
        int different = 0;
        for (int64_t row = 0, looked = 0; row < lookup->rows && looked < SAMPLE; row += step) {
            if (skipped(lookup, row))
                continue;
            looked++;
            const uint64_t word = text_word(text_at(&lookup->key[0], row), (uint32_t)at);
            uint32_t slot = home(word, as_hash_secret.word, 4 * SAMPLE);
            while (used[slot] && seen[slot] != word)
                slot = (slot + 1) % (4 * SAMPLE);
            different += !used[slot];
            used[slot] = true;
            seen[slot] = word;
        }
        if (try < 0) {
            distinct = different;
        } else if (different > most) {
            most = different;
            best = (uint32_t)at;
        }
    }
    return most == distinct ? best : NONE;
}

int as_lookup_measure(as_lookup *lookup, const as_column *key, const uint32_t *how, uint32_t columns, int64_t rows) {
    memset(lookup, 0, sizeof *lookup);
    if (columns == 0 || columns > AS_LOOKUP_COLUMNS || rows < 0 || rows >= NONE)
        return AS_E_ARGUMENT;
    for (uint32_t column = 0; column < columns; column++) {
        if (!readable_as(how[column] & 15, &key[column], rows))
            return AS_E_ARGUMENT;
        for (int64_t row = 0; row < rows && how[column] == AS_HASH_BYTES; row++)
            if (text_at(&key[column], row).length >= NONE)
                return AS_E_ARGUMENT;
        lookup->key[column] = key[column];
        lookup->how[column] = how[column];
    }
    lookup->columns = columns;
    lookup->rows = (uint32_t)rows;
    lookup->word_at = NONE;
    lookup->buckets = (uint32_t)((uint64_t)rows * 2 / SLOTS) + 1; /* half full */
    uint64_t bytes = (uint64_t)lookup->buckets * sizeof(bucket), least = 0, greatest = 0;
    const uint32_t kind = how[0] & 15;
    lookup->mode = columns > 1 ? AS_LOOKUP_ROWS : kind == AS_HASH_BYTES ? AS_LOOKUP_TEXT : AS_LOOKUP_NUMBERS;
    if (lookup->mode == AS_LOOKUP_TEXT)
        lookup->word_at = telling_word(lookup);
    if (lookup->mode == AS_LOOKUP_NUMBERS && kind != AS_HASH_FLOAT) {
        const bool some = range(lookup, &least, &greatest);
        if (!some || greatest - least < DENSE_ROOM + DENSE_SHARE * (uint64_t)rows) {
            lookup->mode = AS_LOOKUP_DENSE;
            lookup->least = least;
            lookup->span = some ? greatest - least + 1 : 0;
            bytes = 4 * (lookup->span + 1); /* the last place is for keys outside */
        }
    }
    lookup->bytes = aligned(bytes) + 4 * aligned(4 * (uint64_t)rows);
    return AS_OK;
}

/* The first row with the key of `row`, which is `row` itself if it is new. `word`: what the key is found by. */
static uint32_t insert(as_lookup *lookup, uint64_t word, uint32_t row, uint64_t *misled) {
    bucket *buckets = lookup->memory;
    uint32_t how[AS_LOOKUP_COLUMNS];
    for (uint32_t column = 0; column < lookup->columns; column++)
        how[column] = lookup->how[column] & 15;
    for (uint32_t at = home(word, as_hash_secret.word, lookup->buckets);; at = at + 1 == lookup->buckets ? 0 : at + 1) {
        bucket *here = &buckets[at];
        for (int slot = 0; slot < SLOTS; slot++) {
            if (here->row[slot] == NONE) {
                here->word[slot] = word;
                here->row[slot] = row;
                return row;
            }
            if (here->word[slot] != word)
                continue;
            if (lookup->mode == AS_LOOKUP_NUMBERS || same_key(lookup, here->row[slot], lookup->key, how, row))
                return here->row[slot];
            ++*misled;
        }
        here->next = MORE;
    }
}

/* The words of `rows` rows from `row` on; those of nulls may be anything. */
static void table_words(const as_lookup *lookup, int64_t row, int64_t rows, uint64_t *word) {
    uint64_t next[BLOCK];
    if (lookup->mode == AS_LOOKUP_NUMBERS) {
        table_numbers(lookup, row, rows, word);
        return;
    }
    if (lookup->mode == AS_LOOKUP_TEXT) {
        for (int64_t i = 0; i < rows; i++)
            word[i] = skipped(lookup, row + i) ? 0 : text_word(text_at(&lookup->key[0], row + i), lookup->word_at);
        return;
    }
    for (uint32_t column = 0; column < lookup->columns; column++) {
        hash_rows(&lookup->key[column], lookup->how[column] & 15, row, rows, &as_hash_secret, column ? next : word);
        if (column)
            combine_all(word, next, rows);
    }
}

/* Fills the buckets, and first[] with the first row of each row's key (NONE: it equals nothing). False if keys of
   bytes do not differ at word_at after all. */
static bool insert_all(as_lookup *lookup, uint32_t *first) {
    uint64_t word[BLOCK], misled = 0;
    memset(lookup->memory, 0xff, (size_t)lookup->buckets * sizeof(bucket)); /* rows and next are NONE */
    lookup->keys = lookup->duplicates = 0;
    for (int64_t at = 0; at < lookup->rows; at += BLOCK) {
        const int64_t rows = lookup->rows - at < BLOCK ? lookup->rows - at : BLOCK;
        table_words(lookup, at, rows, word);
        for (int64_t i = 0; i < rows; i++) {
            const uint32_t row = (uint32_t)(at + i);
            first[row] = skipped(lookup, row) ? NONE : insert(lookup, word[i], row, &misled);
            lookup->keys += first[row] == row;
            lookup->duplicates += first[row] != row && first[row] != NONE;
        }
        if (lookup->word_at != NONE && misled > SAMPLE + (uint64_t)lookup->rows / 8)
            return false;
    }
    return true;
}

static void insert_dense(as_lookup *lookup, uint32_t *first) {
    uint32_t *direct = lookup->memory;
    memset(direct, 0xff, 4 * (size_t)(lookup->span + 1));
    lookup->keys = lookup->duplicates = 0;
    for (int64_t row = 0; row < lookup->rows; row++) {
        first[row] = NONE;
        if (skipped(lookup, row))
            continue;
        const uint64_t at = number_at(&lookup->key[0], lookup->how[0] & 15, row) - lookup->least;
        if (direct[at] == NONE)
            direct[at] = (uint32_t)row;
        first[row] = direct[at];
        lookup->keys += first[row] == (uint32_t)row;
        lookup->duplicates += first[row] != (uint32_t)row;
    }
}

void as_lookup_init(as_lookup *lookup, void *memory) {
    const uint64_t part = aligned(4 * (uint64_t)lookup->rows);
    uint8_t *rest = (uint8_t *)memory + lookup->bytes - 4 * part;
    lookup->memory = memory;
    lookup->first = (uint32_t *)rest;
    lookup->begin = (uint32_t *)(rest + part);
    lookup->count = (uint32_t *)(rest + 2 * part);
    lookup->order = (uint32_t *)(rest + 3 * part);
    if (lookup->mode == AS_LOOKUP_DENSE) {
        insert_dense(lookup, lookup->first);
    } else if (!insert_all(lookup, lookup->first)) {
        lookup->word_at = NONE;
        insert_all(lookup, lookup->first);
    }
    if (lookup->duplicates == 0)
        return; /* the rest of the memory is never touched */
    memset(lookup->count, 0, 4 * (size_t)lookup->rows);
    for (uint32_t row = 0; row < lookup->rows; row++)
        if (lookup->first[row] != NONE)
            lookup->count[lookup->first[row]]++;
    uint32_t next = 0;
    for (uint32_t row = 0; row < lookup->rows; row++) {
        lookup->begin[row] = next;
        next += lookup->count[row];
        lookup->count[row] = 0;
    }
    for (uint32_t row = 0; row < lookup->rows; row++) {
        const uint32_t first = lookup->first[row];
        if (first != NONE)
            lookup->order[lookup->begin[first] + lookup->count[first]++] = row;
    }
}
