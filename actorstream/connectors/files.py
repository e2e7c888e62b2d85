"""Files: which files a `path` means, in which order. Looks at names only, never inside."""

from __future__ import annotations

import glob
import os
import stat
from pathlib import Path

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.suggestions import did_you_mean

_PATTERN = frozenset("*?[")
_ENDLESS = {(1, 5), (1, 7), (1, 8), (1, 9)}
"""Numbers of the devices zero, full, random and urandom."""


def list_files(path: str | Path, where: str = "path") -> list[str]:
    """The files that `path` means, in name order: a file itself, the files of a directory, or those a glob
    matches.

    Files whose name starts with "." or "_" are passed over in directories (temporary files, marks of other
    tools). ConfigurationError with the nearest name if there is none, or they cannot be looked at; `where` is the key it names.
    """
    try:
        return _listed(str(path), where)
    except OSError as error:
        why = f"{str(error.filename or path)!r} cannot be read: {error.strerror}"
        allowed = "a file, a directory, or a glob that this user may read"
        raise ConfigurationError(Problem(where, why, allowed)) from error


def _listed(text: str, where: str) -> list[str]:
    given = Path(text)
    if given.is_dir():
        found = [
            entry for entry in given.iterdir() if entry.is_file() and not entry.name.startswith((".", "_"))
        ]
        if not found:
            raise ConfigurationError(
                Problem(where, f"the directory {text!r} has no files", "a directory with at least one file")
            )
        return sorted(str(entry) for entry in found)
    if given.exists():
        return [text]
    if _PATTERN & set(text):
        paths = glob.glob(text, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute patterns
        matched = sorted(each for each in paths if Path(each).is_file())
        if not matched:
            raise ConfigurationError(
                Problem(
                    where, f"no file matches {text!r}", "a file, a directory, or a glob that matches a file"
                )
            )
        return matched
    raise ConfigurationError(
        Problem(where, f"{text!r} does not exist", "a file, a directory, or a glob", _nearest_file(given))
    )


def is_stream(path: str | Path) -> bool:
    """Whether a path is no file but a pipe, a device or a socket, which can be read once and only forwards."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def stream_problem(path: str, where: str = "path") -> Problem | None:
    """The problem of a stream that no source can read to its end; None: it may have one."""
    found = Path(path).stat()
    if stat.S_ISCHR(found.st_mode) and (os.major(found.st_rdev), os.minor(found.st_rdev)) in _ENDLESS:
        return Problem(
            where, f"{path!r} is a device without an end", "a file, a directory, a glob, or a pipe"
        )
    return None


def _nearest_file(missing: Path) -> str:
    """A hint at what the user may have meant: the nearest existing name where the path goes astray."""
    astray = missing
    while not astray.parent.exists() and astray.parent != astray:
        astray = astray.parent
    try:
        names = [entry.name for entry in astray.parent.iterdir()]
    except OSError:
        return ""
    hint = did_you_mean(astray.name, names)
    if not hint and astray != missing:
        return f"the directory {str(astray)!r} does not exist"
    return hint


def total_bytes(files: list[str]) -> int:
    """Bytes of the files as they lie on disk."""
    return sum(Path(each).stat().st_size for each in files)
