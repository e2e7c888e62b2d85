/*
 * Panes of random rows: windows that are opened in the middle of a stream say what their rows do, also from panes that
 * were read and put back. Usage: panes_random SEED ROUNDS
 */
#include "aggregate_restored.h"
#include "panes.h"

enum { BATCHES = 6 };

static as_program program;
static uint32_t keys, how[KEYS];
static bool nullable[KEYS];
static int64_t width, origin;
static given rows[32768];
static int64_t row_count;

static int64_t distinct_of(void *from, uint32_t step, uint32_t which, const uint64_t *cell) {
    (void)from;
    (void)which;
    return (int64_t)cell[program.step[step].word];
}

static double quantile_of(void *from, uint32_t step, double q, uint32_t which) {
    double found;
    CHECK(as_panes_quantile(from, step, q, &which, 1, &found) == AS_OK);
    return found;
}

static double sum_of(void *from, uint32_t step, uint32_t which) {
    double found;
    as_panes_sums(from, step, &which, 1, &found);
    return found;
}

static int64_t text_of(void *from, uint32_t value, uint64_t number, int64_t *offsets, uint8_t *data) {
    return as_panes_texts(from, value, &number, 1, offsets, data);
}

static int64_t words_of(void *from, uint32_t step, uint32_t which, int64_t *offsets, uint64_t *word) {
    return as_panes_rows(from, step, &which, 1, offsets, word);
}

static as_panes *fresh(void) {
    const uint32_t null[KEYS] = {nullable[0], nullable[1]};
    as_groups *groups = as_groups_create(keys, how, null);
    as_panes *panes = as_panes_create(groups, keys, &program, origin, width);
    CHECK(panes != NULL);
    return panes;
}

/* Rows of a window by key; a window takes panes first .. first + count - 1 with a tag up to `window`. */
static bool inside(const given *row, int64_t first, int64_t count, int64_t window) {
    return row->pane >= first && row->pane < first + count && row->tag <= window;
}

static void check_window(as_panes *panes, int64_t first, int64_t count, int64_t window) {
    const uint32_t words = as_panes_words(panes);
    const int64_t most = 1 + (int64_t)below(9);
    uint32_t *group = malloc((size_t)most * sizeof *group);
    uint64_t *cell = malloc((size_t)most * words * sizeof *cell);
    const given **mine = malloc(sizeof rows / sizeof *rows * sizeof *mine);
    bool *seen = calloc(known_keys + 1, sizeof *seen);
    int64_t taken, left = 0;
    CHECK(as_panes_open(panes, first, count, window, 0) >= 0);
    uint32_t before = UINT32_MAX;
    while ((taken = as_panes_take(panes, most, group, cell)) > 0) {
        for (int64_t i = 0; i < taken; i++) {
            const uint32_t key = key_of_group(as_panes_groups(panes), how, keys, group[i]);
            CHECK(!seen[key]);
            seen[key] = true;
            for (uint32_t k = 0; k < keys && before != UINT32_MAX; k++) {
                const int order = compare(known_key[before][k], known_key[key][k]);
                CHECK(order <= 0);
                if (order < 0)
                    break;
            }
            before = key;
            int64_t found = 0;
            for (int64_t row = 0; row < row_count; row++)
                if (rows[row].key == key && inside(&rows[row], first, count, window))
                    mine[found++] = &rows[row];
            const cell_reader reader = {panes, group[i], distinct_of, quantile_of, sum_of, text_of, words_of};
            check_cell(&program, cell + (size_t)i * words, &reader, mine, found);
        }
    }
    for (int64_t row = 0; row < row_count; row++)
        left += inside(&rows[row], first, count, window) && !seen[rows[row].key];
    CHECK(left == 0);
    free(group);
    free(cell);
    free(mine);
    free(seen);
}

static void add(as_panes *panes, const batch *made, int64_t tag) {
    int64_t least = 1, greatest = 0; /* nothing is known, or at least so much */
    if (below(2) && made->rows) {
        least = greatest = made->times[0];
        for (int64_t i = 1; i < made->rows; i++) {
            least = made->times[i] < least ? made->times[i] : least;
            greatest = made->times[i] > greatest ? made->times[i] : greatest;
        }
        least -= least > 0 ? (int64_t)below(2) : 0;
        greatest += (int64_t)below(2);
    }
    CHECK(as_panes_add(panes, made->operands, made->rows, 0, tag, least, greatest) == AS_OK);
    for (int64_t i = 0; i < made->rows; i++) {
        const int64_t time = made->times[i];
        CHECK(row_count < (int64_t)(sizeof rows / sizeof *rows));
        rows[row_count++] =
            (given){made->values, i, time, width ? (time - origin) / width : 0, tag, key_of_row(made, keys, i)};
    }
}

