/*
 * Card fraud over whole columns, without the interpreter's lock: the last states of each customer, and how unlikely they are.
 * Calls on one scorer must not overlap, calls on different ones may. Nothing here waits or does I/O.
 *
 * Strings come as Arrow has them: offsets, one more than rows, into the bytes of all rows.
 */
#include <stdint.h>

/* cdef */
typedef struct cf_scorer cf_scorer;
/* For a model of `states` states (up to 255), whose step from a to b has the score `misses[a * states + b]`. NULL: no memory. */
cf_scorer *cf_new(int64_t states, const int32_t *offsets, const uint8_t *names, const double *misses);
void cf_free(cf_scorer *scorer);
/* The score of each row, and whether it is above `threshold`. Returns 0, -1 without memory, or the row, from 1, of the
   first state that the model does not know: then nothing was scored and nothing has changed. */
int64_t cf_score(cf_scorer *scorer, int64_t rows, const int32_t *customer_offsets, const uint8_t *customers,
                 const int32_t *state_offsets, const uint8_t *states, double threshold, double *scores,
                 int8_t *outliers);
/* What lasts: the number of customers, the bytes of all their names; names and last states of each. */
int64_t cf_customers(const cf_scorer *scorer);
int64_t cf_bytes(const cf_scorer *scorer);
void cf_save(const cf_scorer *scorer, int64_t *sizes, uint8_t *names, uint64_t *windows);
/* Takes in what was saved. Returns 0, or -1 without memory. */
int cf_load(cf_scorer *scorer, int64_t customers, const int64_t *sizes, const uint8_t *names, const uint64_t *windows);
/* end */

#include "names.h"

#define AT_ONCE 32
#define WINDOW 5
/* The last five states of a customer, a byte each, the latest in the lowest; NONE where none has come. */
#define NONE 0xFFull
#define EMPTY 0xFFFFFFFFFFull

struct cf_scorer {
    name_table states, customers;
    int64_t size;
    double *misses;
    uint8_t *codes;
    int64_t room;
};

cf_scorer *cf_new(int64_t states, const int32_t *offsets, const uint8_t *names, const double *misses) {
    cf_scorer *scorer = calloc(1, sizeof *scorer);
    if (!scorer)
        return NULL;
    scorer->size = states;
    scorer->misses = malloc((size_t)(states * states) * sizeof(double));
    if (!scorer->misses || names_new(&scorer->states) || names_new(&scorer->customers)) {
        cf_free(scorer);
        return NULL;
    }
    memcpy(scorer->misses, misses, (size_t)(states * states) * sizeof(double));
    for (int64_t i = 0; i < states; i++) {
        wanted key = wanted_of(names + offsets[i], offsets[i + 1] - offsets[i], names + offsets[states]);
        if (number_or_add(&scorer->states, &key, 0) != i) {
            cf_free(scorer);
            return NULL;
        }
    }
    return scorer;
}

void cf_free(cf_scorer *scorer) {
    if (!scorer)
        return;
    names_free(&scorer->states);
    names_free(&scorer->customers);
    free(scorer->misses);
    free(scorer->codes);
    free(scorer);
}

/* The states of all rows as numbers. Returns as cf_score does. */
static int64_t encode(cf_scorer *scorer, int64_t rows, const int32_t *offsets, const uint8_t *states) {
    if (rows > scorer->room) {
        uint8_t *codes = realloc(scorer->codes, (size_t)rows);
        if (!codes)
            return -1;
        scorer->codes = codes;
        scorer->room = rows;
    }
    for (int64_t row = 0; row < rows; row++) {
        wanted key = wanted_of(states + offsets[row], offsets[row + 1] - offsets[row], states + offsets[rows]);
        int64_t code = number_of(&scorer->states, &key);
        if (code < 0)
            return row + 1;
        scorer->codes[row] = (uint8_t)code;
    }
    return 0;
}

/* Of a full window: the steps are added from the oldest to the latest, as the other operators of this app do. */
static inline double score_of(const cf_scorer *scorer, uint64_t window) {
    const double *misses = scorer->misses;
    int64_t size = scorer->size;
    uint64_t a = window >> 32, b = window >> 24 & NONE, c = window >> 16 & NONE, d = window >> 8 & NONE,
             e = window & NONE;
    return (misses[a * size + b] + misses[b * size + c] + misses[c * size + d] + misses[d * size + e]) / (WINDOW - 1);
}

int64_t cf_score(cf_scorer *scorer, int64_t rows, const int32_t *customer_offsets, const uint8_t *customers,
                 const int32_t *state_offsets, const uint8_t *states, double threshold, double *scores,
                 int8_t *outliers) {
    int64_t failed = encode(scorer, rows, state_offsets, states);
    if (failed)
        return failed;
    name_table *known = &scorer->customers;
    for (int64_t first = 0; first < rows; first += AT_ONCE) {
        wanted keys[AT_ONCE];
        int64_t some = rows - first < AT_ONCE ? rows - first : AT_ONCE;
        for (int64_t i = 0; i < some; i++) {
            const int32_t *offset = customer_offsets + first + i;
            keys[i] = wanted_of(customers + offset[0], offset[1] - offset[0], customers + customer_offsets[rows]);
            fetch_slot(known, keys + i);
        }
        for (int64_t i = 0; i < some; i++) {
            int64_t number = number_or_add(known, keys + i, EMPTY);
            if (number < 0)
                return -1;
            uint64_t window = (known->names[number].word << 8 | scorer->codes[first + i]) & EMPTY;
            known->names[number].word = window;
            double score = window >> 32 == NONE ? 0.0 : score_of(scorer, window);
            scores[first + i] = score;
            outliers[first + i] = score > threshold;
        }
    }
    return 0;
}

int64_t cf_customers(const cf_scorer *scorer) {
    return scorer->customers.count;
}

int64_t cf_bytes(const cf_scorer *scorer) {
    int64_t bytes = 0;
    for (int64_t i = 0; i < scorer->customers.count; i++)
        bytes += scorer->customers.names[i].size;
    return bytes;
}

void cf_save(const cf_scorer *scorer, int64_t *sizes, uint8_t *names, uint64_t *windows) {
    for (int64_t i = 0; i < scorer->customers.count; i++) {
        const name *known = scorer->customers.names + i;
        sizes[i] = known->size;
        windows[i] = known->word;
        memcpy(names, text_of(&scorer->customers, known), (size_t)known->size);
        names += known->size;
    }
}

int cf_load(cf_scorer *scorer, int64_t customers, const int64_t *sizes, const uint8_t *names, const uint64_t *windows) {
    const uint8_t *end = names;
    for (int64_t i = 0; i < customers; i++)
        end += sizes[i];
    for (int64_t i = 0; i < customers; i++) {
        wanted key = wanted_of(names, sizes[i], end);
        int64_t number = number_or_add(&scorer->customers, &key, EMPTY);
        if (number < 0)
            return -1;
        scorer->customers.names[number].word = windows[i];
        names += sizes[i];
    }
    return 0;
}
