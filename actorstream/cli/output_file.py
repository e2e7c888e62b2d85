"""Files that a command writes because an option names them: looked at before anything runs, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def check_output(path: Path, option: str) -> None:
    """Makes the folder of a file that is to be written later. ConfigurationError: the file cannot be written there."""
    from actorstream.errors import ConfigurationError, Problem

    reason = "is a directory" if os.path.isdir(path) else ""  # noqa: PTH112 - False where it may not be looked at
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not reason and not _in_place(path):
            with _partial(path).open("w"):
                pass
            _partial(path).unlink()
    except OSError as error:
        reason = f"cannot be written: {error.strerror}"
    if reason:
        allowed = "a file in a folder that can be written"
        raise ConfigurationError(Problem(option, f"{str(path)!r} {reason}", allowed))


def write_output(path: Path, text: str, option: str) -> None:
    """Writes a file whole or not at all; a pipe or a device as it is. RunError: it cannot be written."""
    from actorstream.errors import RunError

    try:
        if _in_place(path):
            path.write_text(text)
            return
        partial = _partial(path)
        try:
            partial.write_text(text)
            partial.replace(os.path.realpath(path))
        except OSError:
            partial.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise RunError(f"{option}: {str(path)!r} cannot be written: {error.strerror}") from error


def _in_place(path: Path) -> bool:
    """Whether there is something that must not be replaced by a file: a pipe, a device, a descriptor."""
    return (path.exists() and not path.is_file()) or path.absolute().parts[1:2] in (("dev",), ("proc",))


def _partial(path: Path) -> Path:
    target = Path(os.path.realpath(path))  # Path.resolve raises on links in a circle
    return target.with_name(f".{target.name}.{os.getpid()}.tmp")
