/* Lists of values in one pool: see lists.h. */
#include "lists.h"
#include <stdlib.h>
#include <string.h>
#include "status.h"
#include "zeroed.h"

#define FIRST_ROOM 512
#define MOST_WORDS ((uint64_t)1 << 44)
#define NONE 0 /* word 0 of the pool is in no chunk */

typedef struct link { /* unpacked */
    uint64_t chunk, left, class;
} link;

static inline link link_of(uint64_t word) {
    return (link){word & (MOST_WORDS - 1), word >> 44 & 0xffff, word >> 60};
}

static inline uint64_t link_word(link own) {
    return own.chunk | own.left << 44 | own.class << 60;
}

/* Words of a chunk with its link. */
static inline uint64_t words_of(uint64_t class) {
    return (uint64_t)2 << class;
}

void as_lists_clear(as_lists *lists) {
    as_zeroed_free(lists->word, lists->room * sizeof *lists->word);
    memset(lists, 0, sizeof *lists);
}

uint64_t as_lists_bytes(const as_lists *lists) {
    return lists->used * sizeof *lists->word;
}

static int grow(as_lists *lists) {
    const uint64_t room = lists->room ? lists->room + lists->room / 2 : FIRST_ROOM;
    if (room > MOST_WORDS)
        return AS_E_MEMORY;
    uint64_t *word = as_zeroed_grow(lists->word, lists->room * sizeof *word, room * sizeof *word);
    if (word == NULL)
        return AS_E_MEMORY;
    lists->word = word;
    lists->room = room;
    return AS_OK;
}

/* A chunk of a class, or NONE: no memory. */
static uint64_t chunk_of(as_lists *lists, uint64_t class) {
    const uint64_t again = lists->free[class];
    if (again != NONE) {
        lists->free[class] = link_of(lists->word[again]).chunk;
        return again;
    }
    if (lists->used == 0)
        lists->used = 1;
    while (lists->used + words_of(class) > lists->room)
        if (grow(lists) != AS_OK)
            return NONE;
    lists->used += words_of(class);
    return lists->used - words_of(class);
}

static void give_back(as_lists *lists, uint64_t chunk) {
    const uint64_t class = link_of(lists->word[chunk]).class;
    lists->word[chunk] = link_word((link){lists->free[class], 0, class});
    lists->free[class] = chunk;
}

/* Appends a chunk, which has room for about as many values as the list has: less than half of its memory is unused. */
static int extend(as_lists *lists, uint64_t *list) {
    uint64_t class = 63 - (uint64_t)__builtin_clzll(list[1] + 1);
    class = class < LIST_CLASSES ? class : LIST_CLASSES - 1;
    const uint64_t made = chunk_of(lists, class);
    if (made == NONE)
        return AS_E_MEMORY;
    uint64_t first = made;
    if (list[1] > 1) {
        uint64_t *last = &lists->word[link_of(list[0]).chunk];
        first = link_of(*last).chunk;
        *last = link_word((link){made, 0, link_of(*last).class});
    } else {
        lists->word[made + 1] = list[0]; /* the value that had no chunk */
    }
    lists->word[made] = link_word((link){first, 0, class});
    list[0] = link_word((link){made, words_of(class) - (list[1] > 1 ? 1 : 2), class});
    return AS_OK;
}

int as_lists_append(as_lists *lists, uint64_t *list, uint64_t value) {
    if (list[1] == 0) {
        list[0] = value;
        list[1] = 1;
        return AS_OK;
    }
    if (list[1] == 1 || link_of(list[0]).left == 0) {
        const int status = extend(lists, list);
        if (status != AS_OK)
            return status;
    }
    link last = link_of(list[0]);
    lists->word[last.chunk + words_of(last.class) - last.left] = value;
    last.left--;
    list[0] = link_word(last);
    list[1]++;
    return AS_OK;
}

void as_lists_expect(const as_lists *lists, const uint64_t *list) {
    const link last = link_of(list[0]);
    if (list[1] > 1)
        __builtin_prefetch(lists->word + last.chunk + words_of(last.class) - last.left, 1);
}

