/* Lists of values in one pool: see lists.h. */
#include "lists.h"
#include <stdlib.h>
#include <string.h>
#include "status.h"
#include "zeroed.h"

#define FIRST_ROOM 256

void as_lists_clear(as_lists *lists)
{
    as_zeroed_free(lists->node, lists->room * sizeof *lists->node);
    memset(lists, 0, sizeof *lists);
}

uint64_t as_lists_bytes(const as_lists *lists)
{
    return lists->count * sizeof *lists->node;
}

static int grow(as_lists *lists)
{
    const uint64_t room = lists->room ? lists->room + lists->room / 2 : FIRST_ROOM;
    if (room > UINT32_MAX - 1)
        return AS_E_MEMORY;
    as_node *node = as_zeroed_grow(lists->node, lists->room * sizeof *node, room * sizeof *node);
    if (node == NULL)
        return AS_E_MEMORY;
    lists->node = node;
    lists->room = room;
    return AS_OK;
}

int as_lists_append(as_lists *lists, uint64_t *list, uint64_t value)
{
    uint32_t node = lists->free;
    if (node) {
        lists->free = lists->node[node - 1].next;
    } else {
        if (lists->count == lists->room) {
            const int status = grow(lists);
            if (status != AS_OK)
                return status;
        }
        node = (uint32_t)++lists->count;
    }
    lists->node[node - 1].value = value;
    lists->node[node - 1].next = 0;
    if (list[1]++ == 0)
        list[0] = node | (uint64_t)node << 32;
    else {
        lists->node[(list[0] >> 32) - 1].next = node;
        list[0] = (uint32_t)list[0] | (uint64_t)node << 32;
    }
    return AS_OK;
}

void as_lists_join(as_lists *lists, uint64_t *list, uint64_t *other)
{
    if (other[1] == 0)
        return;
    if (list[1] == 0) {
        list[0] = other[0];
    } else {
        lists->node[(list[0] >> 32) - 1].next = (uint32_t)other[0];
        list[0] = (uint32_t)list[0] | other[0] >> 32 << 32;
    }
    list[1] += other[1];
    other[0] = other[1] = 0;
}

uint64_t as_lists_read(const as_lists *lists, const uint64_t *list, uint64_t *out)
{
    uint32_t node = (uint32_t)list[0];
    for (uint64_t i = 0; i < list[1]; i++, node = lists->node[node - 1].next)
        out[i] = lists->node[node - 1].value;
    return list[1];
}

void as_lists_free(as_lists *lists, uint64_t *list)
{
    if (list[1]) {
        lists->node[(list[0] >> 32) - 1].next = lists->free;
        lists->free = (uint32_t)list[0];
    }
    list[0] = list[1] = 0;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
    return (first > second) - (first < second);
}

void as_lists_distinct(as_lists *lists, uint64_t *list, uint64_t *spare)
{
    const uint64_t count = as_lists_read(lists, list, spare);
    qsort(spare, count, sizeof *spare, ascending);
    uint64_t kept = 0;
    for (uint64_t i = 0; i < count; i++)
        if (i == 0 || spare[i] != spare[i - 1])
            spare[kept++] = spare[i];
    as_lists_free(lists, list);
    for (uint64_t i = 0; i < kept; i++)
        (void)as_lists_append(lists, list, spare[i]); /* of the nodes that were just given back */
}
