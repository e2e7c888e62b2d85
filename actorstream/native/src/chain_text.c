/* Texts that a step of a chain computes or chooses: see chain.h. */
#include "chain_text.h"

#include <stdlib.h>
#include <string.h>

#include "bits.h"

#define LEAST_ROOM 4096
#define DIGITS 20 /* of an int64 with its sign, or a uint64 */

typedef struct text {
    const uint8_t *at; /* NULL: there is none */
    int64_t bytes;
} text;

typedef struct texts { /* what a step writes */
    as_chain_bytes *to;
    int32_t *offsets;
    uint8_t *validity; /* or NULL: a text that there is none of is empty */
    int64_t used;
} texts;

static inline int is_valid(const as_column *column, int64_t row) {
    const int64_t at = column->first + row;
    return column->validity == NULL || (((const uint8_t *)column->validity)[at >> 3] >> (at & 7) & 1);
}

static inline text text_of(const as_column *column, int64_t row) {
    if (!is_valid(column, row))
        return (text){NULL, 0};
    const int64_t at = column->first + row;
    const int64_t *wide = column->offsets;
    const int32_t *narrow = column->offsets;
    const int64_t begin = column->wide ? wide[at] : narrow[at], end = column->wide ? wide[at + 1] : narrow[at + 1];
    return (text){end > begin ? (const uint8_t *)column->data + begin : (const uint8_t *)"", end - begin};
}

/* Makes room for more bytes; returns where they go, or NULL with the status in `*status`. */
static inline uint8_t *room_for(texts *out, int64_t bytes, int *status) {
    as_chain_bytes *to = out->to;
    const int64_t need = out->used + bytes;
    if (need > INT32_MAX) {
        *status = AS_AGAIN;
        return NULL;
    }
    if ((uint64_t)need > to->room) {
        uint64_t room = to->room < LEAST_ROOM ? LEAST_ROOM : 2 * to->room;
        room = room < (uint64_t)need ? (uint64_t)need : room;
        uint8_t *data = realloc(to->data, room);
        if (data == NULL) {
            *status = AS_E_MEMORY;
            return NULL;
        }
        to->data = data, to->room = room;
    }
    return to->data + out->used;
}

static inline int append(texts *out, text from) {
    int status = 0;
    uint8_t *to = room_for(out, from.bytes, &status);
    if (to == NULL)
        return status;
    if (from.bytes != 0)
        memcpy(to, from.at, (size_t)from.bytes);
    out->used += from.bytes;
    return 0;
}

static inline void end_row(texts *out, int64_t row, int there) {
    out->offsets[row + 1] = (int32_t)out->used;
    if (out->validity != NULL && there)
        out->validity[row >> 3] |= (uint8_t)(1u << (row & 7));
}

typedef struct inputs {
    const as_column *in;
    uint32_t count;
    const as_chain_text *what;
} inputs;
typedef text (*choice)(const inputs *of, int64_t row);

static inline text text_of_first(const inputs *of, int64_t row) {
    return text_of(of->in, row);
}

static inline text taken(const inputs *of, int64_t row) {
    const uint32_t at = ((const uint32_t *)of->in[1].data)[of->in[1].first + row];
    return at == UINT32_MAX ? (text){NULL, 0} : text_of(of->in, at);
}

static inline text labelled(const inputs *of, int64_t row) {
    const as_column *codes = of->in;
    const int64_t at = codes->first + row;
    int64_t code = of->what->size - 1;
    if (is_valid(codes, row)) {
        const int64_t found = codes->width == 1   ? ((const uint8_t *)codes->data)[at]
                              : codes->width == 2 ? ((const uint16_t *)codes->data)[at]
                                                  : (int64_t)((const uint32_t *)codes->data)[at];
        code = found < code ? found : code;
    }
    return text_of(of->what->table, code);
}

static inline text constant(const inputs *of, int64_t row) {
    (void)row;
    return text_of(of->what->table, 0);
}

static inline text chosen(const inputs *of, int64_t row) {
    const as_column *condition = of->in;
    const int is_true = is_valid(condition, row) && ((const uint8_t *)condition->data)[condition->first + row];
    return text_of(of->in + (is_true ? 1 : 2), row);
}

static inline text first_there(const inputs *of, int64_t row) {
    text found = {NULL, 0};
    for (uint32_t i = 0; i < of->count && found.at == NULL; i++)
        found = text_of(of->in + i, row);
    return found;
}

AS_INLINE int copy(const inputs *of, int64_t rows, texts *out, choice choose) {
    for (int64_t row = 0; row < rows; row++) {
        const text found = choose(of, row);
        const int status = append(out, found);
        if (status != 0)
            return status;
        end_row(out, row, found.at != NULL);
    }
    return 0;
}

