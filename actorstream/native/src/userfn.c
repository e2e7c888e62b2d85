/* Calling user functions on the rows without nulls: see userfn.h. */
#include "userfn.h"
#include <stdlib.h>
#include <string.h>
#include "bits.h"

#define ALIGNMENT 64

/* Numbers of the rows that are null in no column, ascending; answers how many. */
static int64_t rows_with_values(const as_column *columns, uint32_t count, int64_t rows, uint32_t *index) {
    int64_t kept = 0;
    for (int64_t row = 0; row < rows; row += 64) {
        const unsigned lanes = rows - row < 64 ? (unsigned)(rows - row) : 64;
        uint64_t word = lanes == 64 ? ~UINT64_C(0) : (UINT64_C(1) << lanes) - 1;
        for (uint32_t c = 0; c < count; c++)
            if (columns[c].validity != NULL)
                word &= bits_load(columns[c].validity, columns[c].first + row, lanes);
        for (; word != 0; word &= word - 1)
            index[kept++] = (uint32_t)(row + __builtin_ctzll(word));
    }
    return kept;
}

static void gather(const char *from, uint32_t width, const uint32_t *index, int64_t count, char *to) {
    switch (width) {
#define GATHER(bytes, type)                                                                                            \
    case bytes:                                                                                                        \
        for (int64_t i = 0; i < count; i++)                                                                            \
            ((type##_any *)to)[i] = ((const type##_any *)from)[index[i]];                                              \
        return;
        GATHER(2, u16)
        GATHER(4, u32)
        GATHER(8, u64)
#undef GATHER
    default:
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * width, from + (int64_t)index[i] * width, width);
    }
}

static void scatter(const char *from, uint32_t width, const uint32_t *index, int64_t count, char *to) {
    for (int64_t i = 0; i < count; i++)
        memcpy(to + (int64_t)index[i] * width, from + i * width, width);
}

static uint64_t aligned(uint64_t bytes) {
    return (bytes + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

static const char *values(const as_column *column) {
    return (const char *)column->data + column->first * column->width;
}

/* Whether a column can be handed on where it lies. */
static int fits_as_it_is(const as_column *column) {
    return column->validity == NULL && (uintptr_t)values(column) % column->width == 0;
}

int as_user_call(uintptr_t function, const as_column *columns, uint32_t count, int64_t rows, void *out,
                 uint32_t out_width, uint8_t *validity, int32_t *answer) {
    const as_user_function call = (as_user_function)function;
    uint64_t bytes = aligned((uint64_t)count * sizeof(void *));
    int copied = 0;
    if (rows < 0 || rows > UINT32_MAX)
        return AS_E_ARGUMENT;
    for (uint32_t c = 0; c < count; c++) {
        if (columns[c].width == 0)
            return AS_E_ARGUMENT;
        copied |= !fits_as_it_is(columns + c);
    }
    if (copied) {
        bytes += aligned((uint64_t)rows * sizeof(uint32_t)) + aligned((uint64_t)rows * out_width);
        for (uint32_t c = 0; c < count; c++)
            bytes += aligned((uint64_t)rows * columns[c].width);
    }
    char *memory = aligned_alloc(ALIGNMENT, bytes + ALIGNMENT);
    if (memory == NULL)
        return AS_E_MEMORY;
    const void **pointers = (const void **)memory;
    if (!copied) {
        for (uint32_t c = 0; c < count; c++)
            pointers[c] = values(columns + c);
        *answer = call(pointers, rows, out);
        if (validity != NULL)
            memset(validity, 0xFF, (size_t)((rows + 7) / 8));
        free(memory);
        return AS_OK;
    }
    char *at = memory + aligned((uint64_t)count * sizeof(void *));
    uint32_t *index = (uint32_t *)at;
    at += aligned((uint64_t)rows * sizeof(uint32_t));
    const int64_t kept = rows_with_values(columns, count, rows, index);
    for (uint32_t c = 0; c < count; c++) {
        gather(values(columns + c), columns[c].width, index, kept, at);
        pointers[c] = at;
        at += aligned((uint64_t)rows * columns[c].width);
    }
    *answer = call(pointers, kept, out_width == 0 ? out : at);
    if (out_width != 0) {
        memset(out, 0, (size_t)rows * out_width);
        scatter(at, out_width, index, kept, out);
    }
    if (validity != NULL) {
        memset(validity, 0, (size_t)((rows + 7) / 8));
        for (int64_t i = 0; i < kept; i++)
            validity[index[i] >> 3] |= (uint8_t)(1u << (index[i] & 7));
    }
    free(memory);
    return AS_OK;
}

int32_t as_user_job(void *work) {
    as_user_work *own = work;
    own->answer = 0;
    const int status = as_user_call(own->function, own->columns, own->count, own->rows, own->out, own->out_width,
                                    own->validity, &own->answer);
    return status != AS_OK ? status : own->answer != 0;
}

int as_user_fold(uintptr_t begin, uintptr_t add, const as_column *columns, uint32_t count, const int64_t *offset,
                 int64_t groups, void *state, uint32_t bytes, int32_t *answer) {
    const uint64_t padded = ((uint64_t)bytes + 7) & ~UINT64_C(7);
    const void **pointers = malloc((count + 1) * sizeof *pointers);
    uint64_t *own = malloc(padded); /* a state lies at a multiple of 8 */
    int status = pointers == NULL || own == NULL ? AS_E_MEMORY : AS_OK;
    for (int64_t group = 0; group < groups && status == AS_OK; group++) {
        const int64_t rows = offset[group + 1] - offset[group];
        memset(own, 0, padded);
        for (uint32_t c = 0; c < count; c++)
            pointers[c] = values(columns + c) + offset[group] * columns[c].width;
        *answer = begin && rows ? ((as_user_function)begin)(NULL, 0, own) : 0;
        if (*answer == 0 && rows)
            *answer = ((as_user_function)add)(pointers, rows, own);
        status = *answer == 0 ? AS_OK : AS_E_USER;
        memcpy((char *)state + (uint64_t)group * bytes, own, bytes);
    }
    free(pointers);
    free(own);
    return status;
}
