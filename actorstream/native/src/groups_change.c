/* Groups as a whole: renumbering, the order of keys, and keys back as columns. See groups.h. */
#include "groups.h"
#include <stdlib.h>
#include <string.h>
#include "order.h"
#include "zeroed.h"

#define DIRECT_ROOM 1024 /* numbers that DIRECT may always have */
#define DIRECT_SHARE 2   /* and for each group: less than the slots and keys of NUMBER take */

/* The most numbers that DIRECT may have for `alive` groups. */
static uint64_t direct_most(uint64_t alive) {
    return alive * DIRECT_SHARE > DIRECT_ROOM ? alive * DIRECT_SHARE : DIRECT_ROOM;
}

typedef struct range {
    uint64_t least, greatest; /* flipped, so that they compare as unsigned words */
    uint64_t keys;
} range;

static void widen(range *range, uint64_t word) {
    range->least = word < range->least ? word : range->least;
    range->greatest = word > range->greatest ? word : range->greatest;
}

static uint64_t key_at(const as_groups *groups, uint64_t group) {
    return groups->kind == AS_GROUPS_DIRECT ? groups->base + group : groups->values[group];
}

static range range_of(const as_groups *groups, const uint8_t *alive) {
    const uint64_t flip = flip_of(groups->how[0]);
    range found = {UINT64_MAX, 0, 0};
    for (uint64_t group = 0; group < groups->count; group++) {
        if (alive != NULL && !alive[group])
            continue;
        widen(&found, key_at(groups, group) ^ flip);
        found.keys++;
    }
    return found;
}

int as_groups_crowded(as_groups *groups) {
    if (groups->kind != AS_GROUPS_NUMBER || groups->how[0] == AS_HASH_FLOAT || groups->count == 0 ||
        groups->count < 2 * groups->settled)
        return 0;
    const range found = range_of(groups, NULL);
    groups->settled = groups->count;
    return found.greatest - found.least < direct_most(groups->count);
}

static void no_order(as_groups *groups) {
    free(groups->order);
    groups->order = NULL;
    groups->ordered = 0;
}

static void drop_slots(as_groups *groups) {
    as_zeroed_free(groups->slots, groups->mask ? (groups->mask + 1) * 8 : 0);
    as_zeroed_free(groups->values, groups->room * groups->words * 8);
    groups->slots = groups->values = NULL;
    groups->mask = groups->room = 0;
}

/* Integer keys that lie close enough together get DIRECT numbers; whether they do. */
static bool make_direct(as_groups *groups, const uint8_t *alive, uint32_t *map) {
    const uint64_t flip = flip_of(groups->how[0]);
    range found = range_of(groups, alive);
    if (groups->pending) {
        widen(&found, groups->pending_low ^ flip);
        widen(&found, groups->pending_high ^ flip);
    }
    if (found.least > found.greatest)
        return false;
    const uint64_t most = direct_most(found.keys), needed = found.greatest - found.least;
    if (needed >= most)
        return false;
    /* room on the side where keys were missing, and none past the least and the greatest key there can be: the numbers are
       the order of the keys */
    const bool below =
        groups->pending && groups->kind == AS_GROUPS_DIRECT && (groups->pending_low ^ flip) < (groups->base ^ flip);
    const uint64_t wanted = below ? (most - needed) / 2 : 0;
    const uint64_t least = found.least - (wanted < found.least ? wanted : found.least);
    const uint64_t span = most - 1 < UINT64_MAX - least ? most : UINT64_MAX - least + 1;
    const uint64_t base = least ^ flip;
    uint64_t count = 0;
    for (uint64_t group = 0; group < groups->count; group++) {
        if (alive != NULL && !alive[group]) {
            map[group] = UINT32_MAX;
            continue;
        }
        const uint64_t number = key_at(groups, group) - base;
        map[group] = (uint32_t)number;
        count = number >= count ? number + 1 : count;
    }
    drop_slots(groups);
    groups->kind = AS_GROUPS_DIRECT;
    groups->base = base;
    groups->span = span;
    groups->count = count;
    groups->alive = found.keys;
    return true;
}

/* Bytes of ROW: only texts that an alive group has are kept; their new numbers replace the old ones in
   `values`. */
