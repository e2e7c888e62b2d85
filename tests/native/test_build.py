"""What a distribution must contain, and that the core's declarations are read from its headers."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tarfile
from pathlib import Path

from actorstream.native._core import lib

from actorstream.native import build

ROOT = Path(__file__).resolve().parents[2]


def test_every_declared_function_can_be_called() -> None:
    declared = build.builder(ROOT)._parser._declarations
    functions = {name.removeprefix("function ") for name in declared if name.startswith("function ")}
    assert len(functions) > 60
    assert functions <= set(dir(lib))


def test_every_header_is_read_after_those_it_includes() -> None:
    order = build.headers()
    assert sorted(order) == sorted(path.name for path in (build.HERE / "include").glob("*.h"))
    assert order.index("status.h") < order.index("arena.h") < order.index("channel.h")
    assert order.index("column.h") < order.index("jumbo.h")


def test_the_source_distribution_contains_headers_and_sources(tmp_path: Path) -> None:
    code = "import sys, setuptools.build_meta as backend; backend.build_sdist(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    native = ROOT / "actorstream" / "native"
    needed = [
        path
        for pattern in ("include/*.h", "src/*.[ch]", "objects/*.[ch]", "*.py")
        for path in native.glob(pattern)
    ]
    assert {str(path.relative_to(ROOT)) for path in needed} <= names
    assert "pyproject.toml" in names and "setup.py" not in names


def test_the_module_for_python_objects_can_be_made_anew() -> None:
    from actorstream.native import _objects

    assert _objects.__spec__ is not None
    again = importlib.util.module_from_spec(_objects.__spec__)
    _objects.__spec__.loader.exec_module(again)
    assert again.Cursor is not _objects.Cursor
    assert list(again.Cursor(dict, ([],), 0, 0)) == []


def test_a_folder_of_the_same_name_beside_a_script_does_not_hide_the_installed_package(
    tmp_path: Path,
) -> None:
    (tmp_path / "actorstream").mkdir()
    (tmp_path / "script.py").write_text("from actorstream import Actor, Event")
    done = subprocess.run(
        [sys.executable, tmp_path / "script.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_type_checkers_find_the_installed_package(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("from actorstream import Actor, Event\n")
    flags = ["--follow-imports=skip", "--cache-dir", str(tmp_path / "cache"), "--config-file", ""]
    command = [sys.executable, "-m", "mypy", *flags, "script.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
