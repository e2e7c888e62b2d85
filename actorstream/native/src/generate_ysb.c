/* The events of the Yahoo Streaming Benchmark as integers, and event times alone: see generate.h. */
#include "numbering.h"

#define ADDRESS 0x01020304 /* 1.2.3.4, as in the benchmark's own generator */
#define PAYLOAD 11         /* uint64 columns of a wide event; then one of uint32, one of uint16 */

AS_INLINE void integer_rows_body(run r, int32_t *restrict user, int32_t *restrict page, int32_t *restrict ad,
                                 int8_t *restrict ad_type, int8_t *restrict event_type, int32_t *restrict address) {
    for (int64_t row = 0; row < r.rows; row++) {
        const uint32_t word = word_of(r, row), second = second_word(word);
        user[row] = (int32_t)user_of(second);
        page[row] = (int32_t)page_of(second);
        ad[row] = (int32_t)ad_of(word);
        ad_type[row] = (int8_t)ad_type_of(second);
        event_type[row] = (int8_t)event_type_of(word);
        address[row] = ADDRESS;
    }
}
AS_VERSIONS(integer_rows,
            (run r, int32_t *restrict user, int32_t *restrict page, int32_t *restrict ad, int8_t *restrict ad_type,
             int8_t *restrict event_type, int32_t *restrict address),
            (r, user, page, ad, ad_type, event_type, address))

AS_INLINE void times_body(const as_numbering *n, uint64_t made, int64_t rows, int64_t *restrict out) {
    fill_times(n, made, rows, out);
}
AS_VERSIONS(times, (const as_numbering *n, uint64_t made, int64_t rows, int64_t *restrict out), (n, made, rows, out))

int as_event_times(const as_numbering *numbering, uint64_t made, int64_t rows, int64_t *out) {
    if (!numbered(numbering, made, rows))
        return AS_E_ARGUMENT;
    times(numbering, made, rows, out);
    return AS_OK;
}

int as_ysb_integers(const as_numbering *numbering, uint64_t made, int64_t rows, void *columns) {
    if (!numbered(numbering, made, rows))
        return AS_E_ARGUMENT;
    uint8_t *at = columns;
    int32_t *user = (int32_t *)column_at(&at, 4, rows), *page = (int32_t *)column_at(&at, 4, rows);
    int32_t *ad = (int32_t *)column_at(&at, 4, rows);
    int8_t *ad_type = (int8_t *)column_at(&at, 1, rows), *event_type = (int8_t *)column_at(&at, 1, rows);
    int64_t *time = (int64_t *)column_at(&at, 8, rows);
    int32_t *address = (int32_t *)column_at(&at, 4, rows);
    for (int64_t row = 0; row < rows;) {
        const run r = run_from(numbering, made + (uint64_t)row, rows - row);
        integer_rows(r, user + row, page + row, ad + row, ad_type + row, event_type + row, address + row);
        row += r.rows;
    }
    times(numbering, made, rows, time);
    return AS_OK;
}

/* Rows of a wide event's narrow part first, CHUNK at a time; then its payload, a column after the other, so that
   writes go to few places at once. */
AS_INLINE void wide_rows_body(run r, int64_t first, int64_t rows, int64_t *const *restrict columns,
                              int8_t *restrict ad_type, int8_t *restrict event_type, uint64_t *const *restrict payload,
                              uint32_t *restrict last, uint16_t *restrict end) {
    uint64_t kept[CHUNK];
    int64_t *restrict user = columns[0], *restrict page = columns[1], *restrict ad = columns[2],
                      *restrict address = columns[3];
    for (int64_t at = first; at < first + rows; at += CHUNK) {
        const int64_t count = first + rows - at < CHUNK ? first + rows - at : CHUNK;
        for (int64_t i = 0; i < count; i++) {
            const uint32_t word = word_of(r, at - first + i), second = second_word(word);
            kept[i] = (uint64_t)word << 32 | second;
            user[at + i] = user_of(second);
            page[at + i] = page_of(second);
            ad[at + i] = ad_of(word);
            ad_type[at + i] = (int8_t)ad_type_of(second);
            event_type[at + i] = (int8_t)event_type_of(word);
            address[at + i] = ADDRESS;
            last[at + i] = word;
            end[at + i] = (uint16_t)second;
        }
        for (int column = 0; column < PAYLOAD; column++) {
            uint64_t *restrict out = payload[column] + at;
            for (int64_t i = 0; i < count; i++)
                out[i] = kept[i] + (uint64_t)column * GOLDEN;
        }
    }
}
AS_VERSIONS(wide_rows,
            (run r, int64_t first, int64_t rows, int64_t *const *restrict columns, int8_t *restrict ad_type,
             int8_t *restrict event_type, uint64_t *const *restrict payload, uint32_t *restrict last,
             uint16_t *restrict end),
            (r, first, rows, columns, ad_type, event_type, payload, last, end))

int as_ysb_wide(const as_numbering *numbering, uint64_t made, int64_t rows, void *columns) {
    if (!numbered(numbering, made, rows))
        return AS_E_ARGUMENT;
    uint8_t *at = columns;
    int64_t *wide[4];
    uint64_t *payload[PAYLOAD];
    for (int column = 0; column < 3; column++)
        wide[column] = (int64_t *)column_at(&at, 8, rows);
    int8_t *ad_type = (int8_t *)column_at(&at, 1, rows), *event_type = (int8_t *)column_at(&at, 1, rows);
    int64_t *time = (int64_t *)column_at(&at, 8, rows);
    wide[3] = (int64_t *)column_at(&at, 8, rows);
    for (int column = 0; column < PAYLOAD; column++)
        payload[column] = (uint64_t *)column_at(&at, 8, rows);
    uint32_t *last = (uint32_t *)column_at(&at, 4, rows);
    uint16_t *end = (uint16_t *)column_at(&at, 2, rows);
    for (int64_t row = 0; row < rows;) {
        const run r = run_from(numbering, made + (uint64_t)row, rows - row);
        wide_rows(r, row, r.rows, wide, ad_type, event_type, payload, last, end);
        row += r.rows;
    }
    times(numbering, made, rows, time);
    return AS_OK;
}