static int keep_texts(as_groups *groups, uint64_t *values, uint64_t count) {
    for (uint32_t k = 0; k < groups->keys; k++) {
        if (groups->how[k] != AS_HASH_BYTES)
            continue;
        uint32_t *keep = calloc(groups->texts[k].count + 1, sizeof *keep);
        if (keep == NULL)
            return AS_E_MEMORY;
        const uint32_t words = groups->words;
        const bool nullable = groups->nullable[k];
        for (uint64_t group = 0; group < count; group++)
            if (!nullable || !(values[group * words + words - 1] >> k & 1))
                keep[values[group * words + k]] = 1;
        const int status = as_texts_keep(&groups->texts[k], keep);
        for (uint64_t group = 0; status == AS_OK && group < count; group++)
            if (!nullable || !(values[group * words + words - 1] >> k & 1))
                values[group * words + k] = keep[values[group * words + k]];
        free(keep);
        if (status != AS_OK)
            return status;
    }
    return AS_OK;
}

static int keep_values(as_groups *groups, const uint8_t *alive, uint32_t *map) {
    const uint32_t words = groups->words;
    uint64_t kept = 0, room = 64;
    for (uint64_t group = 0; group < groups->count; group++)
        kept += alive == NULL || alive[group];
    while (room < kept)
        room += room / 2;
    uint64_t *values = as_zeroed_grow(NULL, 0, room * words * 8);
    if (values == NULL)
        return AS_E_MEMORY;
    uint64_t count = 0;
    for (uint64_t group = 0; group < groups->count; group++) {
        if (alive != NULL && !alive[group]) {
            map[group] = UINT32_MAX;
            continue;
        }
        if (groups->kind == AS_GROUPS_DIRECT)
            values[count] = groups->base + group;
        else
            memcpy(values + count * words, groups->values + group * words, words * 8);
        map[group] = (uint32_t)count++;
    }
    if (groups->kind == AS_GROUPS_ROW) {
        const int status = keep_texts(groups, values, count);
        if (status != AS_OK) {
            as_zeroed_free(values, room * words * 8);
            return status;
        }
    }
    drop_slots(groups);
    if (groups->kind == AS_GROUPS_DIRECT) {
        groups->kind = AS_GROUPS_NUMBER;
        groups->narrow = true;
        groups->narrow_base = count ? values[0] - ((uint64_t)1 << 31) : 0;
        for (uint64_t group = 0; group < count; group++)
            groups->narrow &= (values[group] - groups->narrow_base) >> 32 == 0;
    }
    groups->values = values;
    groups->room = room;
    groups->count = groups->alive = groups->settled = count;
    uint64_t slots = 1024;
    while ((count + 1) * 4 > slots * 3)
        slots *= 2;
    return as_groups_slots(groups, slots);
}

int as_groups_renumber(as_groups *groups, const uint8_t *alive, uint32_t *map) {
    int status = AS_OK;
    no_order(groups);
    switch (groups->kind) {
    case AS_GROUPS_ALL: map[0] = 0; break;
    case AS_GROUPS_TEXT:
        for (uint64_t group = 0; group < groups->texts[0].count; group++)
            map[group] = alive == NULL || alive[group];
        status = as_texts_keep(&groups->texts[0], map);
        break;
    case AS_GROUPS_ROW: status = keep_values(groups, alive, map); break;
    default:
        if (groups->how[0] == AS_HASH_FLOAT || !make_direct(groups, alive, map))
            status = keep_values(groups, alive, map);
    }
    groups->pending = false;
    return status;
}

/* -- order -- */

