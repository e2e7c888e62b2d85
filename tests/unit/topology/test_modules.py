from __future__ import annotations

import sys
from pathlib import Path

import pytest

from actorstream.topology.modules import NotFoundError, load_object, project_root, qualified, use_modules_of


@pytest.fixture(autouse=True)
def own_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.syspath_prepend(tmp_path)


def test_the_project_root_is_the_nearest_folder_with_a_pyproject(tmp_path: Path) -> None:
    inner = tmp_path / "apps" / "one"
    inner.mkdir(parents=True)
    (tmp_path / "pyproject.toml").touch()
    assert project_root(inner / "topology.toml") == tmp_path
    (inner / "pyproject.toml").touch()
    assert project_root(inner / "topology.toml") == inner


def test_modules_are_looked_up_in_the_root_before_the_current_directory(tmp_path: Path) -> None:
    use_modules_of(tmp_path / "project")
    use_modules_of(tmp_path / "project")
    assert sys.path[0] == str(tmp_path / "project")
    assert sys.path.count(str(tmp_path / "project")) == 1
    assert str(Path.cwd()) in sys.path


def test_an_object_is_loaded_and_named_back() -> None:
    found = load_object("pathlib:Path.cwd")
    assert found.__func__ is Path.cwd.__func__  # type: ignore[attr-defined]
    assert load_object(qualified(NotFoundError)) is NotFoundError


@pytest.mark.parametrize("name", ["pathlib", "pathlib:", ":Path", ""])
def test_a_name_without_module_or_attribute_is_refused(name: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        load_object(name, noun="class")
    assert caught.value.allowed == '"package.module:Name"'


def test_a_missing_attribute_lists_the_modules_own_names(tmp_path: Path) -> None:
    (tmp_path / "modules_test_a.py").write_text(
        "from pathlib import Path\nclass Split: ...\nclass Join: ...\n"
    )
    with pytest.raises(NotFoundError) as caught:
        load_object("modules_test_a:Spilt")
    assert caught.value.allowed == "Split, Join"
    assert caught.value.hint == "did you mean 'Split'?"


def test_a_missing_module_says_where_it_was_looked_for_and_what_lies_near(tmp_path: Path) -> None:
    (tmp_path / "modules_pkg").mkdir()
    (tmp_path / "modules_pkg" / "__init__.py").touch()
    (tmp_path / "modules_pkg" / "operators.py").touch()
    with pytest.raises(NotFoundError) as caught:
        load_object("modules_pkg.operator:Split")
    assert "project root" in caught.value.hint
    assert "did you mean 'operators'?" in caught.value.hint


def test_a_module_that_needs_another_one_names_that_one(tmp_path: Path) -> None:
    (tmp_path / "modules_test_b.py").write_text("import not_installed_anywhere\n")
    with pytest.raises(
        NotFoundError, match="'modules_test_b' imports 'not_installed_anywhere', which is not installed"
    ):
        load_object("modules_test_b:Split")


def test_a_module_that_raises_says_what_it_raised(tmp_path: Path) -> None:
    (tmp_path / "modules_test_c.py").write_text("raise RuntimeError('no licence')\n")
    with pytest.raises(NotFoundError, match="RuntimeError: no licence"):
        load_object("modules_test_c:Split")