/* Other keys at as many places, as in memory that is used again. */
static void move_key(batch *of) {
    if (of->key[0].operand.column.first == 0)
        return;
    of->key[0].operand.column.first--;
    of->operands[1 + program.columns] = of->key[0].operand;
}

/* Only the rows are counted. */
static as_program counting_program(void) {
    as_program made = {.values = VALUES};
    memcpy(made.how, HOW, sizeof HOW);
    CHECK(as_program_init(&made) == AS_OK);
    return made;
}

static void drop(as_panes *panes, int64_t pane) {
    CHECK(as_panes_drop(panes, pane) == AS_OK);
    int64_t kept = 0;
    for (int64_t row = 0; row < row_count; row++)
        if (rows[row].pane >= pane)
            rows[kept++] = rows[row];
    row_count = kept;
}

/* -- putting back */

static int64_t texts_of(const void *from, uint32_t value, const uint64_t *number, int64_t count, int64_t *offsets,
                        uint8_t *data) {
    return as_panes_texts(from, value, number, count, offsets, data);
}

static void copy_texts(as_panes *from, as_panes *to) {
    for (uint32_t value = 0; value < VALUES; value++) {
        if (HOW[value] != AS_HASH_BYTES)
            continue;
        column texts = text_column(from, texts_of, value, as_panes_text_count(from, value));
        CHECK(as_panes_put_texts(to, value, &texts.operand, texts.rows) == AS_OK);
        release(&texts);
    }
}

static void copy_beside(as_panes *from, as_panes *to, int64_t number, int64_t tag, const uint32_t *old,
                        const uint32_t *now, int64_t count) {
    for (uint32_t step = 0; step < program.steps; step++) {
        if (program.step[step].what == AS_DISTINCT) {
            const int64_t pairs = as_panes_pairs(from, step, NULL, NULL);
            uint32_t *group = malloc((size_t)pairs * sizeof *group + 1);
            uint64_t *value = malloc((size_t)pairs * sizeof *value + 1);
            CHECK(as_panes_pairs(from, step, group, value) == pairs);
            for (int64_t i = 0; i < pairs; i++) {
                int64_t at = 0;
                while (at < count && old[at] != group[i])
                    at++;
                CHECK(at < count);
                group[i] = now[at];
            }
            CHECK(as_panes_put_pairs(to, number, tag, step, group, value, pairs) == AS_OK);
            free(group);
            free(value);
        } else if (program.step[step].what == AS_VALUES || program.step[step].what == AS_ROWS) {
            int64_t *offsets = malloc((size_t)(count + 1) * 8);
            const int64_t values = as_panes_lists(from, step, old, count, offsets, NULL);
            uint64_t *value = malloc((size_t)values * 8 + 1);
            CHECK(as_panes_lists(from, step, old, count, offsets, value) == values);
            CHECK(as_panes_put_lists(to, number, tag, step, now, count, offsets, value) == AS_OK);
            free(offsets);
            free(value);
        } else if (program.step[step].what == AS_FLOATS) {
            int64_t *offsets = malloc((size_t)(count + 1) * 8);
            const int64_t words = as_panes_parts(from, step, old, count, offsets, NULL);
            uint64_t *part = malloc((size_t)words * 8 + 1);
            CHECK(as_panes_parts(from, step, old, count, offsets, part) == words);
            CHECK(as_panes_put_parts(to, number, tag, step, now, count, offsets, part) == AS_OK);
            free(offsets);
            free(part);
        }
    }
}

/* Cells whose sums lie beside them are refused where those are not there. */
static void refuse(int64_t number, int64_t tag, const as_operand *operands, int64_t count, const uint64_t *cell,
                   uint32_t *now) {
    as_panes *other = fresh();
    CHECK(as_panes_put(other, number, tag, 0, operands, count, cell, now) == AS_E_ARGUMENT);
    as_panes_destroy(other);
}

