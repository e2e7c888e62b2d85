"""`actorstream new NAME`: writes an app that runs, with a test that passes. The files are in scaffold/."""

from __future__ import annotations

import re
import string
import sys
from importlib import resources
from pathlib import Path

FILES = {
    "topology.toml": "topology.toml.tmpl",
    "deploy.toml": "deploy.toml.tmpl",
    "events.py": "events.py.tmpl",
    "operators.py": "operators.py.tmpl",
    "data/readings.csv": "readings.csv.tmpl",
    "test_app.py": "test_app.py.tmpl",
    "pyproject.toml": "pyproject.toml.tmpl",
    "README.md": "README.md.tmpl",
    ".gitignore": "gitignore.tmpl",
}
"""File of the app -> template."""
ALLOWED = "a letter, then letters, digits, - and _"


def new(name: str, /) -> int:
    """Start an app: a topology, operators, data and a test that passes.

    Writes the folder NAME with an app that averages readings of sensors. It runs as it is; change it step by step, and
    keep its test passing. Exit status: 0 done, 2 the folder exists or the name cannot be one.

    Parameters
    ----------
    name
        The folder to write, which is also the app's name; may be a path.
    """
    folder = Path(name)
    app = folder.name
    check_name(app)
    create(folder, app)
    shown = folder.as_posix()
    print(f"wrote {shown}/: {', '.join(FILES)}", file=sys.stderr)
    print(f"try: cd {shown} && actorstream launch topology.toml", file=sys.stderr)
    print("its test: pytest (pip install 'actorstream[test]')", file=sys.stderr)
    return 0


def check_name(app: str) -> None:
    """ConfigurationError if an app cannot be called so."""
    from actorstream.errors import ConfigurationError, Problem

    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", app):
        raise ConfigurationError(Problem("new", f"{app!r} cannot be the name of an app", ALLOWED))


def create(folder: Path, app: str) -> None:
    """Writes all files below `folder`, with $app filled in; ConfigurationError if there are files already."""
    from actorstream.errors import ConfigurationError, Problem

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        hint = "choose another name, or remove it first"
        raise ConfigurationError(
            Problem("new", f"{str(folder)!r} exists and is not empty", "a new folder", hint)
        )
    templates = resources.files("actorstream.cli") / "scaffold"
    for path, template in FILES.items():
        text = string.Template((templates / template).read_text(encoding="utf-8")).substitute(app=app)
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
