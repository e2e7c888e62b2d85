"""Finding the user's code: the project root of a topology, and "package.module:name". Decides nothing."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from actorstream.topology.suggestions import did_you_mean, listed


class NotFoundError(Exception):
    """A name "package.module:attribute" leads nowhere; `allowed` and `hint` are for a Problem."""

    def __init__(self, message: str, allowed: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message, self.allowed, self.hint = message, allowed, hint


def project_root(file: Path) -> Path:
    """The nearest folder above `file` that has a pyproject.toml, else the folder of `file`."""
    folder = file.resolve().parent
    for candidate in (folder, *folder.parents):
        if (candidate / "pyproject.toml").is_file():
            return candidate
    return folder


def use_modules_of(root: Path) -> None:
    """Makes modules importable from `root`, then from the current directory (sys.path, once each)."""
    for folder in (str(Path.cwd()), str(root)):
        if folder not in sys.path:
            sys.path.insert(0, folder)


def load_object(name: str, *, noun: str = "object") -> Any:
    """What "package.module:attribute" names; NotFoundError says what is missing, and what is near."""
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise NotFoundError(f"{name!r} names no {noun}", '"package.module:Name"')
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise NotFoundError(
                f"module {module_name!r} imports {error.name!r}, which is not installed"
            ) from error
        raise NotFoundError(
            f"module {module_name!r} is not found",
            hint="modules are looked up from the topology's project root (the nearest folder above it with a "
            f"pyproject.toml) and the current directory{_sibling_hint(module_name)}",
        ) from error
    except Exception as error:  # the user's module may raise anything
        raise NotFoundError(
            f"module {module_name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = [each for each in vars(found) if not each.startswith("_")]
            own = [each for each in public if getattr(vars(found)[each], "__module__", None) == module_name]
            raise NotFoundError(
                f"{module_name!r} has no {attribute!r}", listed(own or public), did_you_mean(part, public)
            )
        found = getattr(found, part)
    return found


def qualified(found: Any) -> str:
    """ "package.module:Name" of a class or function; what `load_object` reads back."""
    return f"{found.__module__}:{found.__qualname__}"


def _sibling_hint(module_name: str) -> str:
    """The nearest module beside the one that is missing, as far as its parent package is there."""
    parent, _, last = module_name.rpartition(".")
    folders: list[str] = list(sys.path)
    if parent:
        try:
            spec = importlib.util.find_spec(parent)
        except (ImportError, ValueError):
            return ""
        folders = list(spec.submodule_search_locations or []) if spec else []
    names: set[str] = set()
    for folder in folders if parent else folders[:2]:
        if Path(folder or ".").is_dir():
            names |= {entry.stem for entry in Path(folder or ".").glob("*.py")}
            names |= {entry.parent.name for entry in Path(folder or ".").glob("*/__init__.py")}
    hint = did_you_mean(last, sorted(names))
    return f"; {hint}" if hint else ""
