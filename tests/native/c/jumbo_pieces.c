/*
 * Random batches cut into random pieces, written, opened and compared row by row with the columns they came
 * from; then the block's bytes are damaged and opened again. Every buffer has exactly its size, so that
 * AddressSanitizer sees a read or write of one byte too many. Usage: jumbo_pieces SEED ROUNDS
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "jumbo.h"
#include "seeded.h"

#define MAX_COLUMNS 6
#define MAX_PIECES 4

static uint8_t *random_bytes(size_t bytes) {
    uint8_t *out = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)random64();
    return out;
}

typedef struct batch {
    as_column columns[MAX_COLUMNS];
    int64_t rows;
} batch;

static as_column random_column(uint32_t width, int64_t rows) {
    as_column column = {.width = width, .first = (int64_t)below(70)};
    const size_t values = (size_t)(column.first + rows);
    if (below(2))
        column.validity = random_bytes((values + 7) / 8);
    if (width) {
        column.data = random_bytes(values * width);
        return column;
    }
    column.wide = below(4) == 0;
    size_t start = below(5), longest = below(3) ? 13 : 80;
    int64_t *wide = malloc((values + 1) * 8);
    int32_t *narrow = malloc((values + 1) * 4);
    for (size_t i = 0; i <= values; i++) {
        wide[i] = (int64_t)start;
        narrow[i] = (int32_t)start;
        if (i < values)
            start += below(4) ? below(longest) : 0;
    }
    column.data = random_bytes(start);
    column.offsets = column.wide ? (void *)wide : (void *)narrow;
    free(column.wide ? (void *)narrow : (void *)wide);
    return column;
}

static void free_batch(batch *from, uint32_t columns) {
    for (uint32_t c = 0; c < columns; c++) {
        free((void *)from->columns[c].validity);
        free((void *)from->columns[c].data);
        free((void *)from->columns[c].offsets);
    }
}

static bool valid_at(const as_column *column, int64_t row) {
    const uint8_t *bits = column->validity;
    int64_t at = column->first + row;
    return bits == NULL || ((bits[at / 8] >> (at % 8)) & 1);
}

static const uint8_t *value_at(const as_column *column, int64_t row, size_t *bytes) {
    const uint8_t *data = column->data;
    int64_t at = column->first + row;
    if (column->width) {
        *bytes = column->width;
        return data + (size_t)at * column->width;
    }
    int64_t from = column->wide ? ((const int64_t *)column->offsets)[at] : ((const int32_t *)column->offsets)[at];
    int64_t to = column->wide ? ((const int64_t *)column->offsets)[at + 1] : ((const int32_t *)column->offsets)[at + 1];
    *bytes = (size_t)(to - from);
    return data + from;
}

static as_piece random_piece(const batch *from) {
    as_piece piece = {.columns = from->columns};
    piece.first = (int64_t)below((uint64_t)from->rows + 1);
    int64_t rest = from->rows - piece.first;
    if (below(2) || rest == 0) {
        piece.rows = (int64_t)below((uint64_t)rest + 1);
        return piece;
    }
    piece.rows = (int64_t)below(2 * (uint64_t)rest);
    uint32_t *index = malloc((size_t)piece.rows * 4);
    bool sorted = below(2);
    for (int64_t i = 0; i < piece.rows; i++)
        index[i] = sorted ? (uint32_t)(i * rest / piece.rows) : (uint32_t)below((uint64_t)rest);
    piece.index = index;
    return piece;
}

static void compare(const as_column *opened, int64_t rows, const as_piece *pieces, uint32_t count, uint32_t columns) {
    int64_t row = 0;
    for (uint32_t p = 0; p < count; p++) {
        for (int64_t i = 0; i < pieces[p].rows; i++, row++) {
            int64_t from = pieces[p].first + (pieces[p].index ? pieces[p].index[i] : i);
            for (uint32_t c = 0; c < columns; c++) {
                size_t expected, got;
                const uint8_t *a = value_at(&pieces[p].columns[c], from, &expected);
                const uint8_t *b = value_at(&opened[c], row, &got);
                CHECK(valid_at(&pieces[p].columns[c], from) == valid_at(&opened[c], row));
                CHECK(expected == got && (got == 0 || memcmp(a, b, got) == 0));
            }
        }
    }
    CHECK(row == rows);
}

/* Reads everything that descriptors claim to hold; the sanitizer judges. */
static uint64_t read_all(const as_column *columns, uint32_t count, int64_t rows) {
    uint64_t sum = 0;
    for (uint32_t c = 0; c < count; c++)
        for (int64_t row = 0; row < rows; row++) {
            size_t bytes;
            const uint8_t *value = value_at(&columns[c], row, &bytes);
            sum += valid_at(&columns[c], row);
            for (size_t i = 0; i < bytes; i++)
                sum += value[i];
        }
    return sum;
}

