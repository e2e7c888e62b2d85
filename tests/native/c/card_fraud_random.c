/*
 * The kernel of card fraud over random rows: a scorer beside one that has loaded what it saved, and both must give the same.
 * For the sanitizers; that the scores are right is a matter of the tests in Python.
 */
#include <stdio.h>

#include "kernel.c"

#define ROWS 512
#define STATES 7
#define LONGEST 40

static uint64_t seed;

static int64_t below(int64_t n) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)(seed % (uint64_t)n);
}

/* Strings as Arrow has them, in memory that ends with the last one. */
typedef struct {
    int32_t offsets[ROWS + 1];
    uint8_t *data;
} strings;

static void put(strings *to, int64_t row, const char *text, int64_t size) {
    to->offsets[row + 1] = to->offsets[row] + (int32_t)size;
    to->data = realloc(to->data, (size_t)to->offsets[row + 1] + 1);
    memcpy(to->data + to->offsets[row], text, (size_t)size);
}

static void end(strings *of, int64_t rows) {
    uint8_t *exact = malloc((size_t)of->offsets[rows] + 1);
    memcpy(exact + 1, of->data, (size_t)of->offsets[rows]);
    free(of->data);
    of->data = exact;
}

static void draw_customer(strings *to, int64_t row) {
    char text[LONGEST];
    int64_t size = below(8) ? below(19) : LONGEST, who = below(below(2) ? 10 : 3000);
    memset(text, 'x', LONGEST);
    for (int64_t i = size - 1; i >= 0 && who; i--, who /= 10)
        text[i] = (char)('0' + who % 10);
    put(to, row, text, size);
}

static cf_scorer *made(void) {
    static const char *names[STATES] = {
        "a", "bb", "ccc", "dddddddd", "eeeeeeeee", "ffffffffffffffff", "ggggggggggggggggg"};
    static double misses[STATES * STATES];
    strings states = {{0}, NULL};
    for (int64_t i = 0; i < STATES; i++)
        put(&states, i, names[i], (int64_t)strlen(names[i]));
    for (int i = 0; i < STATES * STATES; i++)
        misses[i] = i / 50.0;
    cf_scorer *scorer = cf_new(STATES, states.offsets, states.data, misses);
    free(states.data);
    if (!scorer)
        exit(2);
    return scorer;
}

static cf_scorer *moved(const cf_scorer *from) {
    cf_scorer *to = made();
    int64_t count = cf_customers(from);
    int64_t *sizes = malloc((size_t)count * 8 + 1);
    uint64_t *windows = malloc((size_t)count * 8 + 1);
    uint8_t *names = malloc((size_t)cf_bytes(from) + 1);
    cf_save(from, sizes, names, windows);
    if (cf_load(to, count, sizes, names, windows) || cf_customers(to) != count || cf_bytes(to) != cf_bytes(from))
        exit(3);
    free(sizes);
    free(windows);
    free(names);
    return to;
}

int main(int argc, char **argv) {
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 20;
    static double scores[2][ROWS];
    static int8_t outliers[2][ROWS];
    cf_scorer *one = made(), *other = made();
    for (int round = 0; round < rounds; round++) {
        strings customers = {{0}, NULL}, states = {{0}, NULL};
        int64_t rows = 1 + below(ROWS), unknown = below(5) ? rows : below(rows);
        for (int64_t row = 0; row < rows; row++) {
            draw_customer(&customers, row);
            const name *state = one->states.names + below(STATES);
            put(&states, row, (const char *)text_of(&one->states, state), row == unknown ? 0 : state->size);
        }
        end(&customers, rows);
        end(&states, rows);
        for (int i = 0; i < 2; i++) {
            int64_t done = cf_score(i ? other : one, rows, customers.offsets, customers.data + 1, states.offsets,
                                    states.data + 1, 0.5, scores[i], outliers[i]);
            if (done != (unknown < rows ? unknown + 1 : 0))
                exit(4);
        }
        if (unknown == rows && (memcmp(scores[0], scores[1], (size_t)rows * sizeof(double)) ||
                                memcmp(outliers[0], outliers[1], (size_t)rows)))
            exit(5);
        free(customers.data);
        free(states.data);
        cf_free(other);
        other = moved(one);
    }
    cf_free(one);
    cf_free(other);
    puts("ok");
    return 0;
}
