/* Worklists: what does not depend on their kind; see worklist.h. */
#include "worklist.h"

#define MOST_CAPACITY (1u << 24)
#define MOST_PARTITIONS (1u << 20)

static const as_worklist_kind *const kinds[] = {
    [AS_WORKLIST_STATELESS] = &as_worklist_stateless,
    [AS_WORKLIST_HYBRID] = &as_worklist_hybrid,
    [AS_WORKLIST_SHARED] = &as_worklist_shared,
    [AS_WORKLIST_PARTITIONED] = &as_worklist_partitioned,
};

uint64_t as_worklist_size(uint32_t kind, uint32_t capacity, uint32_t partitions) {
    if (kind >= sizeof kinds / sizeof kinds[0] || capacity == 0 || capacity > MOST_CAPACITY ||
        (capacity & (capacity - 1)) != 0 || partitions == 0 || partitions > MOST_PARTITIONS ||
        (kind == AS_WORKLIST_STATELESS && partitions != 1)) {
        return 0;
    }
    return sizeof(as_worklist) + kinds[kind]->size(capacity, partitions);
}

int as_worklist_init(void *memory, uint32_t kind, uint32_t capacity, uint32_t partitions, uint64_t start) {
    if (memory == NULL || (uintptr_t)memory % 64 || as_worklist_size(kind, capacity, partitions) == 0) {
        return AS_E_ARGUMENT;
    }
    as_worklist *list = memory;
    list->kind = kinds[kind];
    list->mask = capacity - 1;
    list->capacity = capacity;
    list->partitions = partitions;
    atomic_init(&list->pushed, start);
    atomic_init(&list->taken, start);
    list->kind->init(list);
    return AS_OK;
}

int as_worklist_push(as_worklist *list, uint64_t item, uint32_t partition) {
    return partition < list->partitions ? list->kind->push(list, item, partition) : AS_E_ARGUMENT;
}

int as_worklist_pop(as_worklist *list, uint32_t worker, uint64_t limit, as_work *out) {
    return list->kind->pop(list, worker, limit, out);
}

int as_worklist_done(as_worklist *list, uint64_t limit, as_work *work) {
    return list->kind->done(list, limit, work);
}

uint64_t as_worklist_end(const as_worklist *list) {
    return atomic_load_explicit(&list->pushed, memory_order_acquire);
}

uint64_t as_worklist_count(const as_worklist *list) {
    uint64_t removed = list->kind->removed(list);
    uint64_t count = atomic_load_explicit(&list->pushed, memory_order_relaxed) - removed;
    return (int64_t)count < 0 ? 0 : count > list->capacity ? list->capacity : count;
}

uint64_t as_worklist_room(const as_worklist *list) {
    return list->capacity - as_worklist_count(list);
}

uint64_t as_worklist_ready(const as_worklist *list, uint64_t limit) {
    return list->kind->ready(list, limit);
}
