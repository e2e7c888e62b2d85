"""The C code of chains over random columns under AddressSanitizer and UBSan, and by several threads under
ThreadSanitizer, against the same done row by row."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[1] / "actorstream" / "native"
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fno-strict-aliasing", "-pthread"]
PARTS = ("chain", "expression", "lookup_build", "lookup_expand", "lookup_find", "seed")


@pytest.mark.parametrize(
    ("sanitizers", "rounds", "threads"),
    [("address,undefined", 200, 1), ("thread", 60, 4)],
    ids=["address", "thread"],
)
def test_a_chain_gives_what_its_steps_give_row_by_row(tmp_path, sanitizers, rounds, threads):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    binary = tmp_path / "chain_random"
    sources = [str(NATIVE / "src" / f"{part}.c") for part in PARTS] + [str(HERE / "c" / "chain_random.c")]
    checks = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all"]
    command = [compiler, *FLAGS, *checks, f"-I{NATIVE / 'include'}", *sources, "-lm", "-o", str(binary)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    for seed in ("1", "20250101"):
        command = [str(binary), seed, str(rounds), str(threads)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
