/*
 * Turns of a source whose rows pass two look-ups and are then counted in panes by a table's label, against the same done row
 * by row. Every buffer has exactly its size, so that AddressSanitizer sees an access of one byte too many.
 *
 *   FORBIDDEN: a batch that is refused and was counted; a promise above what the next row may have; a promise that nobody
 *   was told of after the call.
 *
 * Usage: turn_random SEED ROUNDS
 */
#include <stdbool.h>
#include <string.h>

#include "seeded.h"
#include "panes.h"
#include "turn.h"

enum { TABLE = 40, KEY = 0, SECOND, TIME, LABEL, LEFT, RIGHT, LEFT2, RIGHT2, COLUMNS };
enum { ALL, MATCHED, COUNTED, SETS };
enum { MOST_ROWS = 700, WIDTH = 10, LABELS = 12, PANES = 600, CALLS = 12, PLAN = 5, NEVER = -1 };

typedef struct source {
    int64_t rows, fails; /* the row that cannot be made, or NEVER */
    int64_t *key, *second, *time;
    int64_t *room[3]; /* of one batch */
} source;

static int64_t table_key[TABLE];
static int32_t table_label[TABLE];
static as_lookup lookup;
static const uint32_t how[1] = {AS_HASH_SIGNED};

static const uint32_t key_in[] = {KEY}, matched_out[] = {LEFT, RIGHT};
static const uint32_t second_in[] = {SECOND, LEFT}, counted_out[] = {LEFT2, RIGHT2};
static const uint32_t panes_in[] = {TIME, LEFT2, LABEL, RIGHT2};
static const uint32_t panes_how[] = {AS_HASH_SIGNED, 0, AS_HASH_SIGNED, TABLE};

static int32_t make(void *context, uint64_t made, int64_t rows, as_column *columns, int64_t time[3]) {
    const source *from = context;
    const int64_t *all[] = {from->key, from->second, from->time};
    CHECK((int64_t)made + rows <= from->rows);
    if (from->fails != NEVER && (int64_t)made <= from->fails && from->fails < (int64_t)made + rows)
        return AS_E_ARGUMENT;
    for (uint32_t i = 0; i < 3; i++) {
        memcpy(from->room[i], all[i] + made, (size_t)rows * 8);
        columns[i].data = from->room[i];
    }
    time[0] = from->time[made];
    time[1] = from->time[(int64_t)made + rows - 1];
    time[2] = (int64_t)made + rows < from->rows ? from->time[(int64_t)made + rows] : time[1];
    return AS_OK;
}

static void *room(int64_t bytes) {
    void *made = malloc(bytes == 0 ? 1 : (size_t)bytes);
    CHECK(made != NULL);
    return made;
}

/* The table's row of a key, or -1. */
static int64_t found(int64_t key) {
    return key >= 0 && key % 3 == 0 && key / 3 < TABLE ? key / 3 : -1;
}

