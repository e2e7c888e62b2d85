"""The C code of generators into memory of exactly the promised size, under AddressSanitizer and UBSan."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[1] / "actorstream" / "native"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
FLAGS = ["-std=gnu11", "-O1", "-g", *WARNINGS, "-fno-strict-aliasing", "-fsanitize=address,undefined"]


@pytest.mark.parametrize(
    "defines", [[], ["-DAS_NO_AVX512"], ["-DAS_PORTABLE"]], ids=["all", "avx2", "baseline"]
)
def test_generators_write_what_they_promise_and_nothing_beside_it_on_every_instruction_set(tmp_path, defines):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    binary = tmp_path / "generate"
    sources = [*sorted((NATIVE / "src").glob("generate_*.c")), HERE / "c" / "generate.c"]
    command = [compiler, *FLAGS, "-fno-sanitize-recover=all", *defines, f"-I{NATIVE / 'include'}"]
    built = subprocess.run([*command, *sources, "-o", binary], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    for seed in ("1", "20250101"):
        done = subprocess.run([binary, seed, "300"], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
