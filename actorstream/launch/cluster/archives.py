"""Archives that executors are sent: the package with all that it needs, and the folder of a project."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import actorstream
from actorstream.errors import ConfigurationError, Problem

NAME = "actorstream"
EXTRAS = ("zmq",)
"""Of the package; the workers talk by it."""
MOST_BYTES = 256 << 20
_REQUIRED = re.compile(r"([\w.-]+)[^;]*(?:;.*extra *== *['\"](\w+)['\"])?")
_SKIPPED = {"__pycache__", "build", "node_modules"}


def write_environment(path: Path) -> None:
    """Writes this package, its compiled core and the distributions that it needs, as they are installed here."""
    package = Path(actorstream.__file__).parent
    with tarfile.open(path, "w") as archive:
        archive.add(package, NAME, filter=_without_caches)
        for name, text in _metadata().items():
            info = tarfile.TarInfo(f"{NAME}-{actorstream.__version__}.dist-info/{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
        for each in required():
            for file in each.files or ():
                found = Path(str(each.locate_file(file)))
                if ".." not in file.parts and "__pycache__" not in file.parts and found.is_file():
                    archive.add(found, str(file))


def write_project(folder: Path, path: Path) -> None:
    """Writes a folder, but for what is hidden or a cache. ConfigurationError: it is larger than `MOST_BYTES`."""
    size = 0
    with tarfile.open(path, "w") as archive:
        for file in sorted(_files(folder)):
            size += file.stat().st_size
            if size > MOST_BYTES:
                what = f"is in {str(folder)!r}, which executors do not see and which has more than {MOST_BYTES >> 20} MB"
                hint = "put it on storage that all executors share"
                raise ConfigurationError(Problem("topology", what, "a smaller folder", hint))
            archive.add(file, str(file.relative_to(folder)))


def required() -> list[Distribution]:
    """The distributions that this package needs, directly or not."""
    found: dict[str, Distribution] = {}
    waiting: list[tuple[str, tuple[str, ...]]] = [(NAME, EXTRAS)]
    while waiting:
        name, extras = waiting.pop()
        for text in distribution(name).requires or ():
            match = _REQUIRED.match(text)
            if match is None or (match[2] is not None and match[2] not in extras):
                continue
            key = re.sub(r"[-_.]+", "-", match[1]).lower()
            if key == NAME or key in found:
                continue
            try:
                found[key] = distribution(match[1])
            except PackageNotFoundError:
                continue  # of an extra that is not installed, or another platform's
            waiting.append((match[1], ()))
    return [found[name] for name in sorted(found)]


def _metadata() -> dict[str, bytes]:
    """Of this package: its name and its entry points, by which transports and actors are found."""
    own = distribution(NAME)
    about = own.read_text("METADATA") or own.read_text("PKG-INFO") or ""
    return {
        "METADATA": about.encode(),
        "entry_points.txt": (own.read_text("entry_points.txt") or "").encode(),
    }


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name in _SKIPPED or path.is_symlink():
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path


def _without_caches(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "__pycache__" in Path(info.name).parts else info
