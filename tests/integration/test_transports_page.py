"""The programs of docs/transports.md run as printed, and its example transport keeps every rule."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "transports.md"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A folder with the files that the page prints."""
    for name, body in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        (tmp_path / name).write_text(body)
    return tmp_path


def run(folder: Path, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=200, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_transport_keeps_every_rule(written: Path) -> None:
    # with our settings, by which the collector does not look twice in each check at all modules
    settings = ["-p", "no:cacheprovider", "-p", "tests.conftest"]
    out = run(written, "-m", "pytest", "-q", *settings, "test_socket_transport.py")
    assert re.search(r"\d\d passed", out), out


def test_the_costs_are_printed_for_both_transports(written: Path) -> None:
    lines = run(written, "transport_costs.py").splitlines()
    assert [line.split(":")[0] for line in lines] == ["local", "shm"]


def test_the_page_names_only_what_exists() -> None:
    from actorstream import testing
    from actorstream.testing import transport
    from actorstream.transports.registry import installed_transports

    assert callable(testing.check_transport) and callable(transport.play)
    assert {"local", "shm"} <= set(installed_transports())
