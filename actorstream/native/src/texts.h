/*
 * Texts: byte strings to dense numbers 0, 1, 2, ... in the order they were first seen, and back. One owner at
 * a time.
 *
 *   slots    of buckets.h; a reference is a place + 1
 *   place    where the record of text n begins in data, in units of 8 bytes
 *   data     records: number u32, length u32, the bytes, and none to seven more
 *
 * So a known text is found in two steps, its bucket and its record, which are fetched ahead for many rows at once: a row of
 * 1,000,000 texts of 20 bytes takes 1.25 times an integer key (tests/native/c/texts_speed.c).
 */
#ifndef ACTORSTREAM_TEXTS_H
#define ACTORSTREAM_TEXTS_H
#include <stdbool.h>
#include "operand.h"

/* Fewer texts are never looked through, nor are fewer bytes of them while all panes and sessions stay: so texts that come
   again and again are found, and not added each time. Tests make both less. */
#ifndef AS_TEXTS_FEW
#define AS_TEXTS_FEW 1024
#define AS_TEXTS_STALE (1 << 20)
#endif

typedef struct as_texts {
    uint64_t *slots, *data;
    uint32_t *place;
    uint64_t mask;  /* slots - 1; 0: none yet */
    uint64_t count; /* texts */
    uint64_t used;  /* of data, in units of 8 bytes, as its room */
    uint64_t room, data_room;
    uint64_t settled; /* half the texts that as_texts_grown waits for */
    uint32_t *known;  /* number + 1 of the texts of a column of few rows, while one batch is read; 0: not yet found */
    uint64_t known_rows, known_room;
} as_texts;

/* A zeroed struct is an empty table. */
void as_texts_clear(as_texts *texts);
/* Numbers of rows row .. row + rows - 1, new texts added; a null has number 0 and adds nothing. Of a column of few
   rows each is looked at once in a batch, which begins with a call for row 0. AS_OK | AS_E_MEMORY (also for a text of
   4 GiB, and beyond 2^32 - 2 texts or 32 GiB of them). */
int as_texts_find(as_texts *texts, const as_operand *operand, int64_t row, int64_t rows, uint64_t *number);
/* Adds `rows` texts that are all new, in their order. AS_OK | AS_E_MEMORY. */
int as_texts_put(as_texts *texts, const as_operand *text, int64_t rows);
bytes_view as_texts_at(const as_texts *texts, uint64_t number);
/* The texts of `rows` numbers: offsets[rows + 1] from 0, and with `data` != NULL their bytes. Answers how
   many bytes. */
int64_t as_texts_read(const as_texts *texts, const uint64_t *number, int64_t rows, int64_t *offsets, uint8_t *data);
/* Leaves only texts with keep[number]; writes their new numbers over keep (others: UINT32_MAX). */
int as_texts_keep(as_texts *texts, uint32_t *keep);
/* Whether so many texts have come, of `bytes` at least, that it is time to look which of them are still referred to. */
static inline bool as_texts_grown(const as_texts *texts, uint64_t bytes) {
    return texts->count >= AS_TEXTS_FEW && texts->count >= 2 * texts->settled && texts->used * 8 >= bytes;
}
/* Does as_texts_keep if that drops the larger part (*dropped), once `places` that may refer to texts were looked at for
   `keep`. As many texts must come until the next time, so that looking is amortised O(1) a text. AS_OK | AS_E_MEMORY. */
int as_texts_prune(as_texts *texts, uint32_t *keep, uint64_t places, bool *dropped);
/* place[number]: how many texts are less, bytewise. AS_OK | AS_E_MEMORY. */
int as_texts_places(const as_texts *texts, uint32_t *place);
uint64_t as_texts_bytes(const as_texts *texts);
#endif
