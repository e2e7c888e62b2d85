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

uint64_t as_ysb_text_bytes(uint32_t column, int64_t rows) {
    static const uint8_t most[6] = {AS_UUID_BYTES, AS_UUID_BYTES, AS_UUID_BYTES, WORD, 8, ADDRESS_BYTES};
    if (column > 5 || rows < 0 || rows > MOST_ROWS)
        return 0;
    return (uint64_t)rows * most[column] + 64;
}

/* -- ids: 36 bytes a row -- */

static void put_ids_plain(const uint16_t *restrict code, int64_t count, const uint8_t *restrict ids,
                          uint8_t *restrict out) {
    for (int64_t i = 0; i < count; i++)
        memcpy(out + i * AS_UUID_BYTES, ids + (uint32_t)code[i] * AS_UUID_SLOT, AS_UUID_BYTES);
}

#ifdef AS_AVX512
/* Eight ids are nine vectors: vector n begins with the last n words of 32 bits of id n - 1, and goes on with the first
   8 - n of id n. So nothing is stored twice, and no store crosses a cache line. */
#define PART(n)                                                                                                        \
    _mm256_storeu_si256(                                                                                               \
        (__m256i *)(out + 32 * (n)),                                                                                   \
        _mm256_blend_epi32(_mm256_permutevar8x32_epi32(ID((n) & 7, 0), _mm256_sub_epi32(lane, _mm256_set1_epi32(n))),  \
                           ID((n) - 1, 36 - 4 * (n)), (1 << (n)) - 1))
#define ID(n, at) _mm256_loadu_si256((const __m256i *)(ids + (uint32_t)code[n] * AS_UUID_SLOT + (at)))

AS_TARGET_AVX2 static void put_ids_avx2(const uint16_t *restrict code, int64_t count, const uint8_t *restrict ids,
                                        uint8_t *restrict out) {
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); /* of an index its lowest three bits count */
    for (; count >= 8; count -= 8, code += 8, out += 8 * AS_UUID_BYTES) {
        _mm256_storeu_si256((__m256i *)out, ID(0, 0));
        PART(1);
        PART(2);
        PART(3);
        PART(4);
        PART(5);
        PART(6);
        PART(7);
        _mm256_storeu_si256((__m256i *)(out + 256), ID(7, 4));
    }
    put_ids_plain(code, count, ids, out);
}
#undef PART
#undef ID
#endif

static void put_ids(const uint16_t *code, int64_t count, const uint8_t *ids, uint8_t *out) {
#ifdef AS_AVX512
    if (cpu_has_avx2()) {
        put_ids_avx2(code, count, ids, out);
        return;
    }
#endif
    put_ids_plain(code, count, ids, out);
}

/* -- words: several rows of a column at once, from a table of all such groups -- */

enum { AD_TYPES_AT_ONCE = 2, EVENT_TYPES_AT_ONCE = 4, GROUPS = 81, GROUP_BYTES = 32, MOST_AT_ONCE = 4 };

typedef struct words {
    uint8_t text[GROUPS][GROUP_BYTES];     /* of group c0 + c1 * kinds + c2 * kinds^2 + ... */
    int32_t ends[GROUPS][MOST_AT_ONCE];
    const char (*word)[WORD + 1];
    const uint8_t *bytes; /* of each word */
} words;

static void groups_of(words *made, const char (*word)[WORD + 1], const uint8_t *bytes, uint32_t kinds,
                      uint32_t at_once) {
    uint32_t groups = 1;
    made->word = word;
    made->bytes = bytes;
    for (uint32_t each = 0; each < at_once; each++)
        groups *= kinds;
    for (uint32_t group = 0; group < groups; group++) {
        int32_t at = 0;
        for (uint32_t each = 0, rest = group; each < at_once; each++, rest /= kinds) {
            memcpy(made->text[group] + at, word[rest % kinds], bytes[rest % kinds]);
            at += bytes[rest % kinds];
            made->ends[group][each] = at;
        }
        memset(made->text[group] + at, 0, (size_t)(GROUP_BYTES - at));
    }
}

/* Copies a word a row and notes where it ends; answers where the last one does. */
AS_INLINE int32_t put_words(const uint16_t *restrict code, int64_t count, const words *of, uint32_t kinds,
                            uint32_t at_once, int32_t at, int32_t *restrict offsets, uint8_t *restrict out) {
    int64_t i = 0;
    for (; i + at_once <= count; i += at_once) {
        uint32_t group = 0;
        for (uint32_t each = at_once; each-- > 0;)
            group = group * kinds + code[i + each];
        memcpy(out + at, of->text[group], GROUP_BYTES);
        for (uint32_t each = 0; each < at_once; each++)
            offsets[i + 1 + each] = at + of->ends[group][each];
        at += of->ends[group][at_once - 1];
    }
    for (; i < count; i++) {
        memcpy(out + at, of->word[code[i]], WORD);
        at += of->bytes[code[i]];
        offsets[i + 1] = at;
    }
    return at;
}