static void one(void) {
    const int64_t batch = 1 + (int64_t)below(MOST_ROWS);
    source from = {.rows = (int64_t)below(4000)};
    from.fails = below(3) ? NEVER : (int64_t)below(4000);
    int64_t **columns_of[] = {&from.key, &from.second, &from.time};
    for (uint32_t i = 0; i < 3; i++) {
        *columns_of[i] = room(from.rows * 8);
        from.room[i] = room(batch * 8);
    }
    const uint64_t misses = 1 + below(4), step = 1 + below(4);
    for (int64_t row = 0, time = 5; row < from.rows; row++) {
        from.key[row] = (int64_t)below(3 * TABLE) / 3 * 3 + (below(misses) == 1);
        from.second[row] = (int64_t)below(3 * TABLE + 9);
        from.time[row] = time += below(4) == 0 ? (int64_t)below(step) : 0;
    }
    const as_chain_step steps[] = {
        {.kind = AS_CHAIN_MATCH,
         .member = 0,
         .rows = ALL,
         .makes = MATCHED,
         .inputs = 1,
         .outputs = 2,
         .what = &lookup,
         .in = key_in,
         .out = matched_out,
         .how = how},
        {.kind = AS_CHAIN_MATCH,
         .member = 1,
         .rows = MATCHED,
         .makes = COUNTED,
         .inputs = 2,
         .outputs = 2,
         .counted = 1,
         .what = &lookup,
         .in = second_in,
         .out = counted_out,
         .how = how},
        {.kind = AS_CHAIN_ADD,
         .member = 2,
         .rows = COUNTED,
         .makes = AS_CHAIN_NONE,
         .inputs = 4,
         .in = panes_in,
         .how = panes_how},
    };
    const uint32_t null = 1;
    as_program program = {0};
    as_panes *panes = as_panes_create(as_groups_create(1, how, &null), 1, &program, 0, WIDTH);
    as_operand operand[2];
    as_panes_work work_of_panes = {.panes = panes, .operand = operand, .tag = INT64_MIN};
    as_chain_step linked[3];
    memcpy(linked, steps, sizeof steps);
    const as_chain_state state_of_panes = {(uintptr_t)as_panes_take_in, &work_of_panes, operand};
    linked[2].what = &state_of_panes;
    as_column columns[COLUMNS] = {0};
    for (uint32_t i = KEY; i <= TIME; i++)
        columns[i].width = 8;
    columns[LABEL] = (as_column){.width = 4, .data = table_label};
    for (uint32_t i = LEFT; i < COLUMNS; i++)
        columns[i] = (as_column){.width = 4, .data = room(batch * 4)};
    int64_t sizes[SETS] = {0};
    uint64_t took[3] = {0};
    const as_chain_work work = {linked, columns, sizes, took, 3, NULL};
    as_turn_member members[3] = {{.set = ALL, .room = INT64_MAX},
                                 {.set = MATCHED, .room = INT64_MAX},
                                 {.set = COUNTED, .bounds = &work_of_panes.known_least}};

    const uint64_t bell_bytes = as_doorbell_size(1), ring_bytes = as_channel_size(2, 2, 1);
    void *bell_memory = aligned_alloc(64, bell_bytes), *ring = aligned_alloc(128, (ring_bytes + 127) / 128 * 128);
    memset(ring, 0, ring_bytes);
    CHECK(as_doorbell_init(bell_memory, 1) == AS_OK && as_channel_init(ring, 2, 2, 1, PLAN) == AS_OK);
    as_doorbell *bell = as_doorbell_open(bell_memory, -1), *own = as_doorbell_open(bell_memory, -1);
    as_producer *producer = as_producer_open(ring, PLAN, 1 << 20, bell, 0);
    as_consumer *consumer = as_consumer_open(ring, PLAN, NULL, 0);
    const as_turn_promise promise = {producer, 0};
    as_turn turn = {.work = &work,
                    .source = {(uintptr_t)make, &from},
                    .member = members,
                    .promise = &promise,
                    .members = 3,
                    .bound = INT64_MAX,
                    .frontier = INT64_MIN};

    static uint64_t counts[PANES * LABELS * 4];
    memset(counts, 0, sizeof counts);
    uint64_t came[3] = {0}, batches[3] = {0};
    int64_t at = 0;
    for (int call = 0; call < CALLS; call++) {
        uint32_t bits[1];
        as_doorbell_collect(own, bits, 1);
        int64_t most = below(4) ? from.rows - at : (int64_t)below((uint64_t)(from.rows - at) + 1);
        const int64_t low = below(3) ? 0 : (int64_t)below(60), first = turn.frontier;
        turn.end = below(4) ? (uint64_t)from.rows : (uint64_t)at + below((uint64_t)(from.rows - at) + 1);
        members[2].room = below(3) ? INT64_MAX : (int64_t)below(900) + 1;
        turn.low = below(2) ? INT64_MIN : (int64_t)below(60);
        turn.due = below(2) ? INT64_MAX : (first == INT64_MIN ? 5 : first) + (int64_t)below(40);
        turn.bound = below(5) ? INT64_MAX : 30;
        const uint64_t deadline = below(4) ? UINT64_MAX : 0;
        turn.bell = below(6) ? NULL : own;
        work_of_panes.low = low;
        const int64_t room_before = members[2].room;
        const int32_t why = as_turn_run(&turn, batch, most, 1, deadline, 0);
        if (most > (int64_t)turn.end - at)
            most = (int64_t)turn.end - at;

        int64_t taken = 0, in_room = 0;
        int32_t expected = -99;
        int64_t frontier = first;
        while (expected == -99) {
            const int64_t rows = most - taken < batch ? most - taken : batch;
            if (rows == 0) {
                expected = AS_TURN_ROWS;
                break;
            }
            uint64_t matched = 0, counted = 0;
            bool late = from.time[at] < turn.low;
            for (int64_t row = at; row < at + rows; row++) {
                matched += found(from.key[row]) >= 0;
                const bool both = found(from.key[row]) >= 0 && found(from.second[row]) >= 0;
                counted += both;
                late |= both && from.time[row] < low;
            }
            if (late || (from.fails != NEVER && at <= from.fails && from.fails < at + rows)) {
                expected = AS_TURN_REFUSED;
                break;
            }
            for (int64_t row = at; row < at + rows; row++)
                if (found(from.key[row]) >= 0 && found(from.second[row]) >= 0)
                    counts[from.time[row] / WIDTH * LABELS + table_label[found(from.second[row])]]++;
            const uint64_t sizes_of[3] = {(uint64_t)rows, matched, counted};
            for (int member = 0; member < 3 && sizes_of[member]; member++) {
                came[member] += sizes_of[member];
                batches[member]++;
            }
            at += rows;
            taken += rows;
            in_room += (int64_t)counted;
            int64_t next = at < from.rows ? from.time[at] : from.time[at - 1];
            next = next < turn.bound ? next : turn.bound;
            frontier = next > frontier ? next : frontier;
            if (frontier >= turn.due)
                expected = AS_TURN_DUE;
            else if (in_room >= room_before)
                expected = AS_TURN_FULL;
            else if (deadline == 0)
                expected = AS_TURN_TIME;
            else if (turn.bell != NULL && as_doorbell_pending(own) && why == AS_TURN_RUNG && turn.made == (uint64_t)at)
                expected = AS_TURN_RUNG; /* its own promises ring here */
        }
        CHECK(why == expected && turn.made == (uint64_t)at && turn.frontier == frontier);
        CHECK(taken == 0 || turn.latest == from.time[at - 1]);
        const int64_t promised = as_frontier_load(consumer, 0);
        CHECK(promised <= frontier && (why == AS_TURN_DUE || promised == frontier));
        CHECK(why == AS_TURN_DUE || frontier == first || as_doorbell_pending(own));
        for (int member = 0; member < 3; member++)
            CHECK(members[member].rows == came[member] && members[member].batches == batches[member]);
        if (why == AS_TURN_REFUSED) { /* the hooks take that batch, which is not looked at here */
            const int64_t rows = from.rows - at < batch ? from.rows - at : batch;
            at += rows;
            turn.made = (uint64_t)at;
        }
    }

    uint64_t in_panes = 0, expected_in_panes = 0;
    for (uint64_t i = 0; i < sizeof counts / sizeof *counts; i++)
        expected_in_panes += counts[i];
    int64_t numbers[PANES * 4];
    const int64_t count = as_panes_numbers(panes, NULL);
    CHECK(count <= PANES * 4);
    as_panes_numbers(panes, numbers);
    for (int64_t i = 0; i < count; i++) {
        CHECK(as_panes_open(panes, numbers[i], 1, INT64_MAX, 0) >= 0);
        uint32_t group[LABELS];
        uint64_t cell[LABELS];
        const int64_t groups = as_panes_take(panes, LABELS, group, cell);
        uint64_t of_pane = 0, expected_of_pane = 0;
        for (int64_t each = 0; each < groups; each++)
            of_pane += cell[each];
        for (int64_t label = 0; label < LABELS; label++)
            expected_of_pane += counts[numbers[i] * LABELS + label];
        CHECK(of_pane == expected_of_pane);
        in_panes += of_pane;
    }
    CHECK(in_panes == expected_in_panes);
    as_panes_destroy(panes);
    as_producer_close(producer);
    as_consumer_close(consumer);
    as_doorbell_close(bell);
    as_doorbell_close(own);
    free(bell_memory);
    free(ring);
    for (uint32_t i = 0; i < 3; i++) {
        free(*columns_of[i]);
        free(from.room[i]);
    }
    for (uint32_t i = LEFT; i < COLUMNS; i++)
        free((void *)(uintptr_t)columns[i].data);
}

int main(int count, char **given) {
    if (count != 3)
        return 2;
    seed = strtoull(given[1], NULL, 10);
    state = seed * 0x9e3779b97f4a7c15u + 1;
    for (int64_t row = 0; row < TABLE; row++) {
        table_key[row] = row * 3;
        table_label[row] = (int32_t)below(LABELS);
    }
    const as_column key = {.width = 8, .data = table_key};
    CHECK(as_lookup_measure(&lookup, &key, how, 1, TABLE) == AS_OK);
    void *memory = aligned_alloc(64, lookup.bytes);
    as_lookup_init(&lookup, memory);
    for (round_number = 0; round_number < atoi(given[2]); round_number++)
        one();
    free(memory);
    puts("ok");
    return 0;
}
