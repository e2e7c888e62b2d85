"""CheckpointStore keeps checkpoints in a folder or behind an fsspec URL. A checkpoint is there as a whole or not at all. The
store does not read what a checkpoint says."""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from actorstream.checkpoint.checkpoint import Checkpoint, ReplicaState, StateFile
from actorstream.errors import ConfigurationError, NotInstalledError, Problem, RunError

KEPT = 2
"""Checkpoints that stay: the last, and the one before it."""
_MAGIC = b"actorstream checkpoint 3\n"
_DIGEST = 16
_NAME = re.compile(r"^checkpoint-(\d{12})$")
_STATE = re.compile(r"^state-(\d{12})-\d+$")
_MARK = "run"
_BEGUN = "begun"
"""The file with the number of the last checkpoint that was there when a run began anew."""
_LENGTH = struct.Struct("<Q")
Bytes = bytes | memoryview
LARGE = 1 << 16
"""Bytes of a state from which on it has a file of its own."""


class Folder(Protocol):
    """Where a store keeps its files. `write` leaves the whole file, safe from a power failure, or none of that name."""

    def names(self) -> list[str]: ...
    def read(self, name: str) -> Bytes: ...
    def write(self, name: str, pieces: Sequence[Bytes]) -> None: ...
    def remove(self, name: str) -> None: ...


class CheckpointStore:
    """The checkpoints of one run, and of those that go on from it.

    Args:
        path: a directory, which is made, or an fsspec URL ("s3://bucket/folder").

    Raises:
        NotInstalledError: a URL without fsspec.
        ConfigurationError: a URL whose protocol nobody knows, or whose package is not installed.
        RunError: a URL whose store cannot be reached.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._folder: Folder = _RemoteFolder(path) if "://" in path else _LocalFolder(Path(path))

    def write(self, checkpoint: Checkpoint) -> None:
        """Keeps a checkpoint, then removes those that are older than the last two, as far as they can be removed. RunError:
        the checkpoint cannot be written."""
        body = msgspec.msgpack.encode(checkpoint)
        digest = hashlib.blake2b(body, digest_size=_DIGEST).digest()
        try:
            self._folder.write(f"checkpoint-{checkpoint.number:012d}", [_MAGIC, digest, body])
        except OSError as error:
            raise RunError(
                f"checkpoint {checkpoint.number} cannot be written to {self.path!r}: {error.strerror or error}"
            ) from error
        with suppress(OSError):
            self._forget(checkpoint.number)

    def latest(self) -> Checkpoint | None:
        """Returns the checkpoint with the greatest number, or None if there is none since a run began anew. RunError: the
        checkpoint is damaged or cannot be read."""
        name = ""
        try:
            numbers = self._numbers()
            if not numbers or numbers[-1] <= self._begun():
                return None
            name = f"checkpoint-{numbers[-1]:012d}"
            data = self._folder.read(name)
        except OSError as error:
            raise RunError(
                f"checkpoint {name!r} in {self.path!r} cannot be read: {error.strerror or error}"
                if name
                else f"checkpoints in {self.path!r} cannot be read: {error.strerror or error}"
            ) from error
        start = len(_MAGIC) + _DIGEST
        digest = hashlib.blake2b(memoryview(data)[start:], digest_size=_DIGEST).digest()
        if data[:start] != _MAGIC + digest:
            raise RunError(
                f"checkpoint {name!r} in {self.path!r} is damaged, or of another version; remove it to go on from the "
                "one before it"
            )
        found = msgspec.msgpack.decode(memoryview(data)[start:], type=Checkpoint)
        placed = [
            each if each.file is None else replace(each, file=replace(each.file, store=self.path))
            for each in found.replicas
        ]
        return replace(found, replicas=tuple(placed))

    def write_state(self, number: int, replica: int, pieces: Sequence[Bytes]) -> StateFile:
        """Keeps a large state of checkpoint `number`; the checkpoint itself is written once all its states are safe. Any
        thread and any process may call this. RunError: the state cannot be written."""
        name = f"state-{number:012d}-{replica}"
        digest = hashlib.blake2b(digest_size=_DIGEST)
        for piece in pieces:
            digest.update(piece)
        try:
            self._folder.write(name, pieces)
        except OSError as error:
            raise RunError(f"checkpoint {number} cannot be written to {self.path!r}: {error}") from error
        return StateFile(name, sum(len(piece) for piece in pieces), digest.digest())

    def read_state(self, file: StateFile) -> Bytes:
        """Returns the bytes of a state. RunError: the state is damaged or cannot be read."""
        try:
            data = self._folder.read(file.name)
        except OSError as error:
            raise RunError(f"the state {file.name!r} in {self.path!r} cannot be read: {error}") from error
        if len(data) != file.nbytes or hashlib.blake2b(data, digest_size=_DIGEST).digest() != file.digest:
            raise RunError(
                f"the state {file.name!r} in {self.path!r} is damaged; remove the last checkpoint to go on from the one before"
            )
        return data

    def _forget(self, last: int) -> None:
        """Removes checkpoints that are older than the last two, and states that belong to no checkpoint any more."""
        numbers = self._numbers()
        kept = numbers[-KEPT:]
        for number in numbers[:-KEPT]:
            self._folder.remove(f"checkpoint-{number:012d}")
        for name in self._folder.names():
            matched = _STATE.match(name)
            if matched and int(matched[1]) < last and int(matched[1]) not in kept:
                self._folder.remove(name)

    def last(self) -> int | None:
        """Returns the number of the latest checkpoint, or None if there is none. RunError: the store cannot be read."""
        try:
            return max(self._numbers(), default=None)
        except OSError as error:
            raise RunError(
                f"checkpoints in {self.path!r} cannot be read: {error.strerror or error}"
            ) from error

    def begin(self) -> None:
        """Notes that a run begins anew: no run goes on from the checkpoints that are there, whose inputs and outputs may be
        others by now. They go when the run has made two of its own. RunError: the store cannot be read or written."""
        last = self.last()
        if last is not None:
            self._note(_BEGUN, b"%d" % last)

    def _begun(self) -> int:
        """The number up to which checkpoints are of runs before the one that began anew; 0: there was none."""
        if _BEGUN not in self._folder.names():
            return 0
        return int(bytes(self._folder.read(_BEGUN)))

    def mark(self, proof: bytes) -> None:
        """Leaves the mark of a run, so that processes on other hosts can see that their store is this one. RunError: it cannot
        be written."""
        self._note(_MARK, proof)

    def _note(self, name: str, text: bytes) -> None:
        try:
            self._folder.write(name, [text])
        except OSError as error:
            raise RunError(
                f"checkpoints cannot be written to {self.path!r}: {error.strerror or error}"
            ) from error

    def marked(self) -> bytes:
        """Returns the mark of the run that uses this store; nothing if there is none."""
        try:
            return bytes(self._folder.read(_MARK))
        except OSError:
            return b""

    def _numbers(self) -> list[int]:
        return sorted(int(matched[1]) for name in self._folder.names() if (matched := _NAME.match(name)))


def pieces_of(values: dict[str, Any]) -> list[Bytes]:
    """Returns what a replica keeps as the pieces of a file. A state that is bytes already becomes a piece of its own, because
    msgpack takes at most 4 GiB and would copy the bytes once more."""
    state = values["state"]
    if isinstance(state, (bytes, bytearray, memoryview)) and len(state) >= LARGE:
        first = msgspec.msgpack.encode({**values, "state": None})
        # a bytearray may change before it is written, so the file gets a copy; bytes are not copied
        return [_LENGTH.pack(len(first)), first, bytes(state)]
    first = msgspec.msgpack.encode(values)
    return [_LENGTH.pack(len(first)), first]


def values_of(replica: ReplicaState) -> dict[str, Any]:
    """Returns what `pieces_of` was given, wherever it is kept. RunError: the file is damaged."""
    if replica.file is None:
        found: dict[str, Any] = msgspec.msgpack.decode(replica.state, strict=False)
        return found
    data = memoryview(CheckpointStore(replica.file.store).read_state(replica.file))
    (length,) = _LENGTH.unpack_from(data)
    found = msgspec.msgpack.decode(data[_LENGTH.size : _LENGTH.size + length], strict=False)
    rest = data[_LENGTH.size + length :]
    if rest:
        found["state"] = bytes(rest)
    return found


class _LocalFolder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def names(self) -> list[str]:
        if not self.path.is_dir():
            return []
        return [path.name for path in self.path.iterdir() if not path.is_dir()]

    def read(self, name: str) -> Bytes:
        with (self.path / name).open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return b""
            return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def write(self, name: str, pieces: Sequence[Bytes]) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        partial = self.path / f".{name}.tmp"
        with partial.open("wb", buffering=0) as file:
            for piece in pieces:
                rest = memoryview(piece)
                while rest:
                    rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        partial.replace(self.path / name)
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)


@contextmanager
def _only_os_errors() -> Iterator[None]:
    """Turns what the package of a remote store raises into an OSError, as which `CheckpointStore` knows it."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        raise OSError(f"{type(error).__name__}: {error}") from error


