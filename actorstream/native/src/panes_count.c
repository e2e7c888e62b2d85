/* Rows of one pane that are only counted: by group in small tables, or by where their key lies. See panes.h. */
#include "panes.h"
#include <stdlib.h>
#include <string.h>

#define UNKNOWN UINT32_MAX
#define REPEAT 2 /* rows a place from which it pays to count places */
#define TEXT_SHARE 8 /* places a row up to which it pays where the keys are texts, each of which would be hashed */

/* 100 groups at 1.9 instead of 0.9 G rows/s: rows of one group in a row do not wait for each other. */
AS_INLINE void count(uint32_t (*table)[TABLE], const uint32_t *number, int64_t rows) {
    int64_t i = 0;
    for (; i + TABLES <= rows; i += TABLES) {
        table[0][number[i]]++;
        table[1][number[i + 1]]++;
        table[2][number[i + 2]]++;
        table[3][number[i + 3]]++;
    }
    for (; i < rows; i++)
        table[0][number[i]]++;
}

/* What the tables have of a number; it is 0 then. */
AS_INLINE uint64_t taken(uint32_t (*table)[TABLE], uint64_t number) {
    uint64_t rows = 0;
    for (int each = 0; each < TABLES; each++) {
        rows += table[each][number];
        table[each][number] = 0;
    }
    return rows;
}

void as_panes_count_groups(as_panes *panes, const uint32_t *group, int64_t rows) {
    count(panes->table, group, rows);
}

void as_panes_counted(as_panes *panes) {
    as_pane *pane = panes->counted;
    if (pane == NULL)
        return;
    /* The pane has cells for every group that was counted in it, and maybe for none of those that later rows of other
       panes have added. */
    const uint64_t words = pane_words(panes);
    for (uint64_t group = 0; group < pane->room && group < TABLE; group++)
        pane->cells[group * words] += taken(panes->table, group);
    panes->counted = NULL;
}

/* -- by where the key lies: of rows that a join found in a small table, say. The groups of its rows are looked up once
   and stay known for as long as the column's bytes are the same. -- */

bool as_panes_counts_places(const as_panes *panes, const as_operand *key, int64_t rows) {
    const int64_t few = (int64_t)key->few, least = key->how == AS_HASH_BYTES ? few / TEXT_SHARE : few * REPEAT;
    return panes->program.steps == 0 && panes->keys == 1 && !panes->marking && key->index != NULL && key->few != 0 &&
           key->few <= TABLE && rows >= least && rows <= INT32_MAX && key->column.validity == NULL;
}

/* A piece of the column: `*size` bytes from where this answers. */
static const uint8_t *offsets_of(const as_operand *key, uint64_t *size) {
    const as_column *column = &key->column;
    const uint64_t width = column->wide ? 8 : 4;
    *size = key->how == AS_HASH_BYTES ? width * ((uint64_t)key->few + 1) : 0;
    return key->how == AS_HASH_BYTES ? (const uint8_t *)column->offsets + (uint64_t)column->first * width : NULL;
}

static const uint8_t *values_of(const as_operand *key, uint64_t *size) {
    const as_column *column = &key->column;
    if (key->how != AS_HASH_BYTES) {
        *size = (uint64_t)column->width * key->few;
        return (const uint8_t *)column->data + (uint64_t)column->first * column->width;
    }
    as_operand plain = *key;
    plain.index = NULL;
    const uint8_t *from = operand_bytes(&plain, 0).data;
    const bytes_view last = operand_bytes(&plain, key->few - 1);
    *size = (uint64_t)(last.data + last.length - from);
    return from;
}

static bool same_places(const as_places *known, const as_operand *key, const uint8_t *offsets, uint64_t offset_bytes,
                        const uint8_t *values, uint64_t value_bytes) {
    return known->few == key->few && known->column.width == key->column.width &&
           known->column.wide == key->column.wide && known->size == offset_bytes + value_bytes &&
           (offset_bytes == 0 || memcmp(known->bytes, offsets, offset_bytes) == 0) &&
           (value_bytes == 0 || memcmp(known->bytes + offset_bytes, values, value_bytes) == 0);
}

/* Sees to it that what is known is known of this column. */
static int know_places(as_panes *panes, const as_operand *key) {
    as_places *known = &panes->places;
    uint64_t offset_bytes, value_bytes;
    const uint8_t *offsets = offsets_of(key, &offset_bytes), *values = values_of(key, &value_bytes);
    if (same_places(known, key, offsets, offset_bytes, values, value_bytes))
        return AS_OK;
    const uint64_t size = offset_bytes + value_bytes;
    known->few = 0;
    if (size > known->room) {
        uint8_t *bytes = realloc(known->bytes, size);
        if (bytes == NULL)
            return AS_E_MEMORY;
        known->bytes = bytes;
        known->room = size;
    }
    if (offset_bytes)
        memcpy(known->bytes, offsets, offset_bytes);
    if (value_bytes)
        memcpy(known->bytes + offset_bytes, values, value_bytes);
    known->size = size;
    known->column = key->column;
    known->few = key->few;
    for (uint32_t place = 0; place < key->few; place++)
        known->group[place] = UNKNOWN;
    return AS_OK;
}

/* Looks up the groups of places, new ones are added, and adds what was counted there to their cells. */
static int count_new(as_panes *panes, const as_operand *key, as_pane *pane, const uint32_t *place, const uint32_t *rows,
                     int64_t places) {
    as_operand here = *key;
    here.index = place;
    here.few = 0;
    int status = as_panes_groups_of(panes, &here, 0, places); /* may give all groups new numbers */
    if (status == AS_OK)
        status = as_pane_reserve(panes, pane);
    if (status == AS_OK)
        status = know_places(panes, key);
    const uint64_t words = pane_words(panes);
    for (int64_t i = 0; i < places && status == AS_OK; i++) {
        const uint32_t group = panes->chunk->group[i];
        panes->places.group[place[i]] = group;
        pane->cells[group * words] += rows[i];
    }
    return status;
}

int as_panes_count_places(as_panes *panes, const as_operand *key, int64_t rows, int64_t number, int64_t tag) {
    _Static_assert(TABLE <= CHUNK, "all places are looked up at once");
    uint32_t place[TABLE], found[TABLE];
    int64_t places = 0;
    as_pane *pane = as_pane_find(panes, number, tag);
    int status = pane == NULL ? AS_E_MEMORY : as_pane_reserve(panes, pane);
    if (status == AS_OK)
        status = know_places(panes, key);
    if (status != AS_OK)
        return status;
    count(panes->table, key->index, rows);
    const uint64_t words = pane_words(panes);
    const uint32_t *group = panes->places.group;
    for (uint32_t at = 0; at < key->few; at++) {
        const uint32_t here = (uint32_t)taken(panes->table, at);
        if (group[at] != UNKNOWN) {
            pane->cells[group[at] * words] += here;
        } else if (here) {
            place[places] = at;
            found[places++] = here;
        }
    }
    return places ? count_new(panes, key, pane, place, found, places) : AS_OK;
}
