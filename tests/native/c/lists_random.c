/*
 * Lists of values that grow, join, lose their doubles and are given back, against plain arrays. Usage: lists_random SEED ROUNDS
 */
#include "../../../actorstream/native/src/lists.h"

#include "aggregate_rows.h"

enum { LISTS = 12, STEPS = 600, MOST = 200000 };

typedef struct model {
    uint64_t *value, count;
} model;

static as_lists lists;
static uint64_t list[LISTS][2], out[MOST], spare[MOST];
static model own[LISTS];

static void append(uint32_t to, uint64_t value) {
    CHECK(as_lists_append(&lists, list[to], value) == AS_OK);
    own[to].value[own[to].count++] = value;
}

static int ascending(const void *a, const void *b) {
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

static void distinct(uint32_t which) {
    uint64_t kept = 0;
    as_lists_distinct(&lists, list[which], spare);
    const uint64_t left = as_lists_read(&lists, list[which], out);
    qsort(out, left, sizeof *out, ascending);
    qsort(own[which].value, own[which].count, sizeof *out, ascending);
    for (uint64_t i = 0; i < own[which].count; i++)
        if (i == 0 || own[which].value[i] != own[which].value[i - 1])
            own[which].value[kept++] = own[which].value[i];
    own[which].count = kept;
    CHECK(left == kept && memcmp(out, own[which].value, kept * sizeof *out) == 0);
    CHECK(as_lists_ascend(&lists, list[which], kept));
}

static bool ascends(uint32_t which, uint64_t count) {
    bool found = true;
    for (uint64_t i = 1; i < count; i++)
        found &= own[which].value[i] > own[which].value[i - 1];
    return found;
}

/* Through the chunks: every value is there once, and can be changed. */
static void change(uint32_t which) {
    uint64_t chunk = 0, count, at = 0;
    for (uint64_t *value; (value = as_lists_next(&lists, list[which], &chunk, &count)) != NULL; at += count)
        for (uint64_t i = 0; i < count; i++) {
            CHECK(value[i] == own[which].value[at + i]);
            own[which].value[at + i] = ++value[i];
        }
    CHECK(at == own[which].count);
}

static void join(uint32_t to, uint32_t from) {
    if (to == from || own[to].count + own[from].count > MOST)
        return;
    memcpy(own[to].value + own[to].count, own[from].value, own[from].count * sizeof *out);
    own[to].count += own[from].count;
    own[from].count = 0;
    CHECK(as_lists_join(&lists, list[to], list[from]) == AS_OK);
    CHECK(list[from][0] == 0 && list[from][1] == 0);
}

static void round_of(void) {
    const uint64_t values = below(2) ? 5 : 100000, longest = below(2) ? 8 : 2000;
    for (int step = 0; step < STEPS; step++) {
        const uint32_t which = (uint32_t)below(LISTS);
        switch (below(8)) {
        case 0: join(which, (uint32_t)below(LISTS)); break;
        case 1: distinct(which); break;
        case 2: change(which); break;
        case 3:
            as_lists_free(&lists, list[which]);
            own[which].count = 0;
            break;
        default:
            for (uint64_t more = below(longest); more > 0 && own[which].count < MOST; more--) {
                as_lists_expect(&lists, list[which]);
                append(which, below(values));
            }
        }
        CHECK(list[which][1] == own[which].count);
        CHECK(as_lists_read(&lists, list[which], out) == own[which].count);
        CHECK(memcmp(out, own[which].value, own[which].count * sizeof *out) == 0);
        const uint64_t first = below(own[which].count + 1);
        CHECK(as_lists_ascend(&lists, list[which], first) == ascends(which, first));
    }
    for (uint32_t which = 0; which < LISTS; which++)
        as_lists_free(&lists, list[which]);
    for (uint32_t which = 0; which < LISTS; which++)
        own[which].count = 0;
    /* what was given back is used again */
    const uint64_t before = as_lists_bytes(&lists);
    for (int value = 0; value < 3; value++)
        append(0, (uint64_t)value);
    CHECK(as_lists_bytes(&lists) == before || before == 0);
    as_lists_free(&lists, list[0]);
    own[0].count = 0;
    if (below(4) == 0)
        as_lists_clear(&lists);
}

int main(int arguments, char **argument) {
    if (arguments != 3)
        return 2;
    seed = strtoull(argument[1], NULL, 10);
    state = seed * 2862933555777941757ull + 3037000493ull;
    for (uint32_t which = 0; which < LISTS; which++)
        own[which].value = malloc(MOST * sizeof *out);
    for (round_number = 0; round_number < atoi(argument[2]); round_number++)
        round_of();
    as_lists_clear(&lists);
    for (uint32_t which = 0; which < LISTS; which++)
        free(own[which].value);
    puts("ok");
    return 0;
}