int as_lists_join(as_lists *lists, uint64_t *list, uint64_t *other) {
    int status = AS_OK;
    if (list[1] == 0) {
        memcpy(list, other, 2 * sizeof *list);
    } else if (other[1] == 1) {
        status = as_lists_append(lists, list, other[0]);
    } else if (other[1] > 1) {
        if (list[1] == 1)
            status = extend(lists, list);
        if (status != AS_OK)
            return status;
        const link own = link_of(list[0]);
        uint64_t *last = &lists->word[own.chunk], *end = &lists->word[link_of(other[0]).chunk];
        const link before = link_of(*last), behind = link_of(*end);
        *last = link_word((link){behind.chunk, own.left, before.class});
        *end = link_word((link){before.chunk, 0, behind.class});
        list[0] = other[0];
        list[1] += other[1];
    }
    if (status == AS_OK)
        other[0] = other[1] = 0;
    return status;
}

uint64_t *as_lists_next(const as_lists *lists, const uint64_t *list, uint64_t *chunk, uint64_t *count) {
    if (list[1] < 2) {
        const bool found = list[1] == 1 && *chunk == NONE;
        *chunk = *count = 1;
        return found ? (uint64_t *)list : NULL;
    }
    const link last = link_of(list[0]);
    if (*chunk == last.chunk)
        return NULL;
    *chunk = link_of(lists->word[*chunk != NONE ? *chunk : last.chunk]).chunk;
    const link own = link_of(lists->word[*chunk]);
    *count = words_of(own.class) - 1 - (*chunk == last.chunk ? last.left : own.left);
    return lists->word + *chunk + 1;
}

uint64_t as_lists_read(const as_lists *lists, const uint64_t *list, uint64_t *out) {
    uint64_t chunk = NONE, count;
    for (const uint64_t *value; (value = as_lists_next(lists, list, &chunk, &count)) != NULL; out += count)
        memcpy(out, value, count * sizeof *out);
    return list[1];
}

/* Gives back a chunk and those behind it, up to `end`. */
static void give_back_until(as_lists *lists, uint64_t chunk, uint64_t end) {
    for (uint64_t next; chunk != end; chunk = next) {
        next = link_of(lists->word[chunk]).chunk;
        give_back(lists, chunk);
    }
}

void as_lists_free(as_lists *lists, uint64_t *list) {
    if (list[1] > 1) {
        const uint64_t last = link_of(list[0]).chunk;
        give_back_until(lists, link_of(lists->word[last]).chunk, last);
        give_back(lists, last);
    }
    list[0] = list[1] = 0;
}

/* Writes `count` values over those of a list, which has at least as many, and gives back the chunks that this leaves. */
static void overwrite(as_lists *lists, uint64_t *list, const uint64_t *value, uint64_t count) {
    const uint64_t first = link_of(lists->word[link_of(list[0]).chunk]).chunk;
    uint64_t chunk = first, left = count;
    for (;;) {
        const link own = link_of(lists->word[chunk]);
        const uint64_t room = words_of(own.class) - 1, taken = left < room ? left : room;
        memcpy(lists->word + chunk + 1, value + (count - left), taken * sizeof *value);
        left -= taken;
        if (left == 0) {
            give_back_until(lists, own.chunk, first);
            lists->word[chunk] = link_word((link){first, 0, own.class});
            list[0] = link_word((link){chunk, room - taken, own.class});
            list[1] = count;
            return;
        }
        lists->word[chunk] = link_word((link){own.chunk, 0, own.class});
        chunk = own.chunk;
    }
}

static int ascending(const void *a, const void *b) {
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

bool as_lists_ascend(const as_lists *lists, const uint64_t *list, uint64_t count) {
    uint64_t chunk = NONE, own, before = 0, seen = 0;
    for (const uint64_t *value; seen < count && (value = as_lists_next(lists, list, &chunk, &own)) != NULL;
         seen += own) {
        if (own > count - seen)
            own = count - seen;
        for (uint64_t i = 0; i < own; i++) {
            if (seen + i > 0 && value[i] <= before)
                return false;
            before = value[i];
        }
    }
    return true;
}

void as_lists_distinct(as_lists *lists, uint64_t *list, uint64_t *spare) {
    const uint64_t count = as_lists_read(lists, list, spare);
    if (count < 2)
        return;
    qsort(spare, count, sizeof *spare, ascending);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++)
        if (i == 0 || spare[i] != spare[i - 1])
            spare[kept++] = spare[i];
    if (kept > 1) {
        overwrite(lists, list, spare, kept);
    } else {
        as_lists_free(lists, list);
        (void)as_lists_append(lists, list, spare[0]); /* takes no memory */
    }
}
