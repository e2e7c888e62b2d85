/*
 * Generators into memory of exactly the size that they are promised, so that AddressSanitizer sees a byte too many, and
 * the same rows in one piece and in two. Usage: generate SEED ROUNDS
 */
#include <string.h>
#include "generate.h"
#include "seeded.h"

static void *room(uint64_t bytes) {
    void *found = NULL;
    CHECK(posix_memalign(&found, 64, bytes ? bytes : 1) == 0);
    return found;
}

static as_numbering random_numbering(void) {
    as_numbering found = {.seed = state, .start = (int64_t)below(1ull << 40)};
    found.stride = 1 + below(below(2) ? 8 : 1 << 20);
    found.first = below(found.stride);
    found.units = below(2) ? below(4) : below(1 << 10);
    found.rows = 1 + below(below(2) ? 100 : 1ull << 40);
    return found;
}

static uint64_t columns_bytes(const uint32_t *widths, int columns, int64_t rows) {
    uint64_t bytes = 0;
    for (int column = 0; column < columns; column++)
        bytes += ((uint64_t)rows * widths[column] + 63) & ~63ull;
    return bytes;
}

static void check_integers(const as_numbering *n, uint64_t made, int64_t rows, int wide) {
    static const uint32_t narrow_widths[] = {4, 4, 4, 1, 1, 8, 4};
    static const uint32_t wide_widths[] = {8, 8, 8, 1, 1, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 2};
    const uint32_t *widths = wide ? wide_widths : narrow_widths;
    const int columns = wide ? 20 : 7;
    int (*write)(const as_numbering *, uint64_t, int64_t, void *) = wide ? as_ysb_wide : as_ysb_integers;
    const int64_t head = (int64_t)below((uint64_t)rows + 1);
    uint8_t *whole = room(columns_bytes(widths, columns, rows)), *a = room(columns_bytes(widths, columns, head));
    uint8_t *b = room(columns_bytes(widths, columns, rows - head));
    CHECK(write(n, made, rows, whole) == AS_OK && write(n, made, head, a) == AS_OK);
    CHECK(write(n, made + (uint64_t)head, rows - head, b) == AS_OK);
    uint64_t at = 0, at_a = 0, at_b = 0;
    for (int column = 0; column < columns; column++) {
        const uint64_t width = widths[column];
        CHECK(memcmp(whole + at, a + at_a, (uint64_t)head * width) == 0);
        CHECK(memcmp(whole + at + (uint64_t)head * width, b + at_b, (uint64_t)(rows - head) * width) == 0);
        at += ((uint64_t)rows * width + 63) & ~63ull;
        at_a += ((uint64_t)head * width + 63) & ~63ull;
        at_b += ((uint64_t)(rows - head) * width + 63) & ~63ull;
    }
    free(whole);
    free(a);
    free(b);
}

static void check_texts(const as_numbering *n, uint64_t made, int64_t rows, const uint8_t *ids) {
    as_ysb_text out;
    for (uint32_t column = 0; column < 6; column++) {
        out.offsets[column] = room((uint64_t)(rows + 1) * 4);
        out.data[column] = room(as_ysb_text_bytes(column, rows));
    }
    out.event_time = room((uint64_t)rows * 8);
    CHECK(as_ysb_texts(n, made, rows, ids, &out) == AS_OK);
    for (uint32_t column = 0; column < 6; column++) {
        CHECK(out.offsets[column][0] == 0);
        for (int64_t row = 0; row < rows; row++)
            CHECK(out.offsets[column][row] < out.offsets[column][row + 1]);
        CHECK((uint64_t)out.offsets[column][rows] <= as_ysb_text_bytes(column, rows));
        free(out.offsets[column]);
        free(out.data[column]);
    }
    free(out.event_time);
}

static void check_draws(const as_numbering *n, uint64_t made, int64_t rows) {
    static const uint32_t kept[3] = {0, UINT32_MAX, 1u << 31}, other[3] = {1, 1, 0};
    uint64_t *bits = room((uint64_t)rows * 8);
    double *units = room((uint64_t)rows * 8);
    int64_t *integers = room((uint64_t)rows * 8), low = -(int64_t)below(1ull << 62);
    uint32_t *ranks = room((uint64_t)rows * 4);
    const uint64_t span = below(2) ? UINT64_MAX : 1 + below(1000);
    CHECK(as_draw_bits(n, made, rows, 7, bits) == AS_OK);
    CHECK(as_draw_units(n, made, rows, 7, -1, 1, units) == AS_OK);
    CHECK(as_draw_integers(n, made, rows, 7, low, span, integers) == AS_OK);
    CHECK(as_draw_ranks(n, made, rows, 7, kept, other, 3, ranks) == AS_OK);
    for (int64_t row = 0; row < rows; row++) {
        CHECK(units[row] >= -1 && units[row] < 1);
        CHECK((uint64_t)integers[row] - (uint64_t)low < span);
        CHECK(ranks[row] < 3);
    }
    free(bits);
    free(units);
    free(integers);
    free(ranks);
}

int main(int count, char **arguments) {
    (void)count;
    seed = strtoull(arguments[1], NULL, 10);
    state = seed * 2654435761u + 1;
    uint8_t *ids = room(1200 * AS_UUID_SLOT);
    memset(ids, 'x', 1200 * AS_UUID_SLOT);
    for (round_number = atoi(arguments[2]); round_number > 0; round_number--) {
        const as_numbering n = random_numbering();
        const int64_t rows = (int64_t)below(below(4) ? 40 : 3000);
        /* near a multiple of 2^32 now and then */
        const uint64_t made = below(2) ? below(1ull << 30) : (1ull << 32) / n.stride - below(20);
        check_integers(&n, made, rows, 0);
        check_integers(&n, made, rows, 1);
        check_texts(&n, made, rows, ids);
        check_draws(&n, made, rows);
    }
    const as_numbering whole = {.stride = 1, .rows = 1, .units = 1};
    CHECK(as_event_times(&whole, 0, -1, NULL) == AS_E_ARGUMENT);
    CHECK(as_event_times(&whole, UINT64_MAX, 5, NULL) == AS_E_ARGUMENT);
    CHECK(as_ysb_text_bytes(6, 1) == 0 && as_ysb_text_bytes(0, -1) == 0);
    free(ids);
    puts("ok");
    return 0;
}
