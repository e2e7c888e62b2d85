"""The programs in README.md and docs/ run as they are printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```(\w+)\n(?:# |// |<!-- )([\w./-]+\.\w+)\n(.*?)```", re.DOTALL)


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


def test_the_aggregate_in_c_of_the_operators_page_launches_in_two_steps(written: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "actorstream",
        "launch",
        "spread.toml",
        "--quiet",
        "--report",
        "report.json",
    ]
    done = run(written, *command)
    assert done.returncode == 0, done.stderr
    expected = files_of(ROOT / "docs" / "operators.md")["expected.csv"]
    assert (written / "spreads.csv").read_text() == expected
    assert "spreads.local" in json.loads((written / "report.json").read_text())["events_in"]


def test_the_program_of_the_dgs_page_does_what_the_page_says(tmp_path: Path) -> None:
    page = ROOT / "docs" / "dgs.md"
    for name, body in files_of(page).items():
        (tmp_path / name).write_text(body)
    texts = re.findall(r"```text\n(.*?)```", page.read_text(), re.DOTALL)
    command = [sys.executable, "-m", "actorstream"]
    done = run(tmp_path, *command, "launch", "topology.toml", "--quiet")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "totals.csv").read_text() == texts[0]
    planned = run(tmp_path, *command, "plan", "topology.toml", "--workers", "2")
    assert planned.stdout.endswith(texts[1]), planned.stdout
    tested = run(tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_sales.py")
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_the_violation_on_the_dgs_page_is_what_the_check_prints(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "dgs.md").read_text()
    source = files_of(ROOT / "docs" / "dgs.md")["sales.py"]
    right = 'return (self.State(), state) if Tag("closing") in right else (state, self.State())'
    assert right in source
    (tmp_path / "sales.py").write_text(source.replace(right, "return state, self.State(state.amount)"))
    program = (
        "from actorstream.testing import find_violations; from sales import *\n"
        "for each in find_violations(Sales(), {'closings': Closing, 'sales': Sale}, examples=60): print(each)"
    )
    done = run(tmp_path, sys.executable, "-c", program)
    assert done.returncode == 0, done.stderr
    assert "```text\n" + done.stdout + "```" in page


def test_the_program_of_the_readme_prints_what_the_readme_says() -> None:
    readme = (ROOT / "README.md").read_text()
    program = re.search(r"```python\n(.*?)```\n+It prints\n+```\n(.*?)```", readme, re.DOTALL)
    assert program is not None, "README.md lost its program or its output"
    source, printed = program.groups()
    done = run(ROOT, sys.executable, "-c", source)
    assert done.returncode == 0, done.stderr
    assert done.stdout == printed
