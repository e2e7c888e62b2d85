"""The folder that a pipeline writes into holds nothing but what a pipeline wrote."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from actorstream.errors import ConfigurationError
from actorstream.spark.write import MANIFEST, check_folder, prepare_folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A folder with the complete output of a run."""
    (tmp_path / "out" / "rows").mkdir(parents=True)
    (tmp_path / "out" / "rows" / "part-00000.csv").write_text("1\n")
    (tmp_path / "out" / MANIFEST).write_text(json.dumps({"streams": {"rows": {}}}))
    return tmp_path / "out"


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    assert check_folder(tmp_path / "a" / "b") == []
    assert list(tmp_path.iterdir()) == []
    prepare_folder(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_the_output_of_an_earlier_run_is_removed_only_when_the_folder_is_prepared(out: Path) -> None:
    assert check_folder(out) == ["rows"]
    assert (out / "rows" / "part-00000.csv").exists()
    prepare_folder(out)
    assert list(out.iterdir()) == []


def test_nothing_is_removed_from_a_folder_with_a_file_that_no_pipeline_has_written(out: Path) -> None:
    (out / "notes.txt").touch()
    before = sorted(out.rglob("*"))
    with pytest.raises(
        ConfigurationError, match=r"has files that are not in its manifest\.json, such as 'notes\.txt'"
    ):
        prepare_folder(out)
    assert sorted(out.rglob("*")) == before
    (out / MANIFEST).unlink()
    with pytest.raises(ConfigurationError, match=r"has files and no manifest\.json, such as"):
        prepare_folder(out)
