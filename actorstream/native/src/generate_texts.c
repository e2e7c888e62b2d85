/* The events of the Yahoo Streaming Benchmark as texts: offsets and bytes of every value, see generate.h. */
#include <string.h>
#include "numbering.h"

#define MOST_ROWS 50000000 /* so that offsets stay below 2^31 */
#define WORD 16            /* bytes of the longest ad type; a short word is copied as so many */

static const char AD_TYPES[5][WORD + 1] = {"banner", "modal", "sponsored-search", "mail", "mobile"};
static const uint8_t AD_TYPE_BYTES[5] = {6, 5, 16, 4, 6};
static const char EVENT_TYPES[3][WORD + 1] = {"view", "click", "purchase"};
static const uint8_t EVENT_TYPE_BYTES[3] = {4, 5, 8};
static const char ADDRESS[8] = "1.2.3.4";
enum { ADDRESS_BYTES = 7 };

uint64_t as_ysb_text_bytes(uint32_t column, int64_t rows)
{
    static const uint8_t most[6] = {AS_UUID_BYTES, AS_UUID_BYTES, AS_UUID_BYTES, WORD, 8, ADDRESS_BYTES};
    if (column > 5 || rows < 0 || rows > MOST_ROWS)
        return 0;
    return (uint64_t)rows * most[column] + 64;
}

/* Copies an id a row: 32 and 4 bytes. One vector of 64, whose end the next row overwrites, is 15% slower. */
AS_INLINE void put_ids(const uint16_t *restrict code, int64_t count, const uint8_t *restrict ids, uint8_t *restrict out)
{
    for (int64_t i = 0; i < count; i++)
        memcpy(out + i * AS_UUID_BYTES, ids + (uint32_t)code[i] * AS_UUID_SLOT, AS_UUID_BYTES);
}

/* Copies a word a row and notes where it ends; answers where the last one does. */
AS_INLINE int32_t put_words(const uint16_t *restrict code, int64_t count, const char (*words)[WORD + 1],
                            const uint8_t *bytes, int32_t at, int32_t *restrict offsets, uint8_t *restrict out)
{
    for (int64_t i = 0; i < count; i++) {
        memcpy(out + at, words[code[i]], WORD);
        at += bytes[code[i]];
        offsets[i + 1] = at;
    }
    return at;
}

AS_INLINE void put_offsets(int64_t count, int32_t first, int32_t bytes, int32_t *restrict offsets)
{
    for (int64_t i = 0; i < count; i++)
        offsets[i] = first + (int32_t)i * bytes;
}

struct ends {
    int32_t ad_type, event_type;
};

AS_INLINE void text_rows_body(run r, int64_t first, int64_t count, const uint8_t *ids, const as_ysb_text *out,
                              struct ends *ends)
{
    uint16_t user[CHUNK], page[CHUNK], ad[CHUNK], ad_type[CHUNK], event_type[CHUNK];
    for (int64_t i = 0; i < count; i++) {
        const uint32_t word = word_of(r, i), second = second_word(word);
        user[i] = (uint16_t)user_of(second);
        page[i] = (uint16_t)page_of(second);
        ad[i] = (uint16_t)ad_of(word);
        ad_type[i] = (uint16_t)ad_type_of(second);
        event_type[i] = (uint16_t)event_type_of(word);
    }
    put_ids(user, count, ids, out->data[0] + first * AS_UUID_BYTES);
    put_ids(page, count, ids + AS_YSB_USERS * AS_UUID_SLOT, out->data[1] + first * AS_UUID_BYTES);
    put_ids(ad, count, ids + (AS_YSB_USERS + AS_YSB_PAGES) * AS_UUID_SLOT, out->data[2] + first * AS_UUID_BYTES);
    for (int column = 0; column < 3; column++)
        put_offsets(count, (int32_t)first * AS_UUID_BYTES, AS_UUID_BYTES, out->offsets[column] + first);
    ends->ad_type = put_words(ad_type, count, AD_TYPES, AD_TYPE_BYTES, ends->ad_type, out->offsets[3] + first,
                              out->data[3]);
    ends->event_type = put_words(event_type, count, EVENT_TYPES, EVENT_TYPE_BYTES, ends->event_type,
                                 out->offsets[4] + first, out->data[4]);
    for (int64_t i = first; i < first + count; i++)
        memcpy(out->data[5] + i * ADDRESS_BYTES, ADDRESS, sizeof ADDRESS);
    put_offsets(count, (int32_t)first * ADDRESS_BYTES, ADDRESS_BYTES, out->offsets[5] + first);
}
AS_VERSIONS(text_rows,
            (run r, int64_t first, int64_t count, const uint8_t *ids, const as_ysb_text *out, struct ends *ends),
            (r, first, count, ids, out, ends))

int as_ysb_texts(const as_numbering *numbering, uint64_t made, int64_t rows, const uint8_t *ids,
                 const as_ysb_text *out)
{
    if (rows > MOST_ROWS || !numbered(numbering, made, rows))
        return AS_E_ARGUMENT;
    struct ends ends = {0, 0};
    out->offsets[3][0] = out->offsets[4][0] = 0;
    for (int64_t row = 0; row < rows;) {
        const run r = run_from(numbering, made + (uint64_t)row, rows - row < CHUNK ? rows - row : CHUNK);
        text_rows(r, row, r.rows, ids, out, &ends);
        row += r.rows;
    }
    for (int column = 0; column < 6; column++)
        if (column < 3 || column == 5)
            out->offsets[column][rows] = (int32_t)rows * (column == 5 ? ADDRESS_BYTES : AS_UUID_BYTES);
    return as_event_times(numbering, made, rows, out->event_time);
}
