/*
 * What the kernels keep: tables of entries found by a key of whole numbers, and columns that come out. Knows no road.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Bytes that grow. */
typedef struct {
    char *data;
    int64_t used, room;
} bytes;

#define LINE 64
#ifndef LARGE
#define LARGE (2 << 20) /* bytes: a large page of the system */
#endif

/* `size` zero bytes, a multiple of LARGE, from the system: at a multiple of LARGE, in large pages if it has some. NULL: none. */
static char *map_large(int64_t size) {
    char *made =
        mmap(NULL, (size_t)(size + LARGE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    const int64_t before = (int64_t)(-(uintptr_t)made & (LARGE - 1));
    if (before)
        munmap(made, (size_t)before);
    munmap(made + before + size, (size_t)(LARGE - before));
    madvise(made + before, (size_t)size, MADV_HUGEPAGE);
    return made + before;
}

/* Memory that begins with a cache line. From LARGE on `size` has to be a multiple of LARGE, and the bytes are zero. NULL: none. */
static void *allocate(int64_t size) {
    void *made;
    if (size >= LARGE)
        return map_large(size);
    return posix_memalign(&made, LINE, (size_t)size) ? NULL : made;
}

static void release(void *made, int64_t size) {
    if (size < LARGE)
        free(made);
    else
        munmap(made, (size_t)size);
}

/* The same bytes with more room behind them; NULL: no memory, and the old ones stay. Pages of large memory move without being
   copied: copying two million cars took half a second. */
static char *grow(char *old, int64_t from, int64_t to) {
    char *made = allocate(to);
    if (!made || !from)
        return made;
    if (from < LARGE) {
        memcpy(made, old, (size_t)from);
        free(old);
    } else if (mremap(old, (size_t)from, (size_t)to, MREMAP_MAYMOVE | MREMAP_FIXED, made) == MAP_FAILED) {
        return NULL; /* what was mapped for it may be another thread's by now */
    }
    return made;
}

/* Room for `size` more bytes, counted as used; NULL: no memory. What lies in `at` may move. */
static void *append(bytes *at, int64_t size) {
    if (at->used + size > at->room) {
        int64_t room = at->room ? at->room : 1024;
        while (room < at->used + size)
            room *= 2;
        char *grown = grow(at->data, at->room, room);
        if (!grown)
            return NULL;
        at->data = grown;
        at->room = room;
    }
    at->used += size;
    return at->data + at->used - size;
}

/* Entries of `size` bytes, numbered in the order in which their keys came; each begins with its `keys` words of key. */
typedef struct {
    int64_t size, keys, count, slots;
    int32_t *slot; /* number + 1; 0: free */
    bytes entries;
} table;

static void *entry(const table *in, int64_t number) {
    return in->entries.data + number * in->size;
}

static uint64_t hash_of(const table *in, const int32_t *key) {
    uint64_t h = 0;
    for (int64_t i = 0; i < in->keys; i++) {
        h = (h ^ (uint32_t)key[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
    }
    return h * 0xd6e8feb86659fd93u >> 8;
}

static int equal(const table *in, const int32_t *a, const int32_t *b) {
    for (int64_t i = 0; i < in->keys; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

/* The slot of a key: where its number is, or the free one where it would be. */
static int64_t slot_of(const table *in, const int32_t *key, uint64_t hash) {
    int64_t at = (int64_t)(hash & (uint64_t)(in->slots - 1));
    while (in->slot[at] && !equal(in, entry(in, in->slot[at] - 1), key))
        at = (at + 1) & (in->slots - 1);
    return at;
}

static int resize(table *in, int64_t slots) {
    int32_t *made = allocate(slots * (int64_t)sizeof(int32_t));
    if (!made)
        return -1;
    if (slots * (int64_t)sizeof(int32_t) < LARGE)
        memset(made, 0, (size_t)slots * sizeof(int32_t));
    release(in->slot, in->slots * (int64_t)sizeof(int32_t));
    in->slot = made;
    in->slots = slots;
    for (int64_t number = 0; number < in->count; number++) {
        const int32_t *key = entry(in, number);
        made[slot_of(in, key, hash_of(in, key))] = (int32_t)(number + 1);
    }
    return 0;
}

static void empty(table *of) {
    release(of->slot, of->slots * (int64_t)sizeof(int32_t));
    release(of->entries.data, of->entries.room);
}

/* The entry of a key, or NULL if it has not come. */
static void *find(const table *in, const int32_t *key) {
    if (!in->count)
        return NULL;
    int32_t number = in->slot[slot_of(in, key, hash_of(in, key))];
    return number ? entry(in, number - 1) : NULL;
}

/* The entry of a key; of a new one all is 0 behind the key, *fresh is then 1. NULL: no memory. Entries move when another
   one is added. */
static void *add(table *in, const int32_t *key, int *fresh) {
    if (in->count * 2 >= in->slots && resize(in, in->slots ? in->slots * 2 : 256))
        return NULL;
    int64_t at = slot_of(in, key, hash_of(in, key));
    *fresh = !in->slot[at];
    if (!*fresh)
        return entry(in, in->slot[at] - 1);
    char *made = in->count < INT32_MAX - 1 ? append(&in->entries, in->size) : NULL;
    if (!made)
        return NULL;
    memset(made, 0, (size_t)in->size);
    memcpy(made, key, (size_t)in->keys * sizeof(int32_t));
    in->slot[at] = (int32_t)++in->count;
    return made;
}

/* Has the processor fetch what `add` of this key will read, in two steps: its slot, later its entry. */
static void fetch_slot(const table *in, const int32_t *key) {
    if (in->slots)
        __builtin_prefetch(in->slot + (hash_of(in, key) & (uint64_t)(in->slots - 1)));
}

static void fetch_entry(const table *in, const int32_t *key) {
    if (!in->slots)
        return;
    int32_t number = in->slot[hash_of(in, key) & (uint64_t)(in->slots - 1)];
    if (number)
        __builtin_prefetch(entry(in, number - 1));
}
