/* The bare C that `ysb`, `ysb-star` and `swa` are compared with: plain kernels over columns that Python calls one
   after the other on each batch, and one fused loop over tuples a workload. Nothing else: no schemas, watermarks, late
   rows, exchange. Rows are those of the engine's generator (include/generate.h, "version 1"), so counts must agree.

   Event times ascend, so a window is over when a row lies behind its end. Its results go to `rows`, ascending by key;
   the caller empties it (`made` = 0). Functions that answer int: 0, or -1 if the results had no room. Each thread calls
   with memory of its own; nothing blocks. */
#include <stdint.h>
#include <string.h>

/* cdef */
enum { KEYS = 100, ADS = 1000, PANES = 10 };
typedef struct numbering {
    uint64_t seed, first, stride, per_ms;
    int64_t start;
} numbering;
typedef struct columns {
    int32_t *user, *page, *ad;
    int8_t *ad_type, *event_type;
    int64_t *time;
    int32_t *address;
} columns;
typedef struct result {
    int32_t key, pad;
    int64_t window_start;
    uint64_t count, other;
} result;
typedef struct window {
    int64_t begin, end, size;
    uint64_t counts[3][100];    /* by type of event; of swa: of the open pane, and of all panes */
    uint64_t panes[10][100];    /* of swa: those that are closed, the oldest at `oldest` */
    int64_t oldest;
    int64_t made, room;
    result *rows;
} window;
void generate(const numbering *n, uint64_t made, int64_t rows, const columns *out);
int64_t filter(const int8_t *event_type, int64_t rows, int8_t wanted, uint32_t *selected);
void lookup(const int32_t *ad, const uint32_t *selected, int64_t rows, const int32_t *table, int32_t *campaign);
int count(window *w, const int64_t *time, const uint32_t *selected, const int32_t *campaign, int64_t rows);
int count_panes(window *w, const int64_t *time, const int32_t *user, int64_t rows);
int close_window(window *w, int64_t at);
int close_star(window *w, int64_t at);
int close_pane(window *w, int64_t at);
int join(window *views, window *clicks, window *out);
int loop_ysb(const numbering *n, uint64_t made, int64_t rows, const int32_t *table, window *w);
int loop_star(const numbering *n, uint64_t made, int64_t rows, const int32_t *table, window *w);
int loop_swa(const numbering *n, uint64_t made, int64_t rows, window *w);
void wide_fill(const numbering *n, int64_t rows, void *memory);
int loop_wide(const void *memory, int64_t rows, const int32_t *table, window *w);
/* end */

#define GOLDEN UINT64_C(0x9e3779b97f4a7c15)
#define VIEW 0
#define CLICK 1

