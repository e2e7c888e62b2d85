"""The C code of expressions and of calls of user functions over random input under AddressSanitizer and UBSan."""

from __future__ import annotations

from tests.native.built import on_every_instruction_set, run_random, sources


@on_every_instruction_set
def test_programs_give_what_one_row_after_the_other_gives(level: int) -> None:
    run_random("expression_random", sources("expression"), 300, level=level)


def test_user_functions_see_no_null_and_their_answers_lie_where_their_rows_are() -> None:
    run_random("userfn_random", sources("userfn"), 3000)