/* Words of float64 that compare as unsigned ones: NaN last. */
static uint64_t ordered_float(uint64_t bits) {
    return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

/* Sorts `order` by one key column; `column` has room for a word a group, `place` for the places of its texts.
 */
static int order_column(as_groups *groups, uint32_t k, uint32_t *order, uint64_t *column) {
    const uint64_t count = groups->count;
    const uint32_t words = groups->words;
    uint32_t *place = NULL;
    if (groups->how[k] == AS_HASH_BYTES) {
        place = malloc((groups->texts[k].count + 1) * sizeof *place);
        if (place == NULL || as_texts_places(&groups->texts[k], place) != AS_OK) {
            free(place);
            return AS_E_MEMORY;
        }
        if (groups->texts[k].count == 0)
            place[0] = 0; /* what nulls refer to */
    }
    const uint64_t flip = flip_of(groups->how[k]);
    for (uint64_t group = 0; group < count; group++) {
        const uint64_t word = groups->values[group * words + k];
        column[group] = place ? place[word] : groups->how[k] == AS_HASH_FLOAT ? ordered_float(word) : word ^ flip;
    }
    free(place);
    int status = as_order_by(order, count, column, 1, 0);
    if (status != AS_OK || !groups->nullable[k])
        return status;
    for (uint64_t group = 0; group < count; group++)
        column[group] = groups->values[group * words + words - 1] >> k & 1;
    return as_order_by(order, count, column, 1, 0);
}

int as_groups_order(as_groups *groups, const uint32_t **order) {
    *order = NULL;
    const uint64_t count = as_groups_count(groups);
    if (groups->kind == AS_GROUPS_ALL || groups->kind == AS_GROUPS_DIRECT || count == 0)
        return AS_OK;
    if (groups->ordered == count) {
        *order = groups->order;
        return AS_OK;
    }
    no_order(groups);
    uint32_t *made = malloc(count * sizeof *made);
    if (made == NULL)
        return AS_E_MEMORY;
    int status = AS_OK;
    if (groups->kind == AS_GROUPS_TEXT) {
        uint32_t *place = malloc(count * sizeof *place);
        status = place == NULL ? AS_E_MEMORY : as_texts_places(&groups->texts[0], place);
        for (uint64_t group = 0; status == AS_OK && group < count; group++)
            made[place[group]] = (uint32_t)group;
        free(place);
    } else {
        for (uint64_t group = 0; group < count; group++)
            made[group] = (uint32_t)group;
        if (groups->kind == AS_GROUPS_NUMBER && groups->how[0] != AS_HASH_FLOAT) {
            status = as_order_by(made, count, groups->values, 1, flip_of(groups->how[0]));
        } else {
            uint64_t *column = malloc(count * sizeof *column);
            status = column == NULL ? AS_E_MEMORY : AS_OK;
            for (uint32_t k = groups->keys; status == AS_OK && k-- > 0;)
                status = order_column(groups, k, made, column);
            free(column);
        }
    }
    if (status != AS_OK) {
        free(made);
        return status;
    }
    groups->order = made;
    groups->ordered = count;
    *order = made;
    return AS_OK;
}

/* -- keys as columns -- */

void as_groups_words(const as_groups *groups, uint32_t key, const uint32_t *group, int64_t rows, uint64_t *word) {
    const uint64_t *values = groups->values;
    const uint32_t words = groups->words;
    if (groups->kind == AS_GROUPS_DIRECT)
        for (int64_t i = 0; i < rows; i++)
            word[i] = groups->base + group[i];
    else
        for (int64_t i = 0; i < rows; i++)
            word[i] = values[group[i] * (uint64_t)words + key];
}

void as_groups_valid(const as_groups *groups, uint32_t key, const uint32_t *group, int64_t rows, uint8_t *valid) {
    if (!groups->any_nullable) {
        memset(valid, 1, (size_t)rows);
        return;
    }
    const uint32_t words = groups->words;
    for (int64_t i = 0; i < rows; i++)
        valid[i] = !(groups->values[group[i] * (uint64_t)words + words - 1] >> key & 1);
}

int64_t as_groups_texts(const as_groups *groups, uint32_t key, const uint32_t *group, int64_t rows, int64_t *offsets,
                        uint8_t *data) {
    const uint32_t words = groups->words;
    int64_t at = 0;
    offsets[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        uint64_t number = group[i];
        bool null = false;
        if (groups->kind == AS_GROUPS_ROW) {
            const uint64_t *own = groups->values + group[i] * (uint64_t)words;
            number = own[key];
            null = groups->nullable[key] && own[words - 1] >> key & 1;
        }
        if (!null) {
            const bytes_view text = as_texts_at(&groups->texts[key], number);
            if (data != NULL && text.length)
                memcpy(data + at, text.data, text.length);
            at += (int64_t)text.length;
        }
        offsets[i + 1] = at;
    }
    return at;
}