static inline uint64_t splitmix64(uint64_t x) {
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline uint32_t word_of(uint32_t number, uint32_t key) {
    uint32_t x = number ^ key;
    x ^= x >> 16;
    x *= UINT32_C(0x7feb352d);
    x ^= x >> 15;
    x *= UINT32_C(0x846ca68b);
    return x ^ (x >> 16);
}

static inline uint32_t second_word(uint32_t word) {
    uint32_t g = word * UINT32_C(0x9e3779b9);
    return g ^ (g >> 16);
}

#define AD(word) ((int32_t)((((word) >> 12) * ADS) >> 20))
#define EVENT_TYPE(word) ((int8_t)((((word) & 0xfff) * 3) >> 12))
#define USER(second) ((int32_t)((((second) >> 16) * 100) >> 16))
#define PAGE(second) ((int32_t)((((second) & 0xffff) * 100) >> 16))
#define AD_TYPE(second) ((int8_t)(((((second) * UINT32_C(0x85ebca6b)) >> 20) * 5) >> 12))

static inline uint32_t key_of(const numbering *n, uint64_t number) {
    return (uint32_t)(splitmix64(n->seed + (number >> 32) * GOLDEN) >> 32);
}

/* Rows whose numbers share their upper half, at most `rows`. */
static inline int64_t run_of(const numbering *n, uint64_t number, int64_t rows) {
    uint64_t left = ((UINT64_C(1) << 32) - (uint32_t)number + n->stride - 1) / n->stride;
    return left < (uint64_t)rows ? (int64_t)left : rows;
}

/* Six columns of a run of rows; `restrict` on parameters is what lets gcc make vector code of it. */
static __attribute__((noinline)) void fill(uint32_t low, uint32_t stride, uint32_t key, int64_t rows,
                                           int32_t *restrict user, int32_t *restrict page, int32_t *restrict ad,
                                           int8_t *restrict ad_type, int8_t *restrict event_type,
                                           int32_t *restrict address) {
    for (int64_t i = 0; i < rows; i++) {
        const uint32_t word = word_of(low + (uint32_t)i * stride, key), second = second_word(word);
        user[i] = USER(second);
        page[i] = PAGE(second);
        ad[i] = AD(word);
        ad_type[i] = AD_TYPE(second);
        event_type[i] = EVENT_TYPE(word);
        address[i] = 0x01020304;
    }
}

/* Seven columns. */
void generate(const numbering *n, uint64_t made, int64_t rows, const columns *out) {
    for (int64_t done = 0; done < rows;) {
        const uint64_t number = n->first + (made + (uint64_t)done) * n->stride;
        const int64_t run = run_of(n, number, rows - done);
        fill((uint32_t)number, (uint32_t)n->stride, key_of(n, number), run, out->user + done, out->page + done,
             out->ad + done, out->ad_type + done, out->event_type + done, out->address + done);
        done += run;
    }
    int64_t *restrict time = out->time;
    uint64_t passed = n->first + made * n->stride;
    for (int64_t i = 0; i < rows;) {
        const uint64_t ms = passed / n->per_ms, left = (ms + 1) * n->per_ms - passed;
        uint64_t same = (left + n->stride - 1) / n->stride;
        if (same > (uint64_t)(rows - i))
            same = (uint64_t)(rows - i);
        for (const int64_t end = i + (int64_t)same; i < end; i++)
            time[i] = n->start + (int64_t)ms;
        passed += same * n->stride;
    }
}

/* The numbers of the rows wanted, into `selected` (room for all rows); how many. No branch a row. */
int64_t filter(const int8_t *event_type, int64_t rows, int8_t wanted, uint32_t *restrict selected) {
    int64_t found = 0;
    for (int64_t i = 0; i < rows; i++) {
        selected[found] = (uint32_t)i;
        found += event_type[i] == wanted;
    }
    return found;
}

void lookup(const int32_t *ad, const uint32_t *selected, int64_t rows, const int32_t *table,
            int32_t *restrict campaign) {
    for (int64_t i = 0; i < rows; i++)
        campaign[i] = table[ad[selected[i]]];
}

/* 0, or -1 if the results have no room: the caller made too little. */
static int emit(window *w, int32_t key, uint64_t value, uint64_t other) {
    if (w->made == w->room)
        return -1;
    w->rows[w->made++] = (result){key, 0, w->begin, value, other};
    return 0;
}

/* The window that `at` lies in is open from now on. */
static void open_window(window *w, int64_t at) {
    memset(w->counts, 0, sizeof w->counts);
    w->begin = at - at % w->size;
    w->end = w->begin + w->size;
}

/* A result for each campaign that was counted. */
int close_window(window *w, int64_t at) {
    int bad = 0;
    for (int key = 0; key < KEYS; key++)
        if (w->counts[0][key])
            bad |= emit(w, key, w->counts[0][key], 0);
    open_window(w, at);
    return bad;
}

/* Views and clicks of the campaigns that have both. */
int close_star(window *w, int64_t at) {
    int bad = 0;
    for (int key = 0; key < KEYS; key++)
        if (w->counts[VIEW][key] && w->counts[CLICK][key])
            bad |= emit(w, key, w->counts[VIEW][key], w->counts[CLICK][key]);
    open_window(w, at);
    return bad;
}

/* `begin` to `end` is a pane; a result is the sum of the last PANES of them, with the start of the last. */
int close_pane(window *w, int64_t at) {
    int bad = 0;
    for (; w->end <= at; w->begin = w->end, w->end += w->size) {
        for (int key = 0; key < KEYS; key++) {
            w->counts[1][key] += w->counts[0][key] - w->panes[w->oldest][key];
            w->panes[w->oldest][key] = w->counts[0][key];
            w->counts[0][key] = 0;
            if (w->counts[1][key])
                bad |= emit(w, key, w->counts[1][key], 0);
        }
        w->oldest = (w->oldest + 1) % PANES;
    }
    return bad;
}

int count(window *w, const int64_t *time, const uint32_t *selected, const int32_t *campaign, int64_t rows) {
    int64_t end = w->end;
    int bad = 0;
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = time[selected[i]];
        if (__builtin_expect(at >= end, 0)) {
            bad |= close_window(w, at);
            end = w->end;
        }
        w->counts[0][campaign[i]]++;
    }
    return bad;
}

int count_panes(window *w, const int64_t *time, const int32_t *user, int64_t rows) {
    int64_t end = w->end;
    int bad = 0;
    for (int64_t i = 0; i < rows; i++) {
        if (__builtin_expect(time[i] >= end, 0)) {
            bad |= close_pane(w, time[i]);
            end = w->end;
        }
        w->counts[0][user[i]]++;
    }
    return bad;
}

/* Views beside clicks of the same window and campaign, both ascending; what found none of the other yet stays. */
int join(window *views, window *clicks, window *out) {
    int64_t v = 0, c = 0;
    int bad = 0;
    while (v < views->made && c < clicks->made) {
        const result *left = views->rows + v, *right = clicks->rows + c;
        const int64_t apart = left->window_start - right->window_start, keys = left->key - right->key;
        if (apart == 0 && keys == 0) {
            out->begin = left->window_start;
            bad |= emit(out, left->key, left->count, right->count);
        }
        v += apart < 0 || (apart == 0 && keys <= 0);
        c += apart > 0 || (apart == 0 && keys >= 0);
    }
    memmove(views->rows, views->rows + v, (size_t)(views->made -= v) * sizeof(result));
    memmove(clicks->rows, clicks->rows + c, (size_t)(clicks->made -= c) * sizeof(result));
    return bad;
}

/* The fused loops: each tuple is made whole in memory, then goes through all steps: scalar, tuple by tuple. What is
   not wanted is counted as 0 or beside: a branch that every third row takes costs a quarter of the rate. */
typedef struct event {
    int32_t user, page, ad;
    int8_t ad_type, event_type;
    int64_t time;
    int32_t address;
} event;
enum { LATEST = 64 };

#define EACH_EVENT(step)                                                                                               \
    event latest[LATEST];                                                                                              \
    int bad = 0;                                                                                                       \
    for (int64_t done = 0; done < rows;) {                                                                             \
        const uint64_t first = n->first + (made + (uint64_t)done) * n->stride;                                         \
        const uint64_t ms = first / n->per_ms, left = ((ms + 1) * n->per_ms - first + n->stride - 1) / n->stride;      \
        const uint32_t key = key_of(n, first), low = (uint32_t)first, stride = (uint32_t)n->stride;                    \
        const int64_t at = n->start + (int64_t)ms;                                                                     \
        int64_t same = run_of(n, first, rows - done);                                                                  \
        if ((uint64_t)same > left)                                                                                     \
            same = (int64_t)left;                                                                                      \
        for (int64_t i = 0; i < same; i++) {                                                                           \
            const uint32_t word = word_of(low + (uint32_t)i * stride, key), second = second_word(word);                \
            const event one = {                                                                                        \
                USER(second), PAGE(second), AD(word), AD_TYPE(second), EVENT_TYPE(word), at, 0x01020304};              \
            latest[i % LATEST] = one;                                                                                  \
            __asm__ volatile("" : : "r"(latest) : "memory");                                                           \
            step                                                                                                       \
        }                                                                                                              \
        done += same;                                                                                                  \
    }                                                                                                                  \
    return bad;

int loop_ysb(const numbering *n, uint64_t made, int64_t rows, const int32_t *table, window *w) {
    EACH_EVENT({
        if (__builtin_expect(one.time >= w->end, 0))
            bad |= close_window(w, one.time);
        w->counts[0][table[one.ad]] += one.event_type == VIEW;
    })
}

int loop_star(const numbering *n, uint64_t made, int64_t rows, const int32_t *table, window *w) {
    EACH_EVENT({
        if (__builtin_expect(one.time >= w->end, 0))
            bad |= close_star(w, one.time);
        w->counts[one.event_type][table[one.ad]]++;
    })
}

int loop_swa(const numbering *n, uint64_t made, int64_t rows, window *w) {
    EACH_EVENT({
        if (__builtin_expect(one.time >= w->end, 0))
            bad |= close_pane(w, one.time);
        w->counts[0][one.user]++;
    })
}

/* Rows of 136 bytes that lie in memory. */
typedef struct wide_event {
    int64_t user, page, ad, ad_type, event_type, time, address, payload[10];
} wide_event;

void wide_fill(const numbering *n, int64_t rows, void *memory) {
    wide_event *out = memory;
    for (int64_t i = 0; i < rows; i++) {
        const uint64_t number = n->first + (uint64_t)i * n->stride;
        const uint32_t word = word_of((uint32_t)number, key_of(n, number)), second = second_word(word);
        out[i] = (wide_event){USER(second),     PAGE(second),
                              AD(word),         AD_TYPE(second),
                              EVENT_TYPE(word), n->start + (int64_t)(number / n->per_ms),
                              0x01020304,       {word}};
    }
}

int loop_wide(const void *memory, int64_t rows, const int32_t *table, window *w) {
    const wide_event *in = memory;
    int bad = 0;
    for (int64_t i = 0; i < rows; i++) {
        if (__builtin_expect(in[i].time >= w->end, 0))
            bad |= close_window(w, in[i].time);
        w->counts[0][table[in[i].ad]] += in[i].event_type == VIEW;
    }
    return bad;
}
