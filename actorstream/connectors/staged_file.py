"""Staged files: a file is written under a temporary name and appears under its final one whole, or not at
all.

Works on names and bytes; what is in the file is its writer's business.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path
from typing import Any

from actorstream.errors import RunError

_TEMPORARY = re.compile(
    r"^\.(?P<final>.+)\.(?P<host>[^.]*)-(?P<pid>\d+)-(?P<start>\d+)-(?P<key>[0-9a-f]{12})\.tmp$"
)


class StagedFile:
    """One file on its way to `final`.

    Its temporary name lies in the same folder and says which process writes it, so that the files of dead
    processes can be told (`clean_up`), and carries a key, by which a token finds it again in another process.
    """

    def __init__(self, final: str | Path) -> None:
        self.final = Path(final)
        self.key = secrets.token_hex(6)
        self.path = self.final.parent / temporary_name(self.final.name, self.key)
        self.file: Any = None

    def open(self) -> None:
        """Makes the file, in a folder that exists. RunError if it cannot be written."""
        try:
            self.file = self.path.open("xb", buffering=0)
            if (
                self.final.is_file()
            ):  # who may read the file that this one replaces, may read this one, and nobody else
                os.fchmod(self.file.fileno(), stat.S_IMODE(self.final.stat().st_mode))
        except OSError as error:
            raise RunError(f"{str(self.final)!r} cannot be written: {error.strerror}") from error

    def write(self, data: bytes | memoryview) -> None:
        """Appends bytes. RunError if the disk refuses them."""
        rest = memoryview(data).cast("B")
        try:
            while rest:
                rest = rest[self.file.write(rest) :]
        except OSError as error:
            raise RunError(f"{str(self.final)!r} cannot be written: {error.strerror}") from error

    def reopen(self, token: dict[str, Any]) -> None:
        """Goes on with the file of `token`, cut to the bytes that were safe then; it becomes this
        process's own."""
        self.final, self.key = Path(token["final"]), token["key"]
        found = find(self.final, self.key)
        if found is None or found.stat().st_size < token["bytes"]:
            raise RunError(
                f"what was written of {str(self.final)!r} before the failure is gone; start without it"
            )
        self.path = self.final.parent / temporary_name(self.final.name, self.key)
        found.rename(self.path)
        self.file = self.path.open("r+b", buffering=0)
        self.file.truncate(token["bytes"])
        self.file.seek(0, os.SEEK_END)

    def secure(self) -> dict[str, Any]:
        """Forces what was written onto the disk; a token for `publish`, `discard` and `reopen`."""
        os.fsync(self.file.fileno())
        return {"final": str(self.final), "key": self.key, "bytes": self.size()}

    def size(self) -> int:
        """Bytes written so far."""
        return os.fstat(self.file.fileno()).st_size

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None

    def drop(self) -> None:
        """Closes and removes the temporary file."""
        self.close()
        self.path.unlink(missing_ok=True)


def publish(token: dict[str, Any]) -> None:
    """Gives the file of `token` its final name. Idempotent; RunError if it is neither there nor published."""
    final = Path(token["final"])
    found = find(final, token["key"])
    if found is not None:
        found.replace(final)
        sync_folder(final.parent)
    elif not final.is_file() or final.stat().st_size != token["bytes"]:
        raise RunError(f"{str(final)!r} cannot be committed: its temporary file is gone; run again")


def discard(token: dict[str, Any]) -> None:
    """Removes the temporary file of `token`, if it is still there. Idempotent; never touches the final
    file."""
    found = find(Path(token["final"]), token["key"])
    if found is not None:
        found.unlink(missing_ok=True)


def find(final: Path, key: str) -> Path | None:
    """The temporary file for `final` with this key, whoever wrote it."""
    if not final.parent.is_dir():
        return None
    for entry in final.parent.iterdir():
        matched = _TEMPORARY.match(entry.name)
        if matched and matched["final"] == final.name and matched["key"] == key:
            return entry
    return None


def clean_up(final: Path) -> list[Path]:
    """Removes temporary files for `final` whose processes on this host have ended; which they were."""
    removed: list[Path] = []
    if not final.parent.is_dir():
        return removed
    for entry in final.parent.iterdir():
        matched = _TEMPORARY.match(entry.name)
        if not matched or matched["final"] != final.name or matched["host"] != _host():
            continue
        if _process_start(int(matched["pid"])) != int(matched["start"]):
            entry.unlink(missing_ok=True)
            removed.append(entry)
    return removed


def temporary_name(final: str, key: str) -> str:
    """Of a file that will be called `final`: host, process and its start tell who writes it, and whether he lives."""
    pid = os.getpid()
    return f".{final}.{_host()}-{pid}-{_process_start(pid)}-{key}.tmp"


def make_folder(folder: Path) -> None:
    """Makes `folder` and those above it; RunError says which part is in the way."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        blocking = next((each for each in (folder, *folder.parents) if each.exists()), folder)
        why = "a file of that name is there" if blocking.is_file() else error.strerror
        raise RunError(f"the folder {str(folder)!r} cannot be made: {why} ({blocking})") from error


def sync_folder(folder: Path) -> None:
    """Makes a change of names in `folder` survive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", os.uname().nodename)


def _process_start(pid: int) -> int:
    """When the process started, in clock ticks since boot; 0 if there is none (a pid can be used again),
    or if it has ended and was not waited for yet."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in "ZX" else int(fields[19])
