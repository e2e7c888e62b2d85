/* Chains of steps over columns: see chain.h. */
#include "../include/chain.h"

#include <string.h>

#include "chain_text.h"
#include "machine.h"

#define NONE UINT32_MAX

typedef int32_t (*add_rows)(void *context, int64_t rows);

static inline const void *value_of(const as_column *column) {
    return (const uint8_t *)column->data + column->first * column->width;
}

static inline int is_valid(const uint8_t *validity, int64_t at) {
    return validity[at >> 3] >> (at & 7) & 1;
}

#define GATHERED(type)                                                                                                 \
    do {                                                                                                               \
        const type *source = value_of(from);                                                                           \
        type *target = (type *)(uintptr_t)to->data;                                                                    \
        for (int64_t i = 0; i < rows; i++)                                                                             \
            target[i] = source[index[i]];                                                                              \
    } while (0)

#define GATHERED_OR_NULL(type)                                                                                         \
    do {                                                                                                               \
        const type *source = value_of(from);                                                                           \
        type *target = (type *)(uintptr_t)to->data;                                                                    \
        for (int64_t i = 0; i < rows; i++)                                                                             \
            target[i] = index[i] == NONE ? 0 : source[index[i]];                                                       \
    } while (0)

/* One bit a row: neither without a row nor null. The rest of the last byte is 0. */
static void gather_bits(const as_column *from, const uint32_t *index, int64_t rows, uint8_t *to) {
    const uint8_t *validity = from->validity;
    for (int64_t row = 0; row < rows; row += 8) {
        const int64_t some = rows - row < 8 ? rows - row : 8;
        uint8_t bits = 0;
        for (int64_t i = 0; i < some; i++) {
            const uint32_t at = index[row + i];
            const int there = at != NONE && (validity == NULL || is_valid(validity, from->first + at));
            bits |= (uint8_t)(there << i);
        }
        to[row >> 3] = bits;
    }
}

static int gather(const as_chain_step *step, const as_column *columns, int64_t rows) {
    const as_column *from = columns + step->in[0], *to = columns + step->out[0];
    const uint32_t *index = value_of(columns + step->in[1]);
    if (step->counted != 0) {
        gather_bits(from, index, rows, (uint8_t *)(uintptr_t)to->validity);
        switch (from->width) {
        case 1: GATHERED_OR_NULL(uint8_t); return 0;
        case 2: GATHERED_OR_NULL(uint16_t); return 0;
        case 4: GATHERED_OR_NULL(uint32_t); return 0;
        case 8: GATHERED_OR_NULL(uint64_t); return 0;
        default: return AS_E_ARGUMENT;
        }
    }
    switch (from->width) {
    case 1: GATHERED(uint8_t); return 0;
    case 2: GATHERED(uint16_t); return 0;
    case 4: GATHERED(uint32_t); return 0;
    case 8: GATHERED(uint64_t); return 0;
    default: return AS_E_ARGUMENT;
    }
}

static int run(const as_chain_step *step, const as_chain_work *work, int64_t rows) {
    as_column in[AS_CHAIN_MOST];
    void *outs[AS_CHAIN_MOST];
    int64_t counts[AS_CHAIN_MOST] = {0};
    for (uint32_t i = 0; i < step->inputs; i++)
        in[i] = work->columns[step->in[i]];
    for (uint32_t i = 0; i < step->outputs; i++) {
        const as_column *column = work->columns + (step->out[i] >> 1);
        outs[i] = (void *)(uintptr_t)(step->out[i] & 1 ? column->validity : column->data);
    }
    const int status = as_expression_run(step->what, in, rows, outs, counts, NULL);
    if (status == 0 && step->makes != AS_CHAIN_NONE)
        work->rows[step->makes] = counts[step->counted];
    return status;
}

static int look_up(const as_chain_step *step, const as_chain_work *work, int64_t rows) {
    as_column key[AS_CHAIN_MOST];
    for (uint32_t i = 0; i < step->inputs; i++)
        key[i] = work->columns[step->in[i]];
    uint32_t *first = (uint32_t *)(uintptr_t)work->columns[step->out[0]].data;
    if (step->kind == AS_CHAIN_FIND)
        return as_lookup_find(step->what, key, step->how, NULL, rows, first) < 0;
    uint32_t *right = (uint32_t *)(uintptr_t)work->columns[step->out[1]].data;
    const uint32_t *index = step->counted != 0 ? value_of(key + 1) : NULL;
    const int64_t count = as_lookup_match(step->what, key, step->how, index, rows, first, right);
    if (count < 0)
        return AS_E_ARGUMENT;
    if (count == rows) { /* `first` was not written */
        if (index != NULL)
            memcpy(first, index, (size_t)rows * sizeof *first);
        else
            for (int64_t i = 0; i < rows; i++)
                first[i] = (uint32_t)i;
    }
    work->rows[step->makes] = count;
    return 0;
}

static int expand(const as_chain_step *step, const as_chain_work *work, int64_t rows) {
    as_column key[AS_CHAIN_MOST];
    uint32_t *out[3];
    for (uint32_t i = 0; i < step->inputs; i++)
        key[i] = work->columns[step->in[i]];
    for (uint32_t i = 0; i < 3; i++)
        out[i] = (uint32_t *)(uintptr_t)work->columns[step->out[i]].data;
    const int outer = step->counted != 0;
    const int64_t room = work->rows[0] * step->room;
    if (as_lookup_find(step->what, key, step->how, NULL, rows, out[2]) < 0)
        return AS_E_ARGUMENT;
    if (as_lookup_pairs(step->what, out[2], rows, outer) > room)
        return AS_AGAIN;
    int64_t cursor[2] = {0, 0};
    work->rows[step->makes] = as_lookup_expand(step->what, out[2], rows, outer, cursor, room, out[0], out[1]);
    return 0;
}

static int user(const as_chain_step *step, const as_chain_work *work, int64_t rows) {
    as_column in[AS_CHAIN_MOST];
    for (uint32_t i = 0; i < step->inputs; i++)
        in[i] = work->columns[step->in[i]];
    const as_column *to = work->columns + step->out[0];
    const uintptr_t function = (uintptr_t)step->what;
    uint8_t *out = (uint8_t *)(uintptr_t)to->data, *validity = (uint8_t *)(uintptr_t)to->validity;
    int32_t answer = 0;
    if (rows != 0 && as_user_call(function, in, step->inputs, rows, out, to->width, validity, &answer) != AS_OK)
        return AS_E_ARGUMENT;
    if (answer != 0)
        return AS_AGAIN;
    if (step->makes != AS_CHAIN_NONE)
        work->rows[step->makes] = as_mask_to_index(out, rows, (uint32_t *)(uintptr_t)work->columns[step->out[1]].data);
    for (int64_t row = 0; step->counted != 0 && row < rows; row++)
        out[row] = out[row] != 0;
    return 0;
}

static int add(const as_chain_step *step, const as_column *columns, int64_t rows) {
    const as_chain_state *state = step->what;
    as_operand *operand = state->operand;
    for (uint32_t i = 0; i < step->inputs / 2; i++) {
        const uint32_t column = step->in[2 * i], index = step->in[2 * i + 1];
        if (column == AS_CHAIN_NONE) {
            operand[i] = (as_operand){0};
            continue;
        }
        operand[i].column = columns[column];
        operand[i].index = index == AS_CHAIN_NONE ? NULL : value_of(columns + index);
        operand[i].how = step->how[2 * i];
        operand[i].few = step->how[2 * i + 1] < (uint64_t)rows ? step->how[2 * i + 1] : 0;
    }
    return ((add_rows)state->add)(state->context, rows);
}

int32_t as_chain_job(void *context) {
    const as_chain_work *work = context;
    uint64_t since = as_now_ns();
    for (uint32_t number = 0; number < work->count; number++) {
        const as_chain_step *step = work->steps + number;
        if (step->inputs > AS_CHAIN_MOST || step->outputs > AS_CHAIN_MOST)
            return AS_E_ARGUMENT;
        const int64_t rows = work->rows[step->rows];
        int status;
        switch (step->kind) {
        case AS_CHAIN_RUN: status = run(step, work, rows); break;
        case AS_CHAIN_GATHER: status = gather(step, work->columns, rows); break;
        case AS_CHAIN_MATCH:
        case AS_CHAIN_FIND: status = look_up(step, work, rows); break;
        case AS_CHAIN_EXPAND: status = expand(step, work, rows); break;
        case AS_CHAIN_TEXT: status = as_chain_text_run(step, work, rows); break;
        case AS_CHAIN_USER: status = user(step, work, rows); break;
        case AS_CHAIN_ADD: status = add(step, work->columns, rows); break;
        default: status = AS_E_ARGUMENT;
        }
        if (status != 0 &&
            step->kind != AS_CHAIN_ADD) /* if it lacks memory, there may be some when its hook asks for it */
            return status == AS_E_MEMORY ? AS_AGAIN : status;
        if (status != 0)
            return status != AS_E_MEMORY && number > 0 && step[-1].kind == AS_CHAIN_ADD ? AS_E_CORRUPT : status;
        if (number + 1 == work->count || step[1].member != step->member) {
            const uint64_t now = as_now_ns();
            work->took_ns[step->member] += now - since;
            since = now;
        }
    }
    return 0;
}
