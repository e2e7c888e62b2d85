/* Readers of a ScaleGate: what they get, and that they are done with it; see scalegate.h. */
#include "scalegate.h"

void as_scalegate_acknowledge(as_scalegate *gate, uint32_t number) {
    if (gate->reader[number].given == 0) {
        return;
    }
    gate->reader[number].given = 0;
    _Atomic uint64_t *passed = passed_of(gate, number);
    const uint64_t *reading = reading_of(gate, number);
    for (uint32_t n = 0; n < gate->sources; n++) {
        /* release; partner: the acquire in as_scalegate_acknowledged */
        atomic_store_explicit(&passed[n], reading[n], memory_order_release);
    }
}

uint64_t as_scalegate_acknowledged(as_scalegate *gate, uint32_t number) {
    uint64_t least = UINT64_MAX;
    for (uint32_t n = 0; n < gate->readers; n++) {
        /* acquire; partner: the release in as_scalegate_acknowledge(): the reader is done with the run's memory */
        const uint64_t passed = atomic_load_explicit(&passed_of(gate, n)[number], memory_order_acquire);
        least = passed < least ? passed : least;
    }
    return gate->source[number].acknowledged = least;
}

/* One source, one reader: a ring. A run is acknowledged when the reader asks for more. */
static int ring_get_rows(as_scalegate *gate, as_stretch *stretches, uint32_t room, uint64_t rows) {
    source *from = &gate->source[0];
    reader *to = &gate->reader[0];
    const int64_t bound = atomic_load_explicit(&from->bound, memory_order_acquire);
    const uint64_t added = atomic_load_explicit(&from->added, memory_order_acquire);
    uint64_t passed = atomic_load_explicit(&to->passed, memory_order_relaxed);
    uint32_t found = 0;
    /* release; partner: the acquire in as_scalegate_acknowledged */
    atomic_store_explicit(&passed_of(gate, 0)[0], passed, memory_order_release);
    for (uint64_t given = 0; found < room && given < rows && passed != added; found++, passed++) {
        const run *next = &gate->run[passed & gate->run_mask];
        given += next->rows;
        stretches[found] = (as_stretch){next->reference, 0, 0, next->rows, 1};
    }
    atomic_store_explicit(&to->passed, passed, memory_order_relaxed);
    return found == 0 && bound == INT64_MAX ? AS_E_CLOSED : (int)found;
}

/* Gives a stretch of one run. */
static void give(as_scalegate *gate, uint32_t number, const as_stretch *from, as_stretch *to) {
    *to = *from;
    reading_of(gate, number)[to->source] += to->ends;
    gate->reader[number].given += to->ends;
}

int as_scalegate_get_rows(as_scalegate *gate, uint32_t number, as_stretch *stretches, uint32_t room, uint16_t *tags,
                          uint64_t rows) {
    if (number >= gate->readers || room == 0 || room > INT32_MAX) {
        return AS_E_ARGUMENT;
    }
    if (is_ring(gate)) {
        return ring_get_rows(gate, stretches, room, rows);
    }
    reader *to = &gate->reader[number];
    uint64_t passed = atomic_load_explicit(&to->passed, memory_order_relaxed);
    as_scalegate_acknowledge(gate, number);
    /* acquire; partner: the release in merge_all */
    uint64_t logged = atomic_load_explicit(&gate->logged, memory_order_acquire);
    if (logged == passed) {
        const uint32_t ended = atomic_load_explicit(&gate->ended, memory_order_acquire);
        if (!ended) {
            as_scalegate_drive(gate, NULL);
        }
        logged = atomic_load_explicit(&gate->logged, memory_order_acquire);
        if (logged == passed) {
            return ended ? AS_E_CLOSED : 0;
        }
    }
    uint64_t tagged = atomic_load_explicit(&to->passed_tags, memory_order_relaxed), given = 0;
    uint32_t found = 0;
    while (passed != logged) {
        const as_stretch *next = &gate->log[passed & gate->log_mask];
        const uint32_t runs = next->source == AS_MERGE_MIXED ? next->first : 0;
        if (found + runs >= room || given >= rows) {
            break;
        }
        given += next->rows;
        if (runs == 0) {
            give(gate, number, next, &stretches[found++]);
            passed++;
            continue;
        }
        take_tags(gate, tagged, tags, next->rows);
        tagged += next->rows;
        tags += next->rows;
        stretches[found++] = *next;
        passed++;
        for (uint32_t n = 0; n < runs; n++) {
            give(gate, number, &gate->log[passed++ & gate->log_mask], &stretches[found++]);
        }
    }
    /* release; partner: the acquires in room_in_log: these places in the log may be written again */
    atomic_store_explicit(&to->passed_tags, tagged, memory_order_release);
    atomic_store_explicit(&to->passed, passed, memory_order_release);
    return found == 0 && rows > 0 ? AS_E_ARGUMENT : (int)found;
}

int as_scalegate_next(as_scalegate *gate, uint32_t number, int64_t *time) {
    uint64_t passed = atomic_load_explicit(&gate->reader[number].passed, memory_order_relaxed);
    /* acquire; partner: the release in merge_all */
    if (is_ring(gate) || atomic_load_explicit(&gate->logged, memory_order_acquire) == passed) {
        return AS_AGAIN;
    }
    const as_stretch *stretch = &gate->log[passed & gate->log_mask];
    if (stretch->source == AS_MERGE_MIXED) {
        const uint32_t source = gate->tag[stretch->reference & gate->log_mask];
        do {
            stretch = &gate->log[++passed & gate->log_mask];
        } while (stretch->source != source);
    }
    /* its run is the one behind those whose ends this reader was given, which it has not passed: it stays */
    const uint64_t slot = reading_of(gate, number)[stretch->source] & gate->run_mask;
    *time = gate->run[(uint64_t)stretch->source * gate->runs + slot].time[stretch->first];
    return AS_OK;
}

int as_scalegate_look(as_scalegate *gate, as_scalegate_view *view) {
    if (is_ring(gate)) {
        return AS_E_ARGUMENT;
    }
    return as_scalegate_drive(gate, view) ? AS_OK : AS_AGAIN;
}
