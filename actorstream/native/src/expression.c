/* Expressions over columns: the instruction sets to choose from, and the scratch that a run needs. See expression.h. */
#define _GNU_SOURCE /* strtod_l */
#include "expression_state.h"
#include "simd.h"

#define STACK_VECTORS 16

#define VM_TARGET
#define VM(name) name##_baseline
#define VM_LEVEL 0
#include "expression_masks.h"
#include "expression_vectors.h"
#include "expression_steps.h"
#undef VM_TARGET
#undef VM
#undef VM_LEVEL

#ifdef AS_AVX512
#define VM_TARGET AS_TARGET_AVX2
#define VM(name) name##_avx2
#define VM_LEVEL 1
#include "expression_masks.h"
#include "expression_vectors.h"
#include "expression_steps.h"
#undef VM_TARGET
#undef VM
#undef VM_LEVEL

#define VM_TARGET AS_TARGET_AVX512
#define VM(name) name##_avx512
#define VM_LEVEL 2
#include "expression_masks.h"
#include "expression_vectors.h"
#include "expression_steps.h"
#undef VM_TARGET
#undef VM
#undef VM_LEVEL
#endif

static void run(as_block *block, const as_expression *program, int64_t rows) {
#ifdef AS_AVX512
    if (cpu_has_avx512()) {
        run_avx512(block, program, rows);
        return;
    }
    if (cpu_has_avx2()) {
        run_avx2(block, program, rows);
        return;
    }
#endif
    run_baseline(block, program, rows);
}

int as_expression_run(const as_expression *program, const as_column *columns, int64_t rows, void *const *outs,
                      int64_t *counts, uint32_t *failures) {
    _Alignas(64) int64_t stack[STACK_VECTORS * LANES];
    const uint64_t vectors = program->vectors + 1, masks = program->masks + 1; /* register 0 always exists */
    if (rows < 0 || rows > UINT32_MAX)
        return AS_E_ARGUMENT;
    const uint64_t bytes = vectors * (LANES * sizeof(int64_t) + sizeof(void *)) + masks * (LANES / 8) + 64;
    char *memory = bytes <= sizeof stack ? (char *)stack : aligned_alloc(64, (bytes + 63) & ~UINT64_C(63));
    if (memory == NULL)
        return AS_E_MEMORY;
    as_block block = {
        .program = program->instructions,
        .columns = columns,
        .outs = outs,
        .counts = counts,
        .failures = failures,
        .lanes = (int64_t *)memory,
        .masks = (uint64_t *)(memory + vectors * LANES * sizeof(int64_t)),
    };
    block.at = (const void **)(block.masks + masks * WORDS);
    for (uint64_t number = 0; number < vectors; number++)
        block.at[number] = block.lanes + number * LANES;
    run(&block, program, rows);
    if (memory != (char *)stack)
        free(memory);
    return block.failed && failures == NULL ? AS_AGAIN : AS_OK;
}

int32_t as_expression_job(void *work) {
    const as_expression_work *own = work;
    return as_expression_run(own->program, own->columns, own->rows, own->outs, own->counts, NULL) != AS_OK;
}
