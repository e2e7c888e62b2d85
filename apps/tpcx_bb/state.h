/*
 * What the kernels keep: a table of keys with words beside each, lists, and what comes out. Knows no query.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 4
#define PARAMETERS 3

typedef struct {
    int64_t *data, size, room;
} words;

/* Key -> dense number, in the order in which keys came, and words beside each. */
typedef struct {
    words entries; /* (key words, value words) of each number */
    int64_t count, slots;
    int32_t *slot; /* number + 1; 0: free */
} table;

struct bb_state {
    int32_t keys, values;
    int64_t parameters[PARAMETERS];
    table now, before; /* before: tickets that began more than a horizon ago, until none can go on */
    words nodes;       /* lists: (value, value, next) */
    int64_t unused;    /* list of those that are free */
    int64_t begun, current;
    int64_t out_rows;
    uint32_t *rows;
    int64_t rows_room;
    words out[COLUMNS];
};

static int reserve(words *at, int64_t more) {
    if (at->size + more <= at->room)
        return 0;
    int64_t room = at->room ? at->room : 64;
    while (room < at->size + more)
        room *= 2;
    int64_t *grown = realloc(at->data, (size_t)room * sizeof(int64_t));
    if (!grown)
        return -1;
    at->data = grown;
    at->room = room;
    return 0;
}

static int append(words *at, int64_t value) {
    if (reserve(at, 1))
        return -1;
    at->data[at->size++] = value;
    return 0;
}

static uint64_t hash_of(const int64_t *key, int32_t keys) {
    uint64_t h = 0;
    for (int32_t i = 0; i < keys; i++) {
        h = (h ^ (uint64_t)key[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h * 0xd6e8feb86659fd93u >> 8;
}

static int64_t *entry(const bb_state *state, const table *in, int64_t number) {
    return in->entries.data + number * (state->keys + state->values);
}

/* The slot of a key: where it is, or the free one where it would be. */
static int64_t slot_of(const bb_state *state, const table *in, const int64_t *key) {
    int64_t at = (int64_t)(hash_of(key, state->keys) & (uint64_t)(in->slots - 1));
    while (in->slot[at] && memcmp(entry(state, in, in->slot[at] - 1), key, (size_t)state->keys * sizeof(int64_t)) != 0)
        at = (at + 1) & (in->slots - 1);
    return at;
}

static int grow(const bb_state *state, table *in) {
    int64_t slots = in->slots ? in->slots * 2 : 256;
    int32_t *made = calloc((size_t)slots, sizeof(int32_t));
    if (!made)
        return -1;
    free(in->slot);
    in->slot = made;
    in->slots = slots;
    for (int64_t number = 0; number < in->count; number++)
        made[slot_of(state, in, entry(state, in, number))] = (int32_t)(number + 1);
    return 0;
}

/* The values of a key, or NULL if it has not come. */
static int64_t *find(const bb_state *state, const table *in, const int64_t *key) {
    if (!in->count)
        return NULL;
    int64_t at = slot_of(state, in, key);
    return in->slot[at] ? entry(state, in, in->slot[at] - 1) + state->keys : NULL;
}

/* The values of a key; of a new one all 0, *fresh is then 1. NULL: no memory. They move when another key is added. */
static int64_t *add(const bb_state *state, table *in, const int64_t *key, int *fresh) {
    if (in->count * 2 >= in->slots && grow(state, in))
        return NULL;
    int64_t at = slot_of(state, in, key);
    *fresh = !in->slot[at];
    if (*fresh) {
        int64_t width = state->keys + state->values;
        if (in->count == INT32_MAX - 1 || reserve(&in->entries, width))
            return NULL;
        int64_t *made = in->entries.data + in->entries.size;
        memcpy(made, key, (size_t)state->keys * sizeof(int64_t));
        memset(made + state->keys, 0, (size_t)state->values * sizeof(int64_t));
        in->entries.size += width;
        in->slot[at] = (int32_t)++in->count;
    }
    return entry(state, in, in->slot[at] - 1) + state->keys;
}

static void forget(table *in) {
    if (in->count)
        memset(in->slot, 0, (size_t)in->slots * sizeof(int32_t));
    in->count = in->entries.size = 0;
}

/* Lists. A list is the number of its first node, plus 1; 0: empty. */

static int64_t *node(const bb_state *state, int64_t list) {
    return state->nodes.data + (list - 1) * 3;
}

static int64_t new_node(bb_state *state, int64_t first, int64_t second, int64_t next) {
    int64_t made = state->unused;
    if (made)
        state->unused = node(state, made)[2];
    else {
        if (reserve(&state->nodes, 3))
            return -1;
        state->nodes.size += 3;
        made = state->nodes.size / 3;
    }
    int64_t *values = node(state, made);
    values[0] = first;
    values[1] = second;
    values[2] = next;
    return made;
}

static void free_list(bb_state *state, int64_t list) {
    while (list) {
        int64_t *values = node(state, list), next = values[2];
        values[2] = state->unused;
        state->unused = list;
        list = next;
    }
}

/* What comes out. */

static void begin(bb_state *state) {
    state->out_rows = 0;
    for (int i = 0; i < COLUMNS; i++)
        state->out[i].size = 0;
}

static int answer(bb_state *state, int64_t row, int count, const int64_t *values) {
    if (state->out_rows == state->rows_room) {
        int64_t room = state->rows_room ? state->rows_room * 2 : 256;
        uint32_t *grown = realloc(state->rows, (size_t)room * sizeof(uint32_t));
        if (!grown)
            return -1;
        state->rows = grown;
        state->rows_room = room;
    }
    state->rows[state->out_rows++] = (uint32_t)row;
    for (int i = 0; i < count; i++)
        if (append(&state->out[i], values[i]))
            return -1;
    return 0;
}

static int by_key(const void *one, const void *other) {
    int64_t a = **(const int64_t *const *)one, b = **(const int64_t *const *)other;
    return (a > b) - (a < b);
}

/* Does `over` with each key, ascending. */
static int64_t at_end(bb_state *state, int (*over)(bb_state *, int64_t, int64_t, int64_t *)) {
    int64_t count = state->now.count, failed = 0;
    int64_t **entries = malloc((size_t)(count + 1) * sizeof(int64_t *));
    if (!entries)
        return -1;
    for (int64_t number = 0; number < count; number++)
        entries[number] = entry(state, &state->now, number);
    qsort(entries, (size_t)count, sizeof(int64_t *), by_key);
    begin(state);
    for (int64_t i = 0; i < count && !failed; i++)
        failed = over(state, 0, entries[i][0], entries[i] + 1);
    free(entries);
    return failed ? -1 : state->out_rows;
}

/* What lasts: each array with its size before it, then the single values. */

static int save_words(words *out, const words *from) {
    if (append(out, from->size) || reserve(out, from->size))
        return -1;
    if (from->size)
        memcpy(out->data + out->size, from->data, (size_t)from->size * sizeof(int64_t));
    out->size += from->size;
    return 0;
}

static const int64_t *load_words(words *to, const int64_t *saved) {
    to->size = 0;
    if (reserve(to, *saved))
        return NULL;
    if (*saved)
        memcpy(to->data, saved + 1, (size_t)*saved * sizeof(int64_t));
    to->size = *saved;
    return saved + 1 + *saved;
}

static const int64_t *load_table(bb_state *state, table *to, const int64_t *saved) {
    saved = load_words(&to->entries, saved);
    if (!saved)
        return NULL;
    int64_t count = to->entries.size / (state->keys + state->values);
    to->count = 0;
    do
        if (grow(state, to))
            return NULL;
    while (to->slots < count * 2);
    to->count = count;
    for (int64_t number = 0; number < count; number++)
        to->slot[slot_of(state, to, entry(state, to, number))] = (int32_t)(number + 1);
    return saved;
}

/* Of the whole state; kernel.c declares them. */

int64_t bb_save(bb_state *state) {
    words *out = &state->out[0];
    begin(state);
    if (save_words(out, &state->now.entries) || save_words(out, &state->before.entries) ||
        save_words(out, &state->nodes) || append(out, state->unused) || append(out, state->begun) ||
        append(out, state->current))
        return -1;
    return out->size;
}

int bb_load(bb_state *state, int64_t words, const int64_t *saved) {
    const int64_t *at = load_table(state, &state->now, saved);
    at = at ? load_table(state, &state->before, at) : NULL;
    at = at ? load_words(&state->nodes, at) : NULL;
    if (!at || at + 3 != saved + words)
        return -1;
    state->unused = at[0];
    state->begun = at[1];
    state->current = at[2];
    return 0;
}
