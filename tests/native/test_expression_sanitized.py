"""The C code of expressions and of calls of user functions over random input under AddressSanitizer and UBSan."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[1] / "actorstream" / "native"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
FLAGS = ["-std=gnu11", "-O1", "-g", *WARNINGS, "-fno-strict-aliasing", "-fsanitize=address,undefined"]


def run(folder: Path, program: str, source: str, rounds: int, *defines: str) -> None:
    """Builds `program` with the core's `source` and runs it; what a sanitizer finds ends it with an error."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    binary = folder / program
    sources = [str(NATIVE / "src" / source), str(HERE / "c" / f"{program}.c")]
    command = [compiler, *FLAGS, "-fno-sanitize-recover=all", *defines, f"-I{NATIVE / 'include'}", *sources]
    built = subprocess.run([*command, "-lm", "-o", str(binary)], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    for seed in ("1", "20250101"):
        done = subprocess.run([str(binary), seed, str(rounds)], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.mark.parametrize(
    "defines", [[], ["-DAS_NO_AVX512"], ["-DAS_PORTABLE"]], ids=["all", "avx2", "baseline"]
)
def test_programs_give_what_one_row_after_the_other_gives_on_every_instruction_set(
    tmp_path: Path, defines: list[str]
) -> None:
    run(tmp_path, "expression_random", "expression.c", 700, *defines)


def test_user_functions_see_no_null_and_their_answers_lie_where_their_rows_are(tmp_path: Path) -> None:
    run(tmp_path, "userfn_random", "userfn.c", 3000)