static void damage(const uint8_t *block, uint64_t bytes, uint32_t columns, const uint32_t *widths) {
    as_column opened[MAX_COLUMNS];
    int64_t rows;
    for (int round = 0; round < 30; round++) {
        uint64_t keep = below(4) ? bytes : below(bytes + 1);
        uint8_t *copy = aligned_alloc(64, bytes);
        memcpy(copy, block, bytes);
        for (uint64_t hits = 1 + below(3); hits; hits--) {
            static const uint64_t nasty[] = {
                0, 1, 63, 64, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_C(1) << 63};
            uint64_t at = below(3) ? below(64 + 32 * columns) & ~UINT64_C(7) : below(bytes - 8);
            uint64_t value = below(2) ? nasty[below(sizeof nasty / sizeof *nasty)] : random64() >> below(64);
            memcpy(copy + at, &value, below(2) ? 8 : 1 + below(4));
        }
        uint8_t *exact = malloc(keep + (keep == 0));
        memcpy(exact, copy, keep);
        int status = as_jumbo_open(exact, keep, 7, columns, opened, &rows);
        CHECK(status == AS_OK || status == AS_E_CORRUPT || status == AS_E_STALE);
        if (status == AS_OK && as_jumbo_verify(opened, columns, rows, widths) == AS_OK && columns)
            CHECK(read_all(opened, columns, rows) + 1 != 0);
        free(exact);
        free(copy);
    }
}

static void one_round(void) {
    static const uint32_t kinds[] = {0, 0, 1, 2, 4, 8, 16, 3, 24, 100};
    uint32_t columns = (uint32_t)below(MAX_COLUMNS + 1), count = 1 + (uint32_t)below(MAX_PIECES);
    uint32_t widths[MAX_COLUMNS];
    batch batches[MAX_PIECES];
    as_piece pieces[MAX_PIECES];
    as_column opened[MAX_COLUMNS];
    uint8_t table[32 * MAX_COLUMNS];
    int64_t rows = 0, opened_rows;
    for (uint32_t c = 0; c < columns; c++)
        widths[c] = kinds[below(sizeof kinds / sizeof *kinds)];
    for (uint32_t p = 0; p < count; p++) {
        batches[p].rows = (int64_t)below(below(4) ? 200 : 3);
        for (uint32_t c = 0; c < columns; c++)
            batches[p].columns[c] = random_column(widths[c], batches[p].rows);
        pieces[p] = random_piece(&batches[p]);
        rows += pieces[p].rows;
    }
    uint64_t bytes = as_jumbo_measure(pieces, count, columns, table);
    CHECK(bytes > 0 && bytes % 64 == 0);
    uint8_t *block = aligned_alloc(64, bytes), *again = aligned_alloc(64, bytes);
    memset(block, 0xaa, bytes);
    memset(again, 0x55, bytes);
    CHECK(as_jumbo_write(block, bytes, table, pieces, count, columns, 7, 8, 0) == AS_OK);
    CHECK(as_jumbo_write(again, bytes, table, pieces, count, columns, 7, 8, 1) == AS_OK);
    CHECK(memcmp(block, again, bytes) == 0); /* past the caches or not; no byte of old memory is left */
    CHECK(as_jumbo_open(block, bytes, 7, columns, opened, &opened_rows) == AS_OK);
    CHECK(opened_rows == rows && as_jumbo_verify(opened, columns, rows, widths) == AS_OK);
    CHECK(as_jumbo_open(block, bytes, 6, columns, opened, &opened_rows) == AS_E_STALE);
    CHECK(as_jumbo_open(block, bytes - 64, 7, columns, opened, &opened_rows) == AS_E_CORRUPT);
    CHECK(as_jumbo_open(block, bytes, 7, columns, opened, &opened_rows) == AS_OK);
    compare(opened, rows, pieces, count, columns);
    damage(block, bytes, columns, widths);
    free(block);
    free(again);
    for (uint32_t p = 0; p < count; p++) {
        free((void *)pieces[p].index);
        free_batch(&batches[p], columns);
    }
}

