"""C programs of tests/native/c under AddressSanitizer and UBSan: built with parts of the core, and run over random input."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).resolve().parent / "c"
NATIVE = PROGRAMS.parents[2] / "actorstream" / "native"
WARNINGS = ["-Wall", "-Wextra", "-Werror"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
FLAGS = ["-std=gnu11", "-O1", "-g", *WARNINGS, "-fno-strict-aliasing", *SANITIZERS]

on_every_instruction_set = pytest.mark.parametrize(
    "defines", [[], ["-DAS_NO_AVX512"], ["-DAS_PORTABLE"]], ids=["all", "avx2", "baseline"]
)


def compiler() -> str:
    """The C compiler; where there is none a test fails in CI, and is skipped elsewhere."""
    found = shutil.which("gcc") or shutil.which("cc")
    if found is None:
        assert not os.environ.get("CI"), "CI needs a C compiler"
        pytest.skip("no C compiler")
    return found


def sources(*names: str) -> list[Path]:
    """Parts of the core, by name."""
    return [NATIVE / "src" / f"{name}.c" for name in names]


def objects(folder: Path, parts: Iterable[Path], *defines: str) -> list[Path]:
    """Parts of the core, compiled for several programs."""
    parts = list(parts)
    _compile(folder, *defines, "-c", *parts)
    return [folder / f"{part.stem}.o" for part in parts]


def run(
    folder: Path,
    program: str,
    parts: Iterable[Path],
    rounds: int,
    *defines: str,
    include: Path = NATIVE / "include",
    seeds: Iterable[int] = (1, 20250101),
) -> None:
    """Builds `program` with these sources or objects, and runs it once a seed; what a sanitizer finds ends it with an
    error."""
    binary = folder / program
    _compile(folder, *defines, PROGRAMS / f"{program}.c", *parts, "-lm", "-o", binary, include=include)
    for seed in seeds:
        done = subprocess.run([binary, str(seed), str(rounds)], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def _compile(folder: Path, *arguments: str | Path, include: Path = NATIVE / "include") -> None:
    command = [compiler(), *FLAGS, f"-I{include}", *map(str, arguments)]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
