"""CheckpointStore: checkpoints in a folder or behind an fsspec URL, each whole or not there. Knows nothing of what they
say."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any, Protocol

import msgspec

from actorstream.checkpoint.checkpoint import Checkpoint
from actorstream.errors import NotInstalledError, RunError

KEPT = 2
"""Checkpoints that stay: the last, and the one before it."""
_MAGIC = b"actorstream checkpoint 1\n"
_DIGEST = 16
_NAME = re.compile(r"^checkpoint-(\d{12})$")


class Folder(Protocol):
    """Where a store keeps its files. `write` leaves the whole file, safe from a power failure, or none of that name."""

    def names(self) -> list[str]: ...
    def read(self, name: str) -> bytes: ...
    def write(self, name: str, data: bytes) -> None: ...
    def remove(self, name: str) -> None: ...


class CheckpointStore:
    """The checkpoints of one run, and of those that go on from it.

    Args:
        path: a directory, which is made, or an fsspec URL ("s3://bucket/folder").

    Raises:
        NotInstalledError: a URL without fsspec.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._folder: Folder = _RemoteFolder(path) if "://" in path else _LocalFolder(Path(path))

    def write(self, checkpoint: Checkpoint) -> None:
        """Keeps a checkpoint, then forgets those that are older than the last two. RunError: it cannot be written."""
        body = msgspec.msgpack.encode(checkpoint)
        digest = hashlib.blake2b(body, digest_size=_DIGEST).digest()
        try:
            self._folder.write(f"checkpoint-{checkpoint.number:012d}", _MAGIC + digest + body)
            for number in self._numbers()[:-KEPT]:
                self._folder.remove(f"checkpoint-{number:012d}")
        except OSError as error:
            raise RunError(
                f"checkpoint {checkpoint.number} cannot be written to {self.path!r}: {error}"
            ) from error

    def latest(self) -> Checkpoint | None:
        """The checkpoint with the greatest number; None: there is none. RunError: it is damaged or cannot be read."""
        numbers = self._numbers()
        if not numbers:
            return None
        name = f"checkpoint-{numbers[-1]:012d}"
        data = self._folder.read(name)
        start = len(_MAGIC) + _DIGEST
        digest = hashlib.blake2b(memoryview(data)[start:], digest_size=_DIGEST).digest()
        if data[:start] != _MAGIC + digest:
            raise RunError(
                f"checkpoint {name!r} in {self.path!r} is damaged, or of another version; remove it to go on from the "
                "one before it"
            )
        return msgspec.msgpack.decode(memoryview(data)[start:], type=Checkpoint)

    def last(self) -> int | None:
        """The number of the latest checkpoint; None: there is none."""
        return max(self._numbers(), default=None)

    def _numbers(self) -> list[int]:
        return sorted(int(matched[1]) for name in self._folder.names() if (matched := _NAME.match(name)))


class _LocalFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        return [path.name for path in self.path.iterdir()] if self.path.is_dir() else []

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def write(self, name: str, data: bytes) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        partial = self.path / f".{name}.tmp"
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(self.path / name)
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)


class _RemoteFolder:
    def __init__(self, url: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise NotInstalledError(f"a checkpoint store at {url!r}", "remote") from None
        found: tuple[Any, str] = url_to_fs(url)
        self.files, self.root = found

    def names(self) -> list[str]:
        if not self.files.isdir(self.root):
            return []
        return [path.rsplit("/", 1)[-1] for path in self.files.ls(self.root, detail=False)]

    def read(self, name: str) -> bytes:
        data: bytes = self.files.cat_file(f"{self.root}/{name}")
        return data

    def write(self, name: str, data: bytes) -> None:
        # object stores show a file only when it is whole; the digest tells where one does not
        self.files.makedirs(self.root, exist_ok=True)
        self.files.pipe_file(f"{self.root}/{name}", data)
        self.files.invalidate_cache(self.root)

    def remove(self, name: str) -> None:
        self.files.rm_file(f"{self.root}/{name}")
