/*
 * Cells of single rows say what each row does, whatever the program; programs that keep something beside their cells, and
 * columns that cannot be read, are refused. Usage: cells_single_random SEED ROUNDS
 */
#include "aggregate_steps.h"

enum { MOST = 2600 }; /* rows: several chunks */

static bool can_be_single(const as_program *program) {
    for (uint32_t number = 0; number < program->steps; number++) {
        const as_step *step = &program->step[number];
        if (step->what == AS_DISTINCT || step->what == AS_VALUES || step->what == AS_ROWS)
            return false;
        if (step->what != AS_COUNT && HOW[step->value] == AS_HASH_BYTES)
            return false;
    }
    return true;
}

/* A program with those of random steps that are allowed, or with all of them. */
static as_program some_program(uint32_t orders) {
    as_program program = random_program(orders);
    if (below(8) == 0)
        return program;
    uint32_t kept = 0;
    for (uint32_t number = 0; number < program.steps; number++) {
        const as_program alone = {.steps = 1, .step = {program.step[number]}};
        if (can_be_single(&alone))
            program.step[kept++] = program.step[number];
    }
    program.steps = kept;
    CHECK(as_program_init(&program) == AS_OK);
    return program;
}

static void round_of(void) {
    const as_program program = some_program((uint32_t)below(3));
    const uint32_t how[KEYS] = {AS_HASH_SIGNED, AS_HASH_SIGNED};
    const bool nullable[KEYS] = {false, false};
    const int64_t rows = (int64_t)below(below(4) ? 90 : MOST);
    batch made = random_batch(&program, how, nullable, 0, rows, 0, 1 + (int64_t)below(50), 9, below(4) == 0);
    as_operand *order = made.operands + 1, *values = order + program.columns;
    const uint64_t words = program.words + program.sums;
    uint64_t *cell = malloc((size_t)rows * words * sizeof *cell + 1); /* the odd byte: malloc(0) may be NULL */
    memset(cell, 0xa5, (size_t)rows * words * sizeof *cell); /* what lies there does not count */
    const int status = as_cells_single(&program, order, values, rows, cell);
    CHECK(status == (can_be_single(&program) ? AS_OK : AS_E_ARGUMENT));
    for (int64_t row = 0; row < rows && status == AS_OK; row++) {
        const given own = {made.values, row, made.times[row], 0, 0, 0}, *mine = &own;
        const cell_reader nothing_beside = {0};
        check_cell(&program, cell + (size_t)row * words, &nothing_beside, &mine, 1);
    }
    CHECK(as_cells_single(&program, order, values, -1, cell) == AS_E_ARGUMENT);
    if (rows) {
        const uint32_t width = values[0].column.width;
        values[0].column.width = 3;
        CHECK(as_cells_single(&program, order, values, rows, cell) == AS_E_ARGUMENT);
        values[0].column.width = width;
    }
    free(cell);
    release_batch(&made, 0);
}

int main(int count, char **arguments) {
    return run_rounds(count, arguments, round_of);
}
