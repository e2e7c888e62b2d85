/*
 * Groups of random keys, found, renumbered, dropped, ordered and read back: each group has the keys of the first row
 * that it was seen for, and in the order of groups all keys differ. Usage: groups_random SEED ROUNDS
 */
#include "aggregate_rows.h"
#include "groups.h"

enum { BATCHES = 5, MOST_KEYS = 3 };

static uint32_t keys, how[MOST_KEYS], nullable[MOST_KEYS];
static column batch[BATCHES][MOST_KEYS];
static const column **first_batch; /* by group: its first row; NULL: none, or it was dropped */
static int64_t *first_row;
static uint64_t known;

static value key_of(uint64_t group, uint32_t key) {
    return value_at(&first_batch[group][key], first_row[group]);
}

static void room_for(uint64_t groups) {
    if (groups <= known)
        return;
    first_batch = realloc(first_batch, groups * sizeof *first_batch);
    first_row = realloc(first_row, groups * sizeof *first_row);
    memset(first_batch + known, 0, (groups - known) * sizeof *first_batch);
    memset(first_row + known, 0, (groups - known) * sizeof *first_row);
    known = groups;
}

static void renumber(as_groups *groups, const uint8_t *alive) {
    const uint64_t before = as_groups_count(groups);
    room_for(before);
    uint32_t *map = malloc((before + 1) * sizeof *map);
    CHECK(as_groups_renumber(groups, alive, map) == AS_OK);
    const uint64_t after = as_groups_count(groups), had = known;
    const column **old_batch = first_batch;
    int64_t *old_row = first_row;
    first_batch = NULL;
    first_row = NULL;
    known = 0;
    room_for(after > had ? after : had);
    for (uint64_t group = 0; group < before; group++) {
        const bool dropped = alive != NULL && !alive[group] && keys > 0;
        CHECK(dropped == (map[group] == UINT32_MAX));
        if (dropped || old_batch[group] == NULL)
            continue;
        CHECK(map[group] < after && first_batch[map[group]] == NULL);
        first_batch[map[group]] = old_batch[group];
        first_row[map[group]] = old_row[group];
    }
    free(map);
    free(old_batch);
    free(old_row);
}

static void find_all(as_groups *groups, const column *columns, int64_t rows) {
    as_operand *operand = malloc((keys + 1) * sizeof *operand);
    for (uint32_t key = 0; key < keys; key++)
        operand[key] = columns[key].operand;
    uint32_t *group = malloc((size_t)rows * sizeof *group + 1);
    for (int64_t row = 0; row < rows;) {
        int64_t block = 1 + (int64_t)below(AS_GROUPS_BLOCK);
        block = rows - row < block ? rows - row : block;
        int status = as_groups_find(groups, operand, row, block, group + row);
        if (status == AS_AGAIN) {
            renumber(groups, NULL);
            status = as_groups_find(groups, operand, row, block, group + row);
        }
        CHECK(status == AS_OK);
        room_for(as_groups_count(groups));
        for (int64_t i = row; i < row + block; i++) {
            const uint32_t own = group[i];
            CHECK(own < as_groups_count(groups));
            if (first_batch[own] == NULL) {
                first_batch[own] = columns;
                first_row[own] = i;
            }
            for (uint32_t key = 0; key < keys; key++)
                CHECK(compare(key_of(own, key), value_at(&columns[key], i)) == 0);
        }
        row += block;
    }
    free(operand);
    free(group);
}

static int compare_groups(uint64_t a, uint64_t b) {
    int order = 0;
    for (uint32_t key = 0; key < keys && order == 0; key++)
        order = compare(key_of(a, key), key_of(b, key));
    return order;
}

static void check_order(as_groups *groups) {
    const uint32_t *order;
    CHECK(as_groups_order(groups, &order) == AS_OK);
    uint64_t before = UINT64_MAX;
    for (uint64_t at = 0; at < as_groups_count(groups); at++) {
        const uint64_t group = order ? order[at] : at;
        if (first_batch[group] == NULL)
            continue;
        CHECK(before == UINT64_MAX || compare_groups(before, group) < 0);
        before = group;
    }
}

