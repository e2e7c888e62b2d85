/*
 * Spike detection over whole columns, without the interpreter's lock: moving averages of motes, and spikes.
 * Calls on one state must not overlap, calls on different ones may. Nothing here waits or does I/O.
 *
 * The values of a mote are taken in blocks as long as the window (window.py says why).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* cdef */
typedef struct sd_averages sd_averages;
/* Of the last `window` values of each mote. NULL: no memory. */
sd_averages *sd_new(int64_t window);
void sd_free(sd_averages *state);
/* The moving average of each row. Returns 0, or -1 without memory. */
int sd_average(sd_averages *state, int64_t rows, const int64_t *motes, const double *values, double *averages);
/* Whether each row is a spike. */
void sd_signals(int64_t rows, const double *values, const double *averages, double threshold, uint8_t *spikes);
/* The rows that are spikes, in `found`, which has room for all rows; how many. */
int64_t sd_spikes(int64_t rows, const double *values, const double *averages, double threshold, uint32_t *found);
/* What lasts: how many words of 8 bytes; these words. */
int64_t sd_words(const sd_averages *state);
void sd_save(const sd_averages *state, int64_t *words);
/* Takes in what was saved. Returns 0, -1 without memory, -2 if it is not what a state with this window saves. */
int sd_load(sd_averages *state, int64_t words, const int64_t *saved);
/* end */

#define FIRST_SLOTS 256
#define FIRST_ROOM 16

/* `block`: the values of this block so far, behind them the sums of the block before, from each of its values on. So at the
   value number `at` of a block, block[at + 1] is the sum of what the window still has of the block before. */
typedef struct {
    int64_t mote, at, full, room;
    double total; /* of this block */
    double *block;
} mote_window;

struct sd_averages {
    int64_t window, count, room, mask;
    mote_window *windows;
    int32_t *slots; /* number + 1; 0: free */
};

sd_averages *sd_new(int64_t window) {
    sd_averages *state = calloc(1, sizeof *state);
    if (!state)
        return NULL;
    state->window = window;
    state->room = FIRST_SLOTS / 2;
    state->mask = FIRST_SLOTS - 1;
    state->windows = malloc((size_t)state->room * sizeof(mote_window));
    state->slots = calloc(FIRST_SLOTS, sizeof(int32_t));
    if (state->windows && state->slots)
        return state;
    sd_free(state);
    return NULL;
}

void sd_free(sd_averages *state) {
    if (!state)
        return;
    for (int64_t i = 0; i < state->count; i++)
        free(state->windows[i].block);
    free(state->windows);
    free(state->slots);
    free(state);
}

static inline int64_t slot_of(const sd_averages *state, int64_t mote) {
    int64_t at = (int64_t)((uint64_t)mote * 0x9E3779B97F4A7C15ull >> 32) & state->mask;
    while (state->slots[at] && state->windows[state->slots[at] - 1].mote != mote)
        at = (at + 1) & state->mask;
    return at;
}

static int grow(sd_averages *state) {
    int64_t slots = 2 * (state->mask + 1);
    mote_window *windows = realloc(state->windows, (size_t)state->room * 2 * sizeof(mote_window));
    if (!windows)
        return -1;
    state->windows = windows;
    int32_t *made = calloc((size_t)slots, sizeof(int32_t));
    if (!made)
        return -1;
    free(state->slots);
    state->slots = made;
    state->mask = slots - 1;
    state->room *= 2;
    for (int64_t i = 0; i < state->count; i++)
        made[slot_of(state, windows[i].mote)] = (int32_t)(i + 1);
    return 0;
}

/* Room for one more value in the first block, which grows with its values. */
static int make_room(sd_averages *state, mote_window *of) {
    int64_t room = of->room ? 2 * of->room : FIRST_ROOM;
    if (room > state->window)
        room = state->window + 1;
    double *block = realloc(of->block, (size_t)room * sizeof(double));
    if (!block)
        return -1;
    of->block = block;
    of->room = room;
    return 0;
}

