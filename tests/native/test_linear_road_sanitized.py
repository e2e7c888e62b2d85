"""The C kernels of the Linear Road app over random rows under AddressSanitizer and UBSan, each state beside one that has loaded
what its forerunner saved. Each has one owner at a time, so there is nothing for ThreadSanitizer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
APP = HERE.parents[1] / "apps" / "linear_road"
FLAGS = ["-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fno-strict-aliasing"]
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


@pytest.mark.parametrize("seed", [1, 20250101])
def test_a_loaded_state_goes_on_as_the_one_that_was_saved(seed: int, tmp_path: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    binary = tmp_path / "random"
    command = [
        compiler,
        *FLAGS,
        *SANITIZERS,
        f"-I{APP}",
        str(HERE / "c" / "linear_road_random.c"),
        "-o",
        str(binary),
    ]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(binary), str(seed), "200"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr
