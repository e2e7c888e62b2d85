from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from actorstream.cli.data import load_pipeline, parse

from .conftest import Answer

Run = Callable[..., Answer]

PIPELINE = '''
from pathlib import Path

def pipeline(spark, *, rows: int = 10, rate: float = 1.0, input: Path | None = None):
    """Makes rows."""
    return []
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with the pipeline of one app."""
    app = tmp_path / "apps" / "small_data_app"
    app.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    (app / "pipeline.py").write_text(PIPELINE)
    (tmp_path / "apps" / "__init__.py").touch()
    for name in [name for name in sys.modules if name.partition(".")[0] == "apps"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    return app


def test_the_options_of_a_pipeline_are_its_parameters(folder: Path, run: Run) -> None:
    pipeline = load_pipeline("small_data_app")
    assert parse("x", pipeline, ["--rows", "5", "--input", "a/b"]) == {
        "rows": 5,
        "rate": 1.0,
        "input": Path("a/b"),
    }
    answer = run("data", "small_data_app", "--options")
    assert answer.code == 0
    assert answer.out.splitlines()[0] == "Makes rows."
    assert "--rows                  10" in answer.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--rows", "many"), "many"),
        (("--row", "5"), "--row"),
    ],
)
def test_a_wrong_option_is_named_before_spark_starts(
    folder: Path, run: Run, arguments: tuple[str, ...], said: str
) -> None:
    answer = run("data", "small_data_app", "--out", "out", *arguments)
    assert (answer.code, said in answer.err) == (2, True)
    assert not Path("out").exists()


def test_a_pipeline_that_is_not_there_is_named_with_those_that_are(folder: Path, run: Run) -> None:
    answer = run("data", "smal_data_app", "--out", "out")
    assert answer.code == 2
    assert "there is no pipeline 'smal_data_app' here; allowed: small_data_app" in answer.err


def test_a_folder_with_other_files_is_not_written_into(folder: Path, run: Run) -> None:
    answer = run("data", str(folder), "--out", str(folder))
    assert answer.code == 2
    assert "has files and no manifest.json, such as" in answer.err
    assert run("data", str(folder), "--out", str(folder), "--check").code == 1
    answer = run("data", str(folder))
    assert (answer.code, "--out: is missing" in answer.err) == (2, True)
