"""The key of a job: 32 secret bytes that only its workers know. Made once, kept in a file that only its owner can read."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from actorstream.errors import ConfigurationError, Problem

KEY_BYTES = 32
FILE = "job.key"
VARIABLE = "ACTORSTREAM_KEY"
"""The key as 64 hexadecimal digits, for containers, whose secrets are variables."""


def make_key(folder: Path) -> Path:
    """Writes a new key into `folder`, which is made if it is not there. ConfigurationError: it cannot be written, or there is
    one, which other hosts may already have."""
    path = folder / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        raise ConfigurationError(
            Problem(
                "keys",
                f"{str(path)!r} is there already",
                "a folder without a key",
                "remove it first to replace it",
            )
        ) from None
    except OSError as error:
        raise ConfigurationError(
            Problem("keys", f"{str(path)!r} cannot be written: {error.strerror}")
        ) from error
    with os.fdopen(file, "w") as out:
        out.write(secrets.token_hex(KEY_BYTES) + "\n")
        os.fchmod(out.fileno(), 0o600)  # whatever the umask is
    return path


def read_key(path: Path) -> bytes:
    """The key in a file. ConfigurationError: there is none, or others than its owner can read it."""
    where = "network.key"
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        with os.fdopen(file) as read:
            found = os.fstat(read.fileno())
            text = read.read(4096)
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        hint = f"actorstream keys {path.parent} makes one; copy it to every host"
        raise ConfigurationError(
            Problem(where, f"{str(path)!r} cannot be read: {reason}", "", hint)
        ) from error
    others = stat.S_IMODE(found.st_mode) & 0o077
    if others or found.st_uid not in (os.geteuid(), 0):
        raise ConfigurationError(
            Problem(
                where,
                f"{str(path)!r} has mode {stat.S_IMODE(found.st_mode):04o} and belongs to user {found.st_uid}",
                f"a file of user {os.geteuid()} that nobody else can read or write",
                f"chmod 600 {path}; if others may have read it, make a new key",
            )
        )
    return parse_key(text, f"{where} {str(path)!r}")


def parse_key(text: str, where: str) -> bytes:
    """The key behind 64 hexadecimal digits. ConfigurationError: it is none; its text is not shown."""
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ConfigurationError(
            Problem(
                where, "is no key", f"{2 * KEY_BYTES} hexadecimal digits", "actorstream keys DIR makes one"
            )
        )
    return key