/* Texts whose offsets have moved since they were measured, in a column that may go past the caches. */
static void changed_texts_are_refused(void) {
    enum { ROWS = 3000 };
    static int32_t offsets[ROWS + 1];
    static uint8_t data[4 * ROWS];
    uint8_t table[32];
    as_column column = {.data = data, .offsets = offsets};
    as_piece run = {&column, NULL, 0, ROWS};
    for (int row = 0; row <= ROWS; row++)
        offsets[row] = 2 * row;
    uint64_t bytes = as_jumbo_measure(&run, 1, 1, table);
    uint8_t *block = aligned_alloc(64, bytes);
    offsets[ROWS] = 4 * ROWS; /* more than was measured */
    CHECK(as_jumbo_write(block, bytes, table, &run, 1, 1, 0, 0, 1) == AS_E_ARGUMENT);
    free(block);
}

/* Pieces that changed between measuring and writing must not write outside the block. */
static void changed_pieces_are_refused(void) {
    int32_t offsets[] = {0, 3, 6, 9};
    uint8_t data[1024] = {1}, table[32];
    as_column column = {.data = data, .offsets = offsets};
    uint32_t index[] = {0, 2};
    as_piece run = {&column, NULL, 0, 3}, picked = {&column, index, 0, 2};
    for (int gather = 0; gather < 2; gather++) {
        as_piece *piece = gather ? &picked : &run;
        offsets[3] = 9;
        uint64_t bytes = as_jumbo_measure(piece, 1, 1, table);
        uint8_t *block = aligned_alloc(64, bytes);
        offsets[3] = 1024;
        for (uint32_t away = 0; away < 2; away++)
            CHECK(as_jumbo_write(block, bytes, table, piece, 1, 1, 0, 0, away) == AS_E_ARGUMENT);
        offsets[3] = 5; /* backwards */
        for (uint32_t away = 0; away < 2; away++)
            CHECK(as_jumbo_write(block, bytes, table, &picked, 1, 1, 0, 0, away) == AS_E_ARGUMENT);
        CHECK(as_jumbo_measure(&picked, 1, 1, table) == 0 && errno == EINVAL);
        as_piece longer = {&column, NULL, 0, 100};
        for (uint32_t away = 0; away < 2; away++)
            CHECK(as_jumbo_write(block, bytes, table, &longer, 1, 1, 0, 0, away) == AS_E_ARGUMENT);
        free(block);
    }
}

static void prepared_blocks_open(void) {
    for (int64_t rows = 0; rows < 140; rows++) {
        uint32_t widths[] = {8, 1, 4, 16}, columns = 4;
        uint64_t bytes = as_jumbo_prepare(NULL, 0, widths, columns, rows, 7, 8);
        uint8_t *block = aligned_alloc(64, bytes);
        as_column opened[4], source[4];
        uint8_t table[128];
        int64_t opened_rows;
        memset(block, 0xaa, bytes);
        CHECK(as_jumbo_prepare(block, bytes - 1, widths, columns, rows, 7, 8) == 0 && errno == ENOSPC);
        CHECK(as_jumbo_prepare(block, bytes, widths, columns, rows, 7, 8) == bytes);
        CHECK(as_jumbo_open(block, bytes, 7, columns, opened, &opened_rows) == AS_OK && opened_rows == rows);
        for (uint32_t c = 0; c < columns; c++) {
            source[c] = (as_column){.width = widths[c], .data = random_bytes((size_t)rows * widths[c])};
            memcpy((void *)opened[c].data, source[c].data, (size_t)rows * widths[c]);
        }
        as_piece piece = {source, NULL, 0, rows};
        CHECK(as_jumbo_measure(&piece, 1, columns, table) == bytes);
        uint8_t *written = aligned_alloc(64, bytes);
        CHECK(as_jumbo_write(written, bytes, table, &piece, 1, columns, 7, 8, 0) == AS_OK);
        CHECK(memcmp(block, written, bytes) == 0); /* filled in place or written: the same bytes */
        for (uint32_t c = 0; c < columns; c++)
            free((void *)source[c].data);
        free(written);
        free(block);
    }
}

int main(int count, char **arguments) {
    if (count != 3)
        return 2;
    seed = strtoull(arguments[1], NULL, 10);
    state = seed * 2 + 1;
    for (round_number = atoi(arguments[2]); round_number > 0; round_number--)
        one_round();
    changed_pieces_are_refused();
    changed_texts_are_refused();
    prepared_blocks_open();
    puts("ok");
    return 0;
}