AS_INLINE void put_offsets(int64_t count, int32_t first, int32_t bytes, int32_t *restrict offsets) {
    for (int64_t i = 0; i < count; i++)
        offsets[i] = first + (int32_t)i * bytes;
}

/* What the rows of one call share. */
typedef struct tables {
    words ad_types, event_types;
    uint8_t addresses[CHUNK * ADDRESS_BYTES];
    int32_t ad_type, event_type; /* where the last words end */
} tables;

static void make_tables(tables *made) {
    groups_of(&made->ad_types, AD_TYPES, AD_TYPE_BYTES, 5, AD_TYPES_AT_ONCE);
    groups_of(&made->event_types, EVENT_TYPES, EVENT_TYPE_BYTES, 3, EVENT_TYPES_AT_ONCE);
    for (int row = 0; row < CHUNK; row++)
        memcpy(made->addresses + row * ADDRESS_BYTES, ADDRESS, ADDRESS_BYTES);
    made->ad_type = made->event_type = 0;
}

/* Which of its values each field of a row has. */
typedef struct codes {
    uint16_t user[CHUNK], page[CHUNK], ad[CHUNK], ad_type[CHUNK], event_type[CHUNK];
} codes;

AS_INLINE void text_rows_body(run r, int64_t first, int64_t count, const as_ysb_text *out, tables *of, codes *code) {
    for (int64_t i = 0; i < count; i++) {
        const uint32_t word = word_of(r, i), second = second_word(word);
        code->user[i] = (uint16_t)user_of(second);
        code->page[i] = (uint16_t)page_of(second);
        code->ad[i] = (uint16_t)ad_of(word);
        code->ad_type[i] = (uint16_t)ad_type_of(second);
        code->event_type[i] = (uint16_t)event_type_of(word);
    }
    for (int column = 0; column < 3; column++)
        put_offsets(count, (int32_t)first * AS_UUID_BYTES, AS_UUID_BYTES, out->offsets[column] + first);
    of->ad_type = put_words(code->ad_type, count, &of->ad_types, 5, AD_TYPES_AT_ONCE, of->ad_type,
                            out->offsets[3] + first, out->data[3]);
    of->event_type = put_words(code->event_type, count, &of->event_types, 3, EVENT_TYPES_AT_ONCE, of->event_type,
                               out->offsets[4] + first, out->data[4]);
    memcpy(out->data[5] + first * ADDRESS_BYTES, of->addresses, (size_t)count * ADDRESS_BYTES);
    put_offsets(count, (int32_t)first * ADDRESS_BYTES, ADDRESS_BYTES, out->offsets[5] + first);
}
AS_VERSIONS(text_rows, (run r, int64_t first, int64_t count, const as_ysb_text *out, tables *of, codes *code),
            (r, first, count, out, of, code))

int as_ysb_texts(const as_numbering *numbering, uint64_t made, int64_t rows, const uint8_t *ids,
                 const as_ysb_text *out) {
    if (rows > MOST_ROWS || !numbered(numbering, made, rows))
        return AS_E_ARGUMENT;
    tables of;
    codes code;
    make_tables(&of);
    out->offsets[3][0] = out->offsets[4][0] = 0;
    for (int64_t row = 0; row < rows;) {
        const run r = run_from(numbering, made + (uint64_t)row, rows - row < CHUNK ? rows - row : CHUNK);
        text_rows(r, row, r.rows, out, &of, &code);
        const uint8_t *pages = ids + AS_YSB_USERS * AS_UUID_SLOT, *ads = pages + AS_YSB_PAGES * AS_UUID_SLOT;
        put_ids(code.user, r.rows, ids, out->data[0] + row * AS_UUID_BYTES);
        put_ids(code.page, r.rows, pages, out->data[1] + row * AS_UUID_BYTES);
        put_ids(code.ad, r.rows, ads, out->data[2] + row * AS_UUID_BYTES);
        row += r.rows;
    }
    for (int column = 0; column < 6; column++)
        if (column < 3 || column == 5)
            out->offsets[column][rows] = (int32_t)rows * (column == 5 ? ADDRESS_BYTES : AS_UUID_BYTES);
    return as_event_times(numbering, made, rows, out->event_time);
}
