"""Locks of a run: no second one may use its checkpoint folder or write its outputs meanwhile. Moves no data.

A lock is held by the launcher and by its workers, who inherit it or are handed it, and goes with the last of them, however
that ends. A folder is locked by a file in it (flock), which also other machines see on most network file systems. An output,
which may be in anybody's folder, and a store behind a URL are locked by name, on this machine only.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from actorstream.errors import ResourceError, RunError

if TYPE_CHECKING:
    from actorstream.plan.job import Job

DYING_S = 5.0
"""How long the workers of a launcher that was killed may take to be gone."""
AGAIN_S = 0.01
_CREDENTIALS = struct.Struct("3i")
_held: set[Any] = set()
"""The locks of all runs of this process."""


@contextmanager
def locked(job: Job, *, store: bool = True, outputs: bool = True) -> Iterator[list[Any]]:
    """Holds the locks of a run; gives the open files and sockets that are the locks. ResourceError: another run has one of
    them. RunError: the folder cannot be used.

    store, outputs: False: another process of the run locks the checkpoint folder, or outputs on this host."""
    held: list[Any] = []
    try:
        spec = job.deploy.checkpoint
        if spec is not None and store:
            _keep(_lock_store(spec.path), held)
        space = Path("/proc/self/ns/mnt").stat().st_ino  # elsewhere the same name is another file
        for name, path in _outputs(job).items() if outputs else ():
            hint = f"or write elsewhere: --set actors.{name}.path=FILE"
            what = f"the output {str(path)!r} of actor {name!r}"
            _keep(_taken(partial(_bind, f"{space}:{path}"), what, hint), held)
        yield held
    finally:
        for each in held:
            _held.discard(each)
            each.close()


def _keep(lock: Any, held: list[Any]) -> None:
    held.append(lock)
    _held.add(lock)


def release_others(own: Sequence[Any]) -> None:
    """In a forked worker: lets go of the locks of other runs of the program, which it would keep for as long as it lives."""
    for each in _held.difference(own):
        each.close()
    _held.intersection_update(own)


def _outputs(job: Job) -> dict[str, Path]:
    """Actor -> the file or folder that it writes, where there is one or will be."""
    found: dict[str, Path] = {}
    for name, actor in job.graph.actors.items():
        path = actor.keys.get("path") if hasattr(actor.cls, "files_written") else None
        if path is not None:
            real = Path(os.path.realpath(path))
            if (not real.exists() or real.is_file() or real.is_dir()) and real not in found.values():
                found[name] = real
    return found


def _lock_store(path: str) -> Any:
    what = f"the checkpoint folder {path!r}"
    hint = "or use another: --set deploy.checkpoint.path=FOLDER"
    if "://" in path:
        return _taken(partial(_bind, path), what, hint)
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        file = (Path(path) / ".lock").open("a+b")
    except OSError as error:
        raise RunError(f"checkpoints cannot be written to {path!r}: {error}") from error
    try:
        return _taken(partial(_flock, file), what, hint)
    except BaseException:
        file.close()
        raise


def _flock(file: Any) -> Any:
    """The file, locked; or who has it locked: its pid, 0 if that is not known."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        host, _, pid = file.read().decode("utf-8", "replace").strip().rpartition(" ")
        return int(pid) if host == os.uname().nodename and pid.isdigit() else 0
    file.truncate(0)
    file.write(f"{os.uname().nodename} {os.getpid()}\n".encode())
    file.flush()
    return file


def _bind(key: str) -> Any:
    """A socket whose name nobody else has while it is open; or the pid of who has it, 0 if that is not known."""
    name = (
        b"\0actorstream-"
        + hashlib.blake2b(key.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest().encode()
    )
    own = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        own.bind(name)
        own.listen(8)
        return own
    except OSError:
        own.close()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as ask, suppress(OSError):
        ask.setblocking(False)
        ask.connect(name)
        data = ask.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        return int(_CREDENTIALS.unpack(data)[0])
    return 0


def _taken(take: Callable[[], Any], what: str, hint: str) -> Any:
    """The lock. A launcher that is dead has it for as long as its workers take to end, too."""
    until = monotonic() + DYING_S
    while True:
        found = take()
        if not isinstance(found, int):
            return found
        if (found and _is_alive(found)) or monotonic() > until:
            break
        sleep(AGAIN_S)
    who = f"process {found}" if found else "another process"
    raise ResourceError(f"{what} is in use by another run ({who}); wait until it has ended, {hint}")


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
