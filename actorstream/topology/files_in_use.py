"""Files that a topology both reads and writes, or writes twice, by the file itself, whatever names lead to it; and outputs
that are directories. Opens none."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actorstream.errors import Problem
    from actorstream.topology.graph import GraphActor
    from actorstream.topology.written import Written


def check_files(actors: Mapping[str, GraphActor], written: Written) -> Iterator[tuple[str, Problem]]:
    """Yields an actor's name and a problem for each output that is a directory, or a file which an actor reads or another
    actor writes. An actor says by the class methods `files_read(keys)` and `files_written(keys, replicas)` what it uses, a
    folder with a slash at its end; several actors may use one pipe or device."""
    used: dict[Any, tuple[str, str]] = {}
    for name, actor in actors.items():
        for path in _asked(actor, "files_read", actor.keys):
            used[_identity(path)] = name, "reads"
    for name, actor in actors.items():
        for path in _asked(actor, "files_written", actor.keys, actor.replicas):
            alone = not path.endswith("/") and not actor.auto  # a plan may still make a folder of parts of it
            if alone and os.path.isdir(path):  # noqa: PTH112 - False where it may not be looked at
                hint = "set `replicas` for a folder of parts" if actor.replicas == 1 else ""
                message = f"{path!r} is a directory"
                yield name, written.problem(("actors", name, "path"), message, "the name of a file", hint)
                break
            found = used.setdefault(_identity(path), (name, "writes"))
            if found != (name, "writes") and _is_file(path):
                message = f"{path!r} is a file that {found[0]!r} {found[1]}"
                key = ("actors", name, "path")
                yield name, written.problem(key, message, "a file that no other actor reads or writes")
                break


def _asked(actor: GraphActor, hook: str, *arguments: Any) -> list[str]:
    method = getattr(actor.cls, hook, None)
    return [] if method is None else method(*arguments)


def _identity(path: str) -> Any:
    """The same for all names of one file, also of one that is not there yet."""
    try:
        found = Path(path).stat()
    except OSError:
        return os.path.realpath(path)
    return found.st_dev, found.st_ino


def _is_file(path: str) -> bool:
    """Whether it is a file, or will be one."""
    try:
        return stat.S_ISREG(Path(path).stat().st_mode)
    except OSError:
        return True
