"""The topology of docs/expressions.md runs as it is printed, on both transports."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(os.environ.get("EXPRESSIONS_PAGE", Path(__file__).parents[3] / "docs" / "expressions.md"))


@pytest.mark.parametrize("transport", ["local", "shm"])
def test_the_topology_of_the_page_launches(transport: str, tmp_path: Path) -> None:
    for name, body in re.findall(r"```\w+\n# ([\w.]+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (tmp_path / name).write_text(body)
    command = [
        sys.executable,
        "-m",
        "actorstream",
        "launch",
        "topology.toml",
        "--quiet",
        "--transport",
        transport,
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.csv").read_text() == "year,value,note\n2024,10.0,first\n2025,20.0,none\n"
    assert (tmp_path / "totals.csv").read_text() == "rows,total\n4,53.0\n"


def test_the_function_in_c_of_the_page_prints_what_the_page_says(tmp_path: Path) -> None:
    found = re.search(r"```python\n# worth.py\n(.*?)```\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found is not None
    (tmp_path / "worth.py").write_text(found[1])
    command = [sys.executable, "worth.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == (found[2], 0), done.stderr
