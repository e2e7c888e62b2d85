/*
 * A table of names: strings, numbered in the order in which they came, each with a word that is the caller's. Knows nothing
 * of customers. One caller at a time.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define INSIDE 16
#define FIRST_SLOTS 1024

/* A name of up to 16 bytes lies in `low` and `high`, filled up with zeros; of a longer one these are its hash and its
   place in `text`. */
typedef struct {
    uint64_t low, high;
    int64_t size;
    uint64_t word;
} name;

typedef struct {
    uint32_t hash, number; /* number + 1; 0: free */
} slot;

typedef struct {
    name *names;
    slot *slots;
    int64_t count, room, mask;
    uint8_t *text;
    int64_t text_used, text_room;
} name_table;

/* A name that is looked for. */
typedef struct {
    uint64_t low, high;
    const uint8_t *at;
    int64_t size;
    uint32_t hash;
} wanted;

static int names_new(name_table *table) {
    memset(table, 0, sizeof *table);
    table->room = FIRST_SLOTS / 2;
    table->mask = FIRST_SLOTS - 1;
    table->names = malloc((size_t)table->room * sizeof(name));
    table->slots = calloc(FIRST_SLOTS, sizeof(slot));
    return table->names && table->slots ? 0 : -1;
}

static void names_free(name_table *table) {
    free(table->names);
    free(table->slots);
    free(table->text);
}

/* The first `size` of up to 8 bytes, as a little-endian number; all 8 can be read. */
static inline uint64_t first_bytes(const uint8_t *at, int64_t size) {
    uint64_t value;
    memcpy(&value, at, 8);
    return size >= 8 ? value : value & ~(~0ull << (8 * size));
}

/* `end`: of what can be read. */
static inline wanted wanted_of(const uint8_t *at, int64_t size, const uint8_t *end) {
    wanted found = {.at = at, .size = size};
    if (size > INSIDE) {
        uint64_t hash = 0xCBF29CE484222325ull;
        for (int64_t i = 0; i < size; i++)
            hash = (hash ^ at[i]) * 0x100000001B3ull;
        found.low = hash;
    } else {
        uint8_t copied[INSIDE] = {0};
        if (end - at < INSIDE) {
            if (size)
                memcpy(copied, at, (size_t)size);
            at = copied;
        }
        found.low = first_bytes(at, size);
        found.high = size > 8 ? first_bytes(at + 8, size - 8) : 0;
    }
    uint64_t mixed = (found.low ^ found.high * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull;
    found.hash = (uint32_t)(mixed >> 32);
    return found;
}

static inline void fetch_slot(const name_table *table, const wanted *key) {
    __builtin_prefetch(table->slots + (key->hash & table->mask));
}

static inline int is_wanted(const name_table *table, const name *known, const wanted *key) {
    if (known->low != key->low || known->size != key->size)
        return 0;
    if (key->size <= INSIDE)
        return known->high == key->high;
    return !memcmp(table->text + known->high, key->at, (size_t)key->size);
}

/* The slot of a name, or the free one where it would be. */
static inline slot *slot_of(const name_table *table, const wanted *key) {
    for (int64_t at = key->hash;; at++) {
        slot *here = table->slots + (at & table->mask);
        if (!here->number || (here->hash == key->hash && is_wanted(table, table->names + here->number - 1, key)))
            return here;
    }
}

/* The number of a name, -1: it has not come. */
static inline int64_t number_of(const name_table *table, const wanted *key) {
    return (int64_t)slot_of(table, key)->number - 1;
}

static int names_grow(name_table *table) {
    int64_t slots = 2 * (table->mask + 1);
    name *names = realloc(table->names, (size_t)table->room * 2 * sizeof(name));
    if (!names)
        return -1;
    table->names = names;
    slot *made = calloc((size_t)slots, sizeof(slot));
    if (!made)
        return -1;
    for (int64_t at = 0; at <= table->mask; at++) {
        int64_t to = table->slots[at].hash;
        if (!table->slots[at].number)
            continue;
        while (made[to & (slots - 1)].number)
            to++;
        made[to & (slots - 1)] = table->slots[at];
    }
    free(table->slots);
    table->slots = made;
    table->mask = slots - 1;
    table->room *= 2;
    return 0;
}

static int keep_text(name_table *table, const uint8_t *at, int64_t size) {
    if (table->text_used + size > table->text_room) {
        int64_t room = 2 * (table->text_used + size);
        uint8_t *text = realloc(table->text, (size_t)room);
        if (!text)
            return -1;
        table->text = text;
        table->text_room = room;
    }
    memcpy(table->text + table->text_used, at, (size_t)size);
    table->text_used += size;
    return 0;
}

/* The number of a name, which is added if it has not come; its word is then `word`. -1: no memory. */
static inline int64_t number_or_add(name_table *table, const wanted *key, uint64_t word) {
    slot *here = slot_of(table, key);
    if (here->number)
        return here->number - 1;
    if (table->count == table->room) {
        if (table->count >= INT32_MAX / 2 || names_grow(table))
            return -1;
        here = slot_of(table, key);
    }
    uint64_t high = key->high;
    if (key->size > INSIDE) {
        high = (uint64_t)table->text_used;
        if (keep_text(table, key->at, key->size))
            return -1;
    }
    table->names[table->count] = (name){key->low, high, key->size, word};
    *here = (slot){key->hash, (uint32_t)(table->count + 1)};
    return table->count++;
}

static const uint8_t *text_of(const name_table *table, const name *known) {
    return known->size > INSIDE ? table->text + known->high : (const uint8_t *)known;
}
