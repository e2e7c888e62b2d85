"""The C code of expressions and of calls of user functions over random input under AddressSanitizer and UBSan."""

from __future__ import annotations

from pathlib import Path

from tests.native.sanitized import on_every_instruction_set, run, sources


@on_every_instruction_set
def test_programs_give_what_one_row_after_the_other_gives(tmp_path: Path, defines: list[str]) -> None:
    run(tmp_path, "expression_random", sources("expression"), 700, *defines)


def test_user_functions_see_no_null_and_their_answers_lie_where_their_rows_are(tmp_path: Path) -> None:
    run(tmp_path, "userfn_random", sources("userfn"), 3000)
