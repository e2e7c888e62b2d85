"""The C code of groups, panes and sessions over random rows under AddressSanitizer and UBSan, against rows kept one by
one. Each has one owner at a time, so there is nothing for ThreadSanitizer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NATIVE = HERE.parents[1] / "actorstream" / "native"
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fno-strict-aliasing"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
GROUPS = ("groups", "groups_change", "texts", "order", "zeroed", "operand")
CELLS = (*GROUPS, "cells", "cells_merge", "cells_single", "cells_user", "lists", "pairs", "quantile")
PANES = ("panes", "panes_change", "panes_count", "panes_fire", "panes_state")
SESSIONS = ("sessions", "sessions_fire", "sessions_state")


def command(*defines: str) -> list[str]:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    return [compiler, *FLAGS, *SANITIZERS, *defines, f"-I{NATIVE / 'include'}"]


def compiled(folder: Path, sources: tuple[str, ...], *defines: str) -> list[str]:
    """Objects of parts of the core."""
    files = [str(NATIVE / "src" / f"{name}.c") for name in sources]
    built = subprocess.run([*command(*defines), "-c", *files], cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return [str(folder / f"{name}.o") for name in sources]


def run(folder: Path, program: str, objects: list[str], rounds: int) -> None:
    """Builds `program` and runs it; what a sanitizer finds ends it with an error."""
    binary = folder / program
    parts = [str(HERE / "c" / f"{program}.c"), *objects, "-lm", "-o", str(binary)]
    built = subprocess.run([*command(), *parts], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    for seed in ("1", "20250101"):
        done = subprocess.run([str(binary), seed, str(rounds)], capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return compiled(tmp_path_factory.mktemp("core"), CELLS + PANES + SESSIONS)


@pytest.mark.parametrize("portable", [False, True], ids=["every instruction set", "baseline"])
def test_a_group_has_the_keys_of_its_rows_whatever_is_renumbered_and_dropped(
    core: list[str], tmp_path: Path, portable: bool
) -> None:
    run(tmp_path, "groups_random", compiled(tmp_path, GROUPS, "-DAS_PORTABLE") if portable else core, 500)


def test_windows_of_panes_say_what_their_rows_do_also_from_panes_that_were_put_back(
    core: list[str], tmp_path: Path
) -> None:
    run(tmp_path, "panes_random", core, 200)


def test_cells_of_single_rows_say_what_each_row_does(core: list[str], tmp_path: Path) -> None:
    run(tmp_path, "cells_single_random", core, 200)


def test_sessions_say_what_their_rows_do_also_those_that_were_put_back(
    core: list[str], tmp_path: Path
) -> None:
    run(tmp_path, "sessions_random", core, 200)