class _RemoteFolder:
    def __init__(self, url: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise NotInstalledError(f"a checkpoint store at {url!r}", "remote") from None
        try:
            found: tuple[Any, str] = url_to_fs(url)
        except (ImportError, ValueError) as error:  # ValueError: no package says that it knows the protocol
            raise ConfigurationError(
                Problem(
                    "checkpoint.path",
                    f"{url!r} cannot be opened: {error}",
                    'a directory, or an fsspec URL such as "s3://bucket/run" whose own package is installed (s3fs)',
                )
            ) from None
        except Exception as error:  # of a package that connects at once
            raise RunError(
                f"checkpoints in {url!r} cannot be read: {type(error).__name__}: {error}"
            ) from error
        self.files, self.root = found

    @_only_os_errors()
    def names(self) -> list[str]:
        if not self.files.isdir(self.root):
            return []
        return [path.rsplit("/", 1)[-1] for path in self.files.ls(self.root, detail=False)]

    @_only_os_errors()
    def read(self, name: str) -> bytes:
        data: bytes = self.files.cat_file(f"{self.root}/{name}")
        return data

    @_only_os_errors()
    def write(self, name: str, pieces: Sequence[Bytes]) -> None:
        # most object stores show a file only when it is whole; where one does not, the digest is wrong
        self.files.makedirs(self.root, exist_ok=True)
        with self.files.open(f"{self.root}/{name}", "wb") as file:
            for piece in pieces:
                file.write(piece)
        self.files.invalidate_cache(self.root)

    @_only_os_errors()
    def remove(self, name: str) -> None:
        self.files.rm_file(f"{self.root}/{name}")
