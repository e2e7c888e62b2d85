/* Jumbo tuples: measuring, writing, laying out and opening the bytes that jumbo.h draws. */
#include "jumbo.h"
#include <errno.h>
#include "jumbo_copy.h"

#ifndef AS_JUMBO_NARROW_MAX /* a test lowers it to reach wide offsets without 2 GiB */
#define AS_JUMBO_NARROW_MAX INT32_MAX
#endif
#define ALIGNMENT UINT64_C(64)
#ifndef AS_JUMBO_STREAMED /* a test lowers it */
#define AS_JUMBO_STREAMED UINT64_C(16384)
#endif

typedef struct header {
    uint32_t magic;
    uint16_t version, columns;
    uint64_t schema;
    int64_t rows;
    uint64_t bytes, plan;
    uint32_t flags, table;
    uint64_t reserved[2];
} header;
_Static_assert(sizeof(header) == 64, "the layout of jumbo.h");

typedef struct slot { /* of the column table */
    uint64_t validity, offsets, data;
    uint32_t width, wide;
} slot;
_Static_assert(sizeof(slot) == 32, "the layout of jumbo.h");

static uint64_t failed(int error) {
    errno = error;
    return 0;
}

AS_INLINE uint64_t align_up(uint64_t bytes) {
    return (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

AS_INLINE uint64_t first_buffer(uint32_t columns) {
    return align_up(sizeof(header) + (uint64_t)columns * sizeof(slot));
}

/* Reserves `rows` x `width` bytes at *end, a multiple of 64, and tells where; false past 2^62. */
static bool reserve(uint64_t *end, uint64_t rows, uint64_t width, uint64_t *at) {
    uint64_t bytes;
    *at = *end;
    if (__builtin_mul_overflow(rows, width, &bytes) || bytes > (UINT64_C(1) << 62) - *end)
        return false;
    *end = align_up(*end + bytes);
    return *end <= UINT64_C(1) << 62;
}

/* Rows of all pieces; -1 and errno on bad arguments. */
static int64_t total_rows(const as_piece *pieces, uint32_t count) {
    int64_t rows = 0;
    for (uint32_t p = 0; p < count; p++) {
        if (pieces[p].rows < 0 || pieces[p].first < 0) {
            errno = EINVAL;
            return -1;
        }
        if (__builtin_add_overflow(rows, pieces[p].rows, &rows)) {
            errno = EOVERFLOW;
            return -1;
        }
    }
    return rows;
}

/* Fills one slot and moves *end past its buffers; 0 or an errno. */
static int measure_column(const as_piece *pieces, uint32_t count, uint32_t column, int64_t rows, slot *out,
                          uint64_t *end) {
    const uint32_t width = pieces[0].columns[column].width;
    bool nullable = false;
    int64_t data = 0;
    for (uint32_t p = 0; p < count; p++) {
        const as_column *from = &pieces[p].columns[column];
        if (from->width != width || from->first < 0)
            return EINVAL;
        nullable |= from->validity != NULL && pieces[p].rows > 0;
        if (width == 0) {
            int64_t bytes = variable_bytes(&pieces[p], from);
            if (bytes < 0)
                return EINVAL;
            if (__builtin_add_overflow(data, bytes, &data))
                return EOVERFLOW;
        }
    }
    memset(out, 0, sizeof *out);
    out->width = width;
    if (nullable && !reserve(end, ((uint64_t)rows + 7) / 8, 1, &out->validity))
        return EOVERFLOW;
    if (width != 0)
        return reserve(end, (uint64_t)rows, width, &out->data) ? 0 : EOVERFLOW;
    out->wide = data > AS_JUMBO_NARROW_MAX;
    if (!reserve(end, (uint64_t)rows + 1, out->wide ? 8 : 4, &out->offsets))
        return EOVERFLOW;
    return reserve(end, (uint64_t)data, 1, &out->data) ? 0 : EOVERFLOW;
}

void as_columns_from(const as_column *from, uint32_t columns, int64_t first, as_column *to) {
    for (uint32_t c = 0; c < columns; c++) {
        to[c] = from[c];
        to[c].first += first;
    }
}

uint64_t as_jumbo_measure(const as_piece *pieces, uint32_t count, uint32_t columns, void *table) {
    slot *slots = table;
    if (pieces == NULL || count == 0 || columns > UINT16_MAX || (columns && table == NULL))
        return failed(EINVAL);
    int64_t rows = total_rows(pieces, count);
    if (rows < 0)
        return 0;
    uint64_t end = first_buffer(columns);
    for (uint32_t c = 0; c < columns; c++) {
        int error = measure_column(pieces, count, c, rows, &slots[c], &end);
        if (error)
            return failed(error);
    }
    return end;
}

static void write_header(uint8_t *out, uint64_t bytes, const slot *slots, uint32_t columns, int64_t rows,
                         uint64_t schema, uint64_t plan) {
    const header head = {.magic = AS_JUMBO_MAGIC,
                         .version = AS_JUMBO_VERSION,
                         .columns = (uint16_t)columns,
                         .schema = schema,
                         .rows = rows,
                         .bytes = bytes,
                         .plan = plan,
                         .table = sizeof(header)};
    const size_t used = sizeof(header) + columns * sizeof(slot);
    memcpy(out, &head, sizeof head);
    if (columns)
        memcpy(out + sizeof head, slots, columns * sizeof(slot));
    memset(out + used, 0, first_buffer(columns) - used);
}

AS_INLINE uint64_t slot_start(const slot *slot) {
    return slot->validity ? slot->validity : slot->offsets ? slot->offsets : slot->data;
}

/* Is room of `size` bytes at `at` inside at .. end? */
AS_INLINE bool fits(uint64_t at, uint64_t size, uint64_t end) {
    return at <= end && size <= end - at;
}

static void zero_between(uint8_t *from, const uint8_t *end) {
    if (from < end)
        memset(from, 0, (size_t)(end - from));
}

/* Writes the buffers of one column, which end at `end` of the block, a multiple of 64. `streams`: past the caches. */
static bool write_column(uint8_t *out, const slot *slot, uint64_t end, const as_piece *pieces, uint32_t count,
                         uint32_t column, int64_t rows, bool streams) {
    const uint64_t offset_bytes = slot->wide ? 8 : 4, bitmap = ((uint64_t)rows + 7) / 8;
    uint64_t values;
    if (__builtin_mul_overflow((uint64_t)rows, slot->width, &values) || !fits(slot->data, values, end) ||
        (slot->width == 0) != (slot->offsets != 0))
        return false;
    if (slot->offsets && !fits(slot->offsets, ((uint64_t)rows + 1) * offset_bytes, slot->data))
        return false;
    if (slot->validity && !fits(slot->validity, bitmap, slot->offsets ? slot->offsets : slot->data))
        return false;
    bit_writer bits = {.out = out + slot->validity};
    uint8_t *fixed = out + slot->data;
    variable_writer writer = {
        .next = out + slot->data, .end = out + end, .offsets = out + slot->offsets, .wide = slot->wide != 0};
    stream data, offsets;
    data.to = out + slot->data;
    offsets.to = out + slot->offsets;
    data.filled = offsets.filled = 0;
    if (slot->offsets) {
        put_offset(streams ? offsets.part : writer.offsets, writer.wide, 0, 0);
        offsets.filled = offset_bytes;
    }
    for (uint32_t p = 0; p < count; p++) {
        const as_column *from = &pieces[p].columns[column];
        if (from->width != slot->width)
            return false;
        if (slot->validity)
            copy_validity(&bits, &pieces[p], from);
        if (slot->width == 0) {
            if (!(streams ? stream_variable(&data, &offsets, &writer, &pieces[p], from)
                          : copy_variable(&writer, &pieces[p], from)))
                return false;
        } else if (streams) {
            stream_fixed(&data, &pieces[p], from);
        } else {
            copy_fixed(fixed, &pieces[p], from);
            fixed += (size_t)pieces[p].rows * slot->width;
        }
    }
    if (slot->validity)
        zero_between(bits_finish(&bits), out + (slot->offsets ? slot->offsets : slot->data));
    if (slot->offsets)
        zero_between(streams ? stream_finish(&offsets) : out + slot->offsets + ((uint64_t)rows + 1) * offset_bytes,
                     out + slot->data);
    zero_between(streams ? stream_finish(&data) : slot->width ? fixed : writer.next, out + end);
    return true;
}

_Static_assert(AS_JUMBO_STREAMED >= AS_TRIED_LINES * AS_LINE, "the lines that are tried lie in the column");

/* Whether a column may go past the caches: it is large, and its buffers are whole lines. */
AS_INLINE bool may_stream(const uint8_t *out, const slot *slot, uint64_t end) {
    return end - slot_start(slot) >= AS_JUMBO_STREAMED && ((uintptr_t)out | slot->offsets | slot->data) % AS_LINE == 0;
}

int as_jumbo_write(uint8_t *out, uint64_t bytes, const void *table, const as_piece *pieces, uint32_t count,
                   uint32_t columns, uint64_t schema, uint64_t plan, uint32_t away) {
    const slot *slots = table;
    if (out == NULL || pieces == NULL || count == 0 || columns > UINT16_MAX || (columns && table == NULL) ||
        (uintptr_t)out % 8 || bytes % ALIGNMENT || bytes < first_buffer(columns))
        return AS_E_ARGUMENT;
    const int64_t rows = total_rows(pieces, count);
    if (rows < 0 || (columns && (uint64_t)rows / 8 > bytes))
        return AS_E_ARGUMENT;
    write_header(out, bytes, slots, columns, rows, schema, plan);
    bool untried = away, far = false;
    uint64_t at = first_buffer(columns);
    for (uint32_t c = 0; c < columns; c++) {
        uint64_t end = c + 1 < columns ? slot_start(&slots[c + 1]) : bytes;
        if (slot_start(&slots[c]) != at || end > bytes || end < at || end % ALIGNMENT)
            return AS_E_ARGUMENT;
        const bool streams = (untried || far) && may_stream(out, &slots[c], end);
        if (streams && untried) {
            untried = false;
            far = lines_are_far(out + ((at + end) / 2 - AS_TRIED_LINES * AS_LINE / 2) / AS_LINE * AS_LINE);
        }
        if (!write_column(out, &slots[c], end, pieces, count, c, rows, streams && far))
            return AS_E_ARGUMENT;
        at = end;
    }
    if (far)
        stream_fence();
    return AS_OK;
}

uint64_t as_jumbo_prepare(uint8_t *out, uint64_t bytes, const uint32_t *widths, uint32_t columns, int64_t rows,
                          uint64_t schema, uint64_t plan) {
    if (rows < 0 || columns > UINT16_MAX || (columns && widths == NULL) || (uintptr_t)out % 8)
        return failed(EINVAL);
    uint64_t end = first_buffer(columns), at;
    for (uint32_t c = 0; c < columns; c++) {
        if (widths[c] == 0)
            return failed(EINVAL);
        if (!reserve(&end, (uint64_t)rows, widths[c], &at))
            return failed(EOVERFLOW);
    }
    if (out == NULL)
        return end;
    if (bytes < end)
        return failed(ENOSPC);
    write_header(out, end, NULL, 0, rows, schema, plan);
    ((header *)out)->columns = (uint16_t)columns;
    slot *slots = (slot *)(out + sizeof(header));
    uint64_t next = first_buffer(columns);
    zero_between((uint8_t *)(slots + columns), out + next);
    for (uint32_t c = 0; c < columns; c++) {
        reserve(&next, (uint64_t)rows, widths[c], &at);
        slots[c] = (slot){.data = at, .width = widths[c]};
        zero_between(out + at + (uint64_t)rows * widths[c], out + next);
    }
    return end;
}

/* Checks one slot against the block and fills its descriptor. Sizes are compared by division: `rows` is
 * hostile. */
static bool open_column(const uint8_t *block, uint64_t bytes, uint64_t start, const slot *slot, uint64_t rows,
                        as_column *out) {
    if ((slot->validity | slot->offsets | slot->data) % ALIGNMENT || slot->data < start || slot->data > bytes)
        return false;
    *out = (as_column){.width = slot->width, .wide = slot->wide, .data = block + slot->data};
    if (slot->validity) {
        if (slot->validity < start || !fits(slot->validity, rows / 8 + (rows % 8 != 0), bytes))
            return false;
        out->validity = block + slot->validity;
    }
    if (slot->width)
        return slot->offsets == 0 && slot->wide == 0 && rows <= (bytes - slot->data) / slot->width;
    const uint64_t width = slot->wide ? 8 : 4;
    if (slot->wide > 1 || slot->offsets < start || slot->offsets > bytes || rows >= (bytes - slot->offsets) / width)
        return false;
    out->offsets = block + slot->offsets;
    int64_t last = offset_at(out->offsets, slot->wide, (int64_t)rows);
    return offset_at(out->offsets, slot->wide, 0) == 0 && last >= 0 && (uint64_t)last <= bytes - slot->data;
}

int as_jumbo_open(const uint8_t *block, uint64_t bytes, uint64_t schema, uint32_t columns, as_column *out,
                  int64_t *rows) {
    header head;
    if (block == NULL || rows == NULL || (columns && out == NULL) || (uintptr_t)block % 8)
        return AS_E_ARGUMENT;
    if (bytes < sizeof head)
        return AS_E_CORRUPT;
    memcpy(&head, block, sizeof head);
    if (head.magic != AS_JUMBO_MAGIC || head.version != AS_JUMBO_VERSION || head.bytes > bytes || head.rows < 0 ||
        head.flags != 0 || head.table != sizeof head || head.bytes % ALIGNMENT ||
        head.bytes < first_buffer(head.columns))
        return AS_E_CORRUPT;
    if (head.schema != schema)
        return AS_E_STALE;
    if (head.columns != columns)
        return AS_E_CORRUPT;
    for (uint32_t c = 0; c < columns; c++) {
        slot entry;
        memcpy(&entry, block + sizeof head + c * sizeof entry, sizeof entry);
        if (!open_column(block, head.bytes, first_buffer(columns), &entry, (uint64_t)head.rows, &out[c]))
            return AS_E_CORRUPT;
    }
    *rows = head.rows;
    return AS_OK;
}

/* Without an early exit, so that the compiler vectorises it. */
AS_INLINE bool ascending(const void *offsets, bool wide, int64_t rows) {
    int64_t wrong = 0;
    for (int64_t row = 0; row < rows; row++)
        wrong |= offset_at(offsets, wide, row) > offset_at(offsets, wide, row + 1);
    return !wrong;
}

int as_jumbo_verify(const as_column *columns, uint32_t count, int64_t rows, const uint32_t *widths) {
    for (uint32_t c = 0; c < count; c++) {
        const as_column *column = &columns[c];
        if (widths != NULL && column->width != widths[c])
            return AS_E_CORRUPT;
        if (column->width != 0)
            continue;
        if (column->wide ? !ascending(column->offsets, true, rows) : !ascending(column->offsets, false, rows))
            return AS_E_CORRUPT;
    }
    return AS_OK;
}
