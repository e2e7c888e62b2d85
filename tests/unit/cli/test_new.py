from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from actorstream.cli.new import FILES

from .conftest import Answer

Run = Callable[..., Answer]


def test_an_app_has_all_its_files_and_its_name(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "demo-1"
    answer = run("new", folder)
    assert (answer.code, answer.out) == (0, "")
    written = {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
    assert written == set(FILES)
    assert 'name = "demo-1"' in (tmp_path / "demo-1" / "topology.toml").read_text()
    assert all("$app" not in (tmp_path / "demo-1" / file).read_text() for file in written)
    assert "actorstream launch topology.toml" in answer.err


def test_the_new_app_is_right_and_its_test_passes(tmp_path: Path) -> None:
    """In processes of its own, as a newcomer runs it."""
    for command in (
        ["actorstream", "new", "demo"],
        ["actorstream", "check", "demo/topology.toml", "--deploy", "demo/deploy.toml"],
    ):
        done = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path / "demo", capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


@pytest.mark.parametrize("name", ["1st", "a b", "a.b", ".", "é"])
def test_a_name_that_cannot_be_one_is_refused(run: Run, tmp_path: Path, name: str) -> None:
    answer = run("new", f"{tmp_path}/{name}" if name != "." else ".")
    assert answer.code == 2
    assert "cannot be the name of an app; allowed: a letter, then letters, digits, - and _" in answer.err


def test_nothing_is_overwritten(run: Run, tmp_path: Path) -> None:
    (tmp_path / "demo").mkdir()
    assert run("new", tmp_path / "demo").code == 0
    (tmp_path / "demo" / "topology.toml").write_text("mine")
    answer = run("new", tmp_path / "demo")
    assert answer.code == 2
    assert "exists and is not empty" in answer.err
    assert (tmp_path / "demo" / "topology.toml").read_text() == "mine"