static as_panes *copied(as_panes *from) {
    as_panes *to = fresh();
    const uint32_t words = as_panes_words(from);
    copy_texts(from, to);
    for (int64_t at = 0; at < as_panes_count(from); at++) {
        int64_t number, tag;
        double bound;
        const int64_t most = as_panes_select(from, at, &number, &tag, &bound);
        CHECK(most >= 0);
        uint32_t *group = malloc((size_t)most * sizeof *group + 1), *now = malloc((size_t)most * sizeof *now + 1);
        uint64_t *cell = malloc((size_t)most * words * 8 + 1);
        const int64_t count = as_panes_take(from, most, group, cell);
        column own[KEYS];
        as_operand operands[KEYS];
        for (uint32_t key = 0; key < keys; key++) {
            own[key] = key_column(as_panes_groups(from), how[key], nullable[key], key, group, count);
            operands[key] = own[key].operand;
        }
        uint64_t *whole = malloc((size_t)most * words * 8 + 1);
        memcpy(whole, cell, (size_t)count * words * 8);
        if (take_apart(&program, cell, words, count))
            refuse(number, tag, operands, count, whole, now);
        free(whole);
        CHECK(as_panes_put(to, number, tag, bound, operands, count, cell, now) == AS_OK);
        copy_beside(from, to, number, tag, group, now, count);
        for (uint32_t key = 0; key < keys; key++)
            release(&own[key]);
        free(group);
        free(now);
        free(cell);
    }
    as_panes_destroy(from);
    return to;
}

static void round_of(void) {
    width = below(5) ? 1 + (int64_t)below(12) : 0;
    origin = width ? -(int64_t)below((uint64_t)width) : 0;
    const bool counting = below(3) == 0;
    program = counting ? counting_program() : random_program(width != 0);
    const bool many = counting && below(2); /* several chunks a batch, with keys for about one table */
    keys = counting ? 1 : (uint32_t)below(KEYS + 1);
    for (uint32_t key = 0; key < KEYS; key++) {
        how[key] = many || below(3) ? AS_HASH_SIGNED : AS_HASH_BYTES;
        nullable[key] = below(3) == 0 && !counting;
    }
    if (counting && width) /* most batches lie in one pane */
        width = 100;
    known_keys = 0;
    row_count = 0;
    as_panes *panes = fresh();
    batch made[BATCHES];
    const int batches = 1 + (int)below(BATCHES);
    const uint64_t spread = 1 + below(many ? 1200 : below(3) ? 10 : 60);
    const bool large = below(4) == 0;
    int64_t low = 0;
    for (int number = 0; number < batches; number++) {
        const int64_t count = (int64_t)below(below(5) && !many ? 120 : 1300) + (many ? 1500 : 0),
                      span = 1 + (int64_t)below(many ? 250 : 60);
        made[number] = random_batch(&program, how, nullable, keys, count, low, low + span, spread, large);
        if (below(counting ? 20 : 3) == 0)
            as_panes_mark(panes);
        add(panes, &made[number], width && below(4) == 0 ? (int64_t)below(9) : INT64_MIN);
        for (uint64_t times = counting ? below(3) : 0; times > 0; times--) { /* of columns that are known already */
            batch *again = &made[below((uint64_t)number + 1)];
            if (below(3) == 0)
                move_key(again);
            if (row_count + again->rows < (int64_t)(sizeof rows / sizeof *rows) / 4 && (!width || low <= 0))
                add(panes, again, INT64_MIN);
        }
        const int64_t from = width ? (low - origin) / width + (int64_t)below(6) : 0;
        check_window(panes, from, 1 + (int64_t)below(9), below(2) ? INT64_MAX : (int64_t)below(9));
        CHECK(as_panes_open(panes, from, 3, INT64_MAX, 1) >= 0);
        if (below(2))
            as_panes_unmark(panes);
        if (width && below(3) == 0) {
            low += (int64_t)below(40);
            drop(panes, (low - origin) / width);
        }
        if (below(3) == 0)
            panes = copied(panes);
        CHECK(as_panes_bytes(panes) > 0);
    }
    check_window(panes, 0, INT64_MAX, INT64_MAX);
    as_panes_destroy(panes);
    for (int number = 0; number < batches; number++)
        release_batch(&made[number], keys);
}

int main(int count, char **arguments) {
    return run_rounds(count, arguments, round_of);
}
