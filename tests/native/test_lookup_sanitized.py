"""The C code of lookups over random tables under AddressSanitizer and UBSan, against a search through the table."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[1] / "actorstream" / "native"
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fno-strict-aliasing"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.mark.parametrize(
    "defines", [[], ["-DAS_NO_AVX512"], ["-DAS_PORTABLE"]], ids=["all", "avx2", "baseline"]
)
def test_a_lookup_finds_what_a_search_through_the_table_finds_on_every_instruction_set(tmp_path, defines):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    binary = tmp_path / "lookup_random"
    sources = [str(NATIVE / "src" / f"lookup_{part}.c") for part in ("build", "expand", "find")]
    sources.append(str(HERE / "c" / "lookup_random.c"))
    command = [compiler, *FLAGS, *SANITIZERS, *defines, f"-I{NATIVE / 'include'}", *sources]
    built = subprocess.run([*command, "-o", str(binary)], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    for seed in ("1", "20250101"):
        done = subprocess.run([str(binary), seed, "300"], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
