"""The race of section 3.2 at the instruction level: clearing the flag and looking again, against storing and testing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[1] / "actorstream" / "native"
SOURCES = [
    HERE / "c" / "litmus_reorder.c",
    *(NATIVE / "src" / f"{name}.c" for name in ("reorder", "reorder_flag", "reorder_lock")),
]
MOST_SECONDS = 60  # until a loss; on two idle cores it takes milliseconds


def losses(seconds: int, folder: Path, *definitions: str) -> tuple[int, int]:
    """Rounds and lost wake-ups of a program built with these definitions."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("two threads on one CPU never race")
    binary = str(folder / "litmus")
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread", f"-I{NATIVE / 'include'}"]
    subprocess.run([compiler, *flags, *definitions, *map(str, SOURCES), "-o", binary], check=True)
    done = subprocess.run([binary, str(seconds)], capture_output=True, text=True)
    found = re.fullmatch(r"(\d+) rounds, (\d+) lost\n", done.stdout)
    assert found is not None, done.stdout + done.stderr
    return int(found[1]), int(found[2])


def test_with_the_exchange_no_wake_up_is_lost(tmp_path: Path) -> None:
    rounds, lost = losses(2, tmp_path)
    assert rounds > 1000
    assert lost == 0


@pytest.mark.slow
def test_with_a_release_store_instead_wake_ups_are_lost(tmp_path: Path) -> None:
    assert losses(MOST_SECONDS, tmp_path, "-DAS_REORDER_RELEASE_STORE")[1] == 1
