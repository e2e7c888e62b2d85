"""Where each part of a topology or deployment was written, for problems to name file and line. No values."""

from __future__ import annotations

from pathlib import Path, PurePath

import msgspec

from actorstream.errors import Problem
from actorstream.topology.positions import Path as KeyPath
from actorstream.topology.positions import Positions


def dotted(path: KeyPath) -> str:
    """A key path as messages show it: ``actors.count.inputs[0].key``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


class Written(msgspec.Struct):
    """File and line by key path. Keys given with --set and actors made in Python have places of their own."""

    file: str = ""
    """As the user wrote it, for messages."""
    folder: Path = msgspec.field(default_factory=Path.cwd)
    """What relative paths in the file refer to."""
    positions: Positions = msgspec.field(default_factory=Positions)
    overrides: dict[KeyPath, str] = {}
    """Key path -> what gave it instead of the file: ``--set actors.split.replicas=2``."""
    places: dict[KeyPath, tuple[str, int]] = {}
    """Key path -> (file, line) of Python code that gave it."""

    def at(self, path: KeyPath) -> tuple[str, int]:
        """File and line of the key, or of the nearest ancestor that was written; line 0: unknown."""
        override = self._override(path)
        if override:
            return override, 0
        for length in range(len(path), 0, -1):
            place = self.places.get(path[:length])
            if place:
                return place
        return self.file, self.positions.line(path)

    def base(self, path: KeyPath) -> Path:
        """The folder that relative paths at this key start from: the current one for --set, or the file's."""
        return Path.cwd() if self._override(path) else self.folder

    def base_within(self, path: KeyPath) -> Path | PartBase:
        """As `base`, for a value that has parts: --set may have given some of them."""
        parted = any(len(each) > len(path) and each[: len(path)] == path for each in self.overrides)
        return PartBase(self, path) if parted else self.base(path)

    def problem(self, path: KeyPath, message: str, allowed: str = "", hint: str = "") -> Problem:
        file, line = self.at(path)
        return Problem(dotted(path) or "topology", message, allowed, hint, file, line)

    def _override(self, path: KeyPath) -> str:
        for length in range(len(path), 0, -1):
            if path[:length] in self.overrides:
                return self.overrides[path[:length]]
        return ""


class PartBase(msgspec.Struct, frozen=True):
    """The folders from which relative paths start in a value of which --set has given only parts: each part has its own."""

    written: Written
    path: KeyPath
    """Of the part that is looked at."""

    def inside(self, step: str | int) -> PartBase:
        """The base of a part of this part."""
        return PartBase(self.written, (*self.path, step))

    def __truediv__(self, relative: str | PurePath) -> Path:
        return self.written.base(self.path) / relative
