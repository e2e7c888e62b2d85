/*
 * The merge of random lanes, as rows come and promises rise, against looking at all lanes for each row.
 * Usage: merge_random SEED ROUNDS
 */
#include <stdbool.h>
#include <string.h>

#include "merge.h"
#include "seeded.h"

enum { LANES = 80, ROWS = 150, LIMIT = 700 };

static uint32_t count, ties;
static as_merge_lane lane[LANES], model[LANES];
static int64_t *row[LANES][1 + AS_MERGE_TIES];

/* Sorted rows of a lane, each column in a buffer of exactly its size. steady: mostly only the last column differs. */
static void make(uint32_t n, uint64_t rows, uint64_t apart, int64_t latest, bool steady) {
    for (uint32_t column = 0; column <= ties; column++)
        row[n][column] = malloc(rows * sizeof(int64_t));
    int64_t value[1 + AS_MERGE_TIES] = {latest - (int64_t)((steady ? ROWS : rows) * apart / 4)};
    for (uint64_t at = 0; at < rows; at++) {
        const uint32_t moves = steady && below(64)
                                   ? ties
                                   : (uint32_t)below(1 + ties); /* this column grows, and those behind it begin again */
        const int64_t step = (int64_t)below(apart + 1);
        value[moves] = moves == 0 && step > latest - value[0] ? latest : value[moves] + step;
        for (uint32_t column = moves + 1; column <= ties; column++)
            value[column] = (int64_t)below(3);
        for (uint32_t column = 0; column <= ties; column++)
            row[n][column][at] = value[column];
        for (uint32_t column = 1; at > 0 && column <= ties; column++) /* or it might not be sorted */
            if (row[n][column - 1][at] == row[n][column - 1][at - 1]) {
                if (row[n][column][at] < row[n][column][at - 1])
                    value[column] = row[n][column][at] = row[n][column][at - 1];
            } else
                break;
    }
    lane[n].time = row[n][0];
    for (uint32_t column = 0; column < ties; column++)
        lane[n].tie[column] = row[n][column + 1];
}

static int order(const as_merge_lane *a, const as_merge_lane *b) {
    const int64_t x = a->time[a->first], y = b->time[b->first];
    if (x != y)
        return x < y ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    for (uint32_t tie = 0; tie < ties; tie++) {
        const int64_t left = a->tie[tie][a->first], right = b->tie[tie][b->first];
        if (left != right)
            return left < right ? -1 : 1;
    }
    return a < b ? -1 : 1;
}

/* The lane whose row goes next by include/merge.h, or `count`. */
static uint32_t next_of_model(void) {
    uint32_t least = count;
    for (uint32_t n = 0; n < count; n++)
        if (model[n].first < model[n].rows && (least == count || order(&model[n], &model[least]) < 0))
            least = n;
    for (uint32_t n = 0; n < count && least < count; n++) {
        if (model[n].first < model[n].rows || model[n].bound == INT64_MAX)
            continue;
        const int64_t time = model[least].time[model[least].first];
        if (model[n].rank > model[least].rank ? model[n].bound < time : model[n].bound <= time)
            return count;
    }
    return least;
}

static void compare(void) {
    uint16_t tags[LIMIT];
    uint32_t from;
    for (;;) {
        memcpy(model, lane, sizeof model);
        const uint64_t limit = 1 + below(below(2) ? 8 : LIMIT), shortest = 1 + below(below(2) ? 4 : 100);
        const uint64_t rows = as_merge_ready(lane, count, ties, limit, shortest, tags, &from);
        CHECK(rows <= limit && (rows > 0 || next_of_model() == count));
        CHECK(from == AS_MERGE_MIXED || rows == 0 || rows >= shortest);
        for (uint64_t at = 0; at < rows; at++) {
            const uint32_t next = next_of_model();
            CHECK(next == (from == AS_MERGE_MIXED ? tags[at] : from));
            model[next].first++;
        }
        for (uint32_t n = 0; n < count; n++)
            CHECK(model[n].first == lane[n].first);
        if (rows == 0)
            return;
    }
}

static void round_of(void) {
    static const int64_t LATEST[] = {1000, INT64_MAX};
    static const uint64_t RANKS[] = {1, 3, 3, 1000};
    const uint64_t ranks = RANKS[below(4)], apart = below(2) ? 1 : 1 + below(1000);
    const int64_t latest = LATEST[below(2)];
    uint64_t rows[LANES];
    const bool steady = below(2);
    count = below(4) ? 1 + (uint32_t)below(below(2) ? LANES : 20) : 2;
    ties = (uint32_t)below(3);
    memset(lane, 0, sizeof lane);
    for (uint32_t n = 0; n < count; n++) {
        lane[n].bound = INT64_MIN;
        lane[n].rank = (int64_t)below(ranks) - 1;
        rows[n] = below(4) ? 1 + below(ROWS) : 0;
        make(n, rows[n], apart, latest, steady);
    }
    for (uint32_t open = count; open > 0;) { /* more of some lanes; the others' promises stay */
        open = 0;
        for (uint32_t n = 0; n < count; n++) {
            if (lane[n].rows < rows[n] && below(3))
                lane[n].rows += 1 + below(rows[n] - lane[n].rows);
            if (lane[n].rows > lane[n].first)
                lane[n].bound = lane[n].time[lane[n].rows - 1];
            if (lane[n].rows == rows[n] && below(3) == 0)
                lane[n].bound = INT64_MAX;
            else if (lane[n].bound < latest - 1 && below(4) == 0)
                lane[n].bound += lane[n].rows < rows[n] ? (lane[n].bound < lane[n].time[lane[n].rows]) : 1;
            open += lane[n].bound != INT64_MAX || lane[n].rows < rows[n];
        }
        compare();
    }
    for (uint32_t n = 0; n < count; n++) {
        CHECK(lane[n].first == rows[n]);
        for (uint32_t column = 0; column <= ties; column++)
            free(row[n][column]);
    }
}

int main(int arguments, char **argument) {
    if (arguments != 3)
        return 2;
    seed = strtoull(argument[1], NULL, 10);
    state = seed * 2862933555777941757ull + 3037000493ull;
    for (round_number = 0; round_number < atoi(argument[2]); round_number++)
        round_of();
    puts("ok");
    return 0;
}