/* The keys of the groups that are known, as they are read back. */
static void check_keys(as_groups *groups) {
    const uint64_t count = as_groups_count(groups);
    uint32_t *group = malloc((count + 1) * sizeof *group);
    int64_t rows = 0;
    for (uint64_t each = 0; each < count; each++)
        if (first_batch[each] != NULL)
            group[rows++] = (uint32_t)each;
    group = realloc(group, ((size_t)rows + 1) * sizeof *group);
    uint8_t *valid = malloc((size_t)rows + 1);
    uint64_t *word = malloc((size_t)rows * 8 + 1);
    int64_t *offsets = malloc((size_t)(rows + 1) * 8);
    for (uint32_t key = 0; key < keys; key++) {
        as_groups_valid(groups, key, group, rows, valid);
        uint8_t *data = NULL;
        if (how[key] == AS_HASH_BYTES) {
            data = malloc((size_t)as_groups_texts(groups, key, group, rows, offsets, NULL) + 1);
            as_groups_texts(groups, key, group, rows, offsets, data);
        } else {
            as_groups_words(groups, key, group, rows, word);
        }
        for (int64_t i = 0; i < rows; i++) {
            value read = {.null = !valid[i], .how = how[key]};
            if (how[key] == AS_HASH_BYTES) {
                read.text = data + offsets[i];
                read.length = (uint64_t)(offsets[i + 1] - offsets[i]);
            } else if (how[key] == AS_HASH_FLOAT) {
                memcpy(&read.real, &word[i], 8);
            } else {
                read.number = (int64_t)word[i];
            }
            CHECK(compare(read, key_of(group[i], key)) == 0);
        }
        free(data);
    }
    free(group);
    free(valid);
    free(word);
    free(offsets);
}

static void round_of(void) {
    static const uint32_t widths[] = {1, 2, 4, 8};
    keys = below(6) ? 1 + (uint32_t)below(MOST_KEYS) : 0;
    keys = below(2) && keys ? 1 : keys;
    uint64_t spread[MOST_KEYS], far[MOST_KEYS];
    for (uint32_t key = 0; key < keys; key++) {
        how[key] = 1 + (uint32_t)below(4);
        nullable[key] = below(3) == 0;
        spread[key] = 1 + below(keys > 1 ? 12 : below(3) ? 100 : 5000);
        far[key] = below(2) ? 1 : UINT64_C(0x9e3779b97f4a7c15);
    }
    as_groups *groups = as_groups_create(keys, how, nullable);
    CHECK(groups != NULL);
    room_for(1);
    const int batches = 1 + (int)below(BATCHES);
    for (int number = 0; number < batches; number++) {
        const int64_t rows = (int64_t)below(below(4) ? 300 : 4000);
        for (uint32_t key = 0; key < keys; key++) {
            const uint32_t least = how[key] == AS_HASH_FLOAT ? 2 : 0;
            const uint32_t width = widths[least + below(4 - least)];
            batch[number][key] = random_column(how[key], width, nullable[key], rows, spread[key], far[key]);
        }
        find_all(groups, batch[number], rows);
        check_order(groups);
        check_keys(groups);
        if (as_groups_crowded(groups))
            renumber(groups, NULL);
        if (below(3) == 0) {
            uint8_t *alive = malloc(as_groups_count(groups) + 1);
            for (uint64_t group = 0; group < as_groups_count(groups); group++)
                alive[group] = first_batch[group] != NULL && below(3) > 0;
            alive = realloc(alive, as_groups_count(groups) + !as_groups_count(groups));
            renumber(groups, alive);
            free(alive);
            check_order(groups);
            check_keys(groups);
        }
        CHECK(as_groups_bytes(groups) > 0);
    }
    as_groups_destroy(groups);
    for (int number = 0; number < batches; number++)
        for (uint32_t key = 0; key < keys; key++)
            release(&batch[number][key]);
    free(first_batch);
    free(first_row);
    first_batch = NULL;
    first_row = NULL;
    known = 0;
}

int main(int count, char **arguments) {
    return run_rounds(count, arguments, round_of);
}
