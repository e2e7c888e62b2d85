"""The reordering buffer and the hybrid worklist as Promela models: spin visits every interleaving of 2 or 3 workers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
SOUND = [
    ("reorder", ["WORKERS=3"]),
    ("reorder", ["WORKERS=3", "SIZE=1"]),
    ("reorder", ["WORKERS=2", "SIZE=4", "COUNT=5"]),
    ("reorder", ["WORKERS=2", "COUNT=3", "REFUSING"]),
    ("hybrid", ["WORKERS=2"]),
    ("hybrid", ["WORKERS=2", "CAPACITY=4", "WINDOW=1"]),
    ("hybrid", ["WORKERS=3", "COUNT=3"]),
]
BROKEN = [
    ("reorder", ["NO_SECOND_LOOK"]),
    ("reorder", ["BEYOND_WINDOW"]),
    ("reorder", ["TEST_THEN_SET"]),
    ("reorder", ["RELEASE_STORE", "WORKERS=2"]),
    ("reorder", ["LOST_FLUSH", "WORKERS=2", "COUNT=3", "REFUSING"]),
    ("hybrid", ["MASTER_FIRST"]),
    ("hybrid", ["TORN_COUNTER"]),
    ("hybrid", ["EARLY_LEAVE"]),
    ("hybrid", ["NO_DELEGATION"]),
]


def search(model: str, definitions: list[str], folder: Path) -> tuple[int, str]:
    """Builds the verifier of a model and runs it to the end or to the first error: errors found, what it printed."""
    if shutil.which("spin") is None:
        if os.environ.get("CI"):
            pytest.fail("spin is missing; .ci/run installs the Debian package")
        pytest.skip("spin is not installed")
    run(["spin", *(f"-D{name}" for name in definitions), "-a", str(HERE / f"{model}.pml")], folder)
    # spin's own code: it is not ours to free of warnings, and takes longer to optimise than to run
    run(["gcc", "-O0", "-w", "-DSAFETY", "-o", "pan", "pan.c"], folder)
    said = run(["./pan", "-m100000", "-w22"], folder)
    found = re.search(r"errors: (\d+)", said)
    assert found is not None, said
    return int(found[1]), said


def run(command: list[str], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("model", "definitions"), SOUND, ids=str)
def test_no_interleaving_violates_the_model(model: str, definitions: list[str], tmp_path: Path) -> None:
    errors, said = search(model, definitions, tmp_path)
    assert errors == 0, said
    assert "max search depth too small" not in said
    assert "Search not completed" not in said


@pytest.mark.parametrize(("model", "definitions"), BROKEN, ids=str)
def test_a_mutated_model_is_caught(model: str, definitions: list[str], tmp_path: Path) -> None:
    errors, said = search(model, definitions, tmp_path)
    assert errors == 1
    assert "assertion violated" in said or "invalid end state" in said
