"""The programs in README.md and docs/ run as they are printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```(\w+)\n(?:# |<!-- )([\w./-]+\.\w+)\n(.*?)```", re.DOTALL)


def files_of(page: Path) -> dict[str, str]:
    """The blocks of a page whose first line names a file."""
    return {name: body for _, name, body in BLOCK.findall(page.read_text())}


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def written(tmp_path: Path) -> Path:
    for name, body in files_of(ROOT / "docs" / "operators.md").items():
        (tmp_path / name).write_text(body)
    return tmp_path


def test_the_operator_of_the_operators_page_passes_its_own_test(written: Path) -> None:
    done = run(written, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_too_hot.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_topology_of_the_operators_page_launches(written: Path) -> None:
    command = [sys.executable, "-m", "actorstream", "launch", "topology.toml", "--quiet"]
    done = run(written, *command)
    assert done.returncode == 0, done.stderr
    rows = sorted((written / "alarms.csv").read_text().splitlines())
    assert rows == ["door,25.5,0.5", "roof,31.5,6.5", "sensor,celsius,above"]


def test_the_program_of_the_readme_prints_what_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text()
    program = re.search(r"```python\n(.*?)```\n+It prints\n+```\n(.*?)```", readme, re.DOTALL)
    assert program is not None, "README.md lost its program or its output"
    source, printed = program.groups()
    done = run(ROOT, sys.executable, "-c", source)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed
