/*
 * Generators: columns of made-up rows. A value is a function of the seed and the number of its row alone, so the same
 * rows come out whatever the batch, the shard or the worker that makes them, and a loop over rows has nothing that one
 * row hands on to the next (it becomes vector code).
 *
 * Row `made` of a shard has the number n = first + made * stride (shard `first` of `stride`). Its event time is
 * start + floor(n * units / rows): `rows` rows for every `units` units of time.
 *
 * Random words (version 1). 32 bits of a row: word = mix(low32(n) ^ key), with mix the bijection below and key
 * 32 bits of splitmix64(seed + (n >> 32) * 0x9e3779b97f4a7c15): within 2^32 rows no word comes twice.
 *   mix(x)     x ^= x >> 16;  x *= 0x7feb352d;  x ^= x >> 15;  x *= 0x846ca68b;  x ^ (x >> 16)
 *   second     g = word * 0x9e3779b9;  g ^ (g >> 16)
 *   the YSB fields, each (bits * values) >> number of bits:
 *     of word    ad_id 0..999: bits 12..31;   event_type 0..2: bits 0..11
 *     of second  user_id 0..99: bits 16..31;  page_id 0..99: bits 0..15
 *     of second * 0x85ebca6b  ad_type 0..4: bits 20..31
 *   so that no value of a field is more than 0.16% likelier than another of it.
 *
 * Concurrency: all functions are pure, keep no state and wait for nobody; any thread may call them on its own outputs.
 * They use the stack only, at most 16 KiB of it.
 */
#ifndef ACTORSTREAM_GENERATE_H
#define ACTORSTREAM_GENERATE_H
#include "column.h"
#include "status.h"
/* cffi: begin */
typedef struct as_numbering {
    uint64_t seed;
    uint64_t first;
    uint64_t stride;       /* at least 1 */
    int64_t start;
    uint64_t units;        /* at most 2^40; stride at most 2^20 */
    uint64_t rows;         /* 1 .. 2^62 */
} as_numbering;

enum { AS_YSB_USERS = 100, AS_YSB_PAGES = 100, AS_YSB_ADS = 1000 };
/* The seven fields of the Yahoo Streaming Benchmark as integers, into seven columns that lie one after the other from
   `columns` on, each beginning at a multiple of 64 bytes: user_id, page_id, ad_id int32, ad_type, event_type int8,
   event_time int64, ip_address int32. AS_OK | AS_E_ARGUMENT (rows below 0, numbers that pass 2^63). */
int as_ysb_integers(const as_numbering *numbering, uint64_t made, int64_t rows, void *columns);
/* The same fields 64 bits wide (the types 8) and 13 columns of payload behind them (11 of uint64, one of uint32, one of
   uint16): 136 bytes a row, laid out likewise. */
int as_ysb_wide(const as_numbering *numbering, uint64_t made, int64_t rows, void *columns);

/* Where the texts of the seven fields go. offsets have rows + 1 values, data has room for as_ysb_text_bytes bytes. */
typedef struct as_ysb_text {
    int32_t *offsets[6];   /* user_id, page_id, ad_id, ad_type, event_type, ip_address */
    uint8_t *data[6];
    int64_t *event_time;
} as_ysb_text;
enum { AS_UUID_BYTES = 36, AS_UUID_SLOT = 64 };
/* Bytes that the data of column 0 .. 5 takes at most, with room for whole vectors behind it; 0: rows are too many. */
uint64_t as_ysb_text_bytes(uint32_t column, int64_t rows);
/* The same rows as texts: ids are UUIDs, out of `ids`: users, pages, then ads, 36 bytes each in a slot of 64.
   AS_OK | AS_E_ARGUMENT (also: more than 50 million rows). */
int as_ysb_texts(const as_numbering *numbering, uint64_t made, int64_t rows, const uint8_t *ids,
                 const as_ysb_text *out);
/* One of these three as the source of a turn (turn.h), with what it writes to. */
enum as_ysb_kind { AS_YSB_INTEGERS = 0, AS_YSB_WIDE = 1, AS_YSB_TEXTS = 2 };
typedef struct as_ysb_source {
    const as_numbering *numbering;
    void *columns;          /* of integers: room for all columns of as many rows as there ever are, 64-byte aligned */
    const uint8_t *ids;     /* of texts; so the next */
    const as_ysb_text *texts;
    uint32_t kind, count;   /* of columns; those of integers have their width, those of texts lie in `texts` */
} as_ysb_source;
int32_t as_ysb_make(void *source, uint64_t made, int64_t rows, as_column *columns, int64_t time[3]);
/* Event times alone. AS_OK | AS_E_ARGUMENT. */
int as_event_times(const as_numbering *numbering, uint64_t made, int64_t rows, int64_t *out);

/* Columns of any schema, one random word of 64 bits a row: b = splitmix64 of (n + 1) * 0x9e3779b97f4a7c15 +
   salt * 0xd1342543de82ef95. Each answers AS_OK | AS_E_ARGUMENT (as above; no span, no ranks). */
int as_draw_bits(const as_numbering *numbering, uint64_t made, int64_t rows, uint64_t salt, uint64_t *out);
/* Floats low <= value < high: low + (b >> 11) * 2^-53 * (high - low). */
int as_draw_units(const as_numbering *numbering, uint64_t made, int64_t rows, uint64_t salt, double low, double high,
                  double *out);
/* Integers low .. low + span - 1: the high half of (the upper 32 bits of b) * span, or of b * span from 2^32 on. */
int as_draw_integers(const as_numbering *numbering, uint64_t made, int64_t rows, uint64_t salt, int64_t low,
                     uint64_t span, int64_t *out);
/* Ranks 0 .. ranks - 1 as often as a table of aliases says (Walker 1977, Vose 1991): the upper 32 bits of b choose an
   entry, which is kept if the lower ones are below kept[entry], else it is other[entry]. */
int as_draw_ranks(const as_numbering *numbering, uint64_t made, int64_t rows, uint64_t salt, const uint32_t *kept,
                  const uint32_t *other, uint32_t ranks, uint32_t *out);
/* The table of aliases of `ranks` weights whose mean is 1; overwrites the weights. `scratch` has room for ranks. */
void as_draw_table(double *weights, uint32_t ranks, uint32_t *scratch, uint32_t *kept, uint32_t *other);
/* cffi: end */
#endif