static int joined(const inputs *of, int64_t rows, texts *out) {
    for (int64_t row = 0; row < rows; row++) {
        int there = 1, status = 0;
        for (uint32_t i = 0; i < of->count; i++)
            there &= is_valid(of->in + i, row);
        for (uint32_t i = 0; i < of->count && there && status == 0; i++)
            status = append(out, text_of(of->in + i, row));
        if (status != 0)
            return status;
        end_row(out, row, there);
    }
    return 0;
}

/* Letters of ASCII; AS_AGAIN: there are others. */
static int cased(const inputs *of, int64_t rows, texts *out, uint8_t from) {
    const int status = copy(of, rows, out, text_of_first);
    uint8_t any = 0;
    for (int64_t i = 0; status == 0 && i < out->used; i++) {
        const uint8_t letter = out->to->data[i];
        any |= letter;
        out->to->data[i] = letter ^ (uint8_t)((uint8_t)(letter - from) < 26 ? 0x20 : 0);
    }
    return status == 0 && any >= 0x80 ? AS_AGAIN : status;
}

static int digits(const inputs *of, int64_t rows, texts *out) {
    const as_column *column = of->in;
    const uint8_t *data = (const uint8_t *)column->data + column->first * column->width;
    for (int64_t row = 0; row < rows; row++) {
        uint64_t value = 0;
        memcpy(&value, data + row * column->width, column->width);
        const unsigned above = 64 - 8 * column->width;
        const int64_t number = (int64_t)(value << above) >> above;
        const int minus = of->what->is_signed && number < 0;
        value = minus ? -(uint64_t)number : value;
        uint8_t text_of_it[DIGITS], *at = text_of_it + DIGITS;
        do
            *--at = (uint8_t)('0' + value % 10);
        while (value /= 10);
        if (minus)
            *--at = '-';
        const int there = is_valid(column, row);
        const int status = there ? append(out, (text){at, text_of_it + DIGITS - at}) : 0;
        if (status != 0)
            return status;
        end_row(out, row, there);
    }
    return 0;
}

/* Whether each text is one of the table's, which ascend. */
static void among(const inputs *of, int64_t rows, const as_column *out) {
    uint8_t *found = (uint8_t *)(uintptr_t)out->data, *validity = (uint8_t *)(uintptr_t)out->validity;
    for (int64_t row = 0; row < rows; row++) {
        const text own = text_of(of->in, row);
        int64_t low = 0, high = own.at == NULL ? 0 : of->what->size;
        found[row] = 0;
        while (low < high && !found[row]) {
            const int64_t middle = (low + high) / 2;
            const text other = text_of(of->what->table, middle);
            const int64_t both = own.bytes < other.bytes ? own.bytes : other.bytes;
            int64_t order = memcmp(own.at, other.at, (size_t)both);
            order = order != 0 ? order : own.bytes - other.bytes;
            found[row] = order == 0;
            low = order > 0 ? middle + 1 : low;
            high = order < 0 ? middle : high;
        }
        if (validity != NULL && own.at != NULL)
            validity[row >> 3] |= (uint8_t)(1u << (row & 7));
    }
}

int as_chain_text_run(const as_chain_step *step, const as_chain_work *work, int64_t rows) {
    as_column in[AS_CHAIN_MOST];
    for (uint32_t i = 0; i < step->inputs; i++)
        in[i] = work->columns[step->in[i]];
    const inputs of = {in, step->inputs, step->what};
    as_column *column = work->columns + step->out[0];
    texts out = {.offsets = (int32_t *)(uintptr_t)column->offsets, .validity = (uint8_t *)(uintptr_t)column->validity};
    if (out.validity != NULL)
        memset(out.validity, 0, (size_t)((rows + 7) / 8));
    if (of.what->operation == AS_TEXT_IN) {
        among(&of, rows, column);
        return 0;
    }
    out.to = work->bytes + step->counted;
    out.offsets[0] = 0;
    int status;
    switch (of.what->operation) {
    case AS_TEXT_TAKE: status = copy(&of, rows, &out, taken); break;
    case AS_TEXT_LABEL: status = copy(&of, rows, &out, labelled); break;
    case AS_TEXT_CONSTANT: status = copy(&of, rows, &out, constant); break;
    case AS_TEXT_IF: status = copy(&of, rows, &out, chosen); break;
    case AS_TEXT_COALESCE: status = copy(&of, rows, &out, first_there); break;
    case AS_TEXT_CONCAT: status = joined(&of, rows, &out); break;
    case AS_TEXT_LOWER: status = cased(&of, rows, &out, 'A'); break;
    case AS_TEXT_UPPER: status = cased(&of, rows, &out, 'a'); break;
    case AS_TEXT_DIGITS: status = digits(&of, rows, &out); break;
    default: status = AS_E_ARGUMENT;
    }
    column->data = out.to->data;
    return status;
}

void as_chain_bytes_free(as_chain_bytes *bytes, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        free(bytes[i].data);
        bytes[i] = (as_chain_bytes){0};
    }
}
