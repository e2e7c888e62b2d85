from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from actorstream.errors import ConfigurationError
from actorstream.launch.cluster import archives


def test_the_environment_has_the_package_its_core_its_transports_and_what_it_needs(tmp_path: Path) -> None:
    archives.write_environment(tmp_path / "environment.tar")
    with tarfile.open(tmp_path / "environment.tar") as archive:
        names = archive.getnames()
        points = archive.extractfile(next(name for name in names if name.endswith("entry_points.txt")))
        assert points is not None
        assert b"zmq = actorstream.transports.zmq" in points.read()
    assert any(name.startswith("actorstream/native/_core.") for name in names)
    assert {"numpy/__init__.py", "pyarrow/__init__.py", "zmq/__init__.py"} <= set(names)
    assert not any(name.startswith("pyspark/") or "__pycache__" in name for name in names)


def test_a_project_is_sent_without_what_is_hidden_unless_it_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "project"
    for name in ("data/rows.csv", "topology.toml", ".git/config", "data/__pycache__/a.pyc"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("1234")
    archives.write_project(project, tmp_path / "project.tar")
    with tarfile.open(tmp_path / "project.tar") as archive:
        assert sorted(archive.getnames()) == ["data/rows.csv", "topology.toml"]
    monkeypatch.setattr(archives, "MOST_BYTES", 7)
    with pytest.raises(ConfigurationError, match="put it on storage that all executors share"):
        archives.write_project(project, tmp_path / "project.tar")