static mote_window *add_mote(sd_averages *state, int64_t mote) {
    if (state->count == state->room && (state->count >= INT32_MAX / 2 || grow(state)))
        return NULL;
    mote_window *made = state->windows + state->count;
    memset(made, 0, sizeof *made);
    made->mote = mote;
    state->slots[slot_of(state, mote)] = (int32_t)++state->count;
    return made;
}

static inline mote_window *window_of(sd_averages *state, int64_t mote) {
    int32_t number = state->slots[slot_of(state, mote)];
    return number ? state->windows + number - 1 : add_mote(state, mote);
}

/* The values of a block that is over become the sums from each of them on. */
static void end_block(mote_window *of, int64_t window) {
    double sum = 0;
    for (int64_t i = window - 1; i >= 0; i--) {
        sum += of->block[i];
        of->block[i] = sum;
    }
    of->block[window] = 0;
    of->total = 0;
    of->at = 0;
    of->full = 1;
}

int sd_average(sd_averages *state, int64_t rows, const int64_t *motes, const double *values, double *averages) {
    int64_t window = state->window;
    for (int64_t row = 0; row < rows; row++) {
        mote_window *of = window_of(state, motes[row]);
        if (!of)
            return -1;
        if (of->at + 1 >= of->room && of->room <= window && make_room(state, of))
            return -1;
        double sum = of->total += values[row];
        int64_t at = of->at++;
        averages[row] = of->full ? (of->block[at + 1] + sum) / (double)window : sum / (double)(at + 1);
        of->block[at] = values[row];
        if (of->at == window)
            end_block(of, window);
    }
    return 0;
}

static inline uint8_t is_spike(double value, double average, double threshold) {
    return __builtin_fabs(value - average) > threshold * average;
}

void sd_signals(int64_t rows, const double *values, const double *averages, double threshold, uint8_t *spikes) {
    for (int64_t row = 0; row < rows; row++)
        spikes[row] = is_spike(values[row], averages[row], threshold);
}

int64_t sd_spikes(int64_t rows, const double *values, const double *averages, double threshold, uint32_t *found) {
    int64_t count = 0;
    for (int64_t row = 0; row < rows; row++) {
        found[count] = (uint32_t)row;
        count += is_spike(values[row], averages[row], threshold);
    }
    return count;
}

/* The window, then of each mote: its name, at, full, and the words of its block that count. */

static int64_t block_words(const sd_averages *state, const mote_window *of) {
    return of->full ? state->window + 1 : of->at;
}

int64_t sd_words(const sd_averages *state) {
    int64_t words = 1;
    for (int64_t i = 0; i < state->count; i++)
        words += 3 + block_words(state, state->windows + i);
    return words;
}

void sd_save(const sd_averages *state, int64_t *words) {
    *words++ = state->window;
    for (int64_t i = 0; i < state->count; i++) {
        const mote_window *of = state->windows + i;
        int64_t block = block_words(state, of);
        *words++ = of->mote;
        *words++ = of->at;
        *words++ = of->full;
        if (block)
            memcpy(words, of->block, (size_t)block * sizeof(double));
        words += block;
    }
}

int sd_load(sd_averages *state, int64_t words, const int64_t *saved) {
    const int64_t *end = saved + words;
    if (words < 1 || *saved++ != state->window)
        return -2;
    while (saved < end) {
        if (end - saved < 3 || saved[1] < 0 || saved[1] >= state->window || (saved[2] & ~1ll))
            return -2;
        mote_window *of = window_of(state, saved[0]);
        if (!of)
            return -1;
        of->at = saved[1];
        of->full = saved[2];
        saved += 3;
        int64_t block = block_words(state, of);
        if (end - saved < block)
            return -2;
        while (of->room < block + !of->full && of->room <= state->window)
            if (make_room(state, of))
                return -1;
        memcpy(of->block, saved, (size_t)block * sizeof(double));
        saved += block;
        of->total = 0;
        for (int64_t i = 0; i < of->at; i++)
            of->total += of->block[i];
    }
    return 0;
}
