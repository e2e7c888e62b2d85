"""Where a system listens, as text: "unix:/path", "unix:@abstract", "tcp:host:port"; and the sockets for it."""

from __future__ import annotations

import os
import socket
import stat
import struct
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from actorstream.errors import BrokenError, ConfigurationError, Problem

BACKLOG = 128
UNIX_PATH_BYTES = 107


class Address(msgspec.Struct, frozen=True):
    """family: "unix" or "tcp". For unix `host` is the path, beginning with "@" in the abstract namespace."""

    family: str
    host: str
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> Address:
        family, _, rest = text.partition(":")
        if family == "unix" and rest and rest != "@" and len(os.fsencode(rest)) <= UNIX_PATH_BYTES:
            return cls("unix", rest)
        host, _, port = rest.rpartition(":")
        if family == "tcp" and host and port.isdigit() and int(port) <= 65535:
            return cls("tcp", host.strip("[]"), int(port))
        raise ConfigurationError(
            Problem(
                "address",
                f"is {text!r}",
                f"unix:/path or unix:@name (at most {UNIX_PATH_BYTES} bytes), tcp:host:port (port 0: any free one)",
            )
        )

    def __str__(self) -> str:
        if self.family == "unix":
            return f"unix:{self.host}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"tcp:{host}:{self.port}"

    @property
    def unix_path(self) -> str:
        """As the socket calls take it."""
        return "\0" + self.host[1:] if self.host.startswith("@") else self.host


def listening_socket(address: Address) -> tuple[socket.socket, Address]:
    """A socket that listens, and its real address. A socket file that nobody listens on any more is replaced."""
    try:
        if address.family == "unix":
            return _listen_unix(address), address
        sock = _listen_tcp(address)
        sock.setblocking(False)
        return sock, Address("tcp", address.host, sock.getsockname()[1])
    except OSError as error:
        raise BrokenError(
            f"cannot listen on {address}: {error.strerror or error}; choose another address"
        ) from error


def _listen_tcp(address: Address) -> socket.socket:
    """Listens at the IPv4 address of a name, or at its IPv6 address if it has no other."""
    place = address.host, address.port
    if ":" in address.host:
        return socket.create_server(place, family=socket.AF_INET6, backlog=BACKLOG)
    try:
        return socket.create_server(place, family=socket.AF_INET, backlog=BACKLOG)
    except socket.gaierror as unknown:
        try:
            return socket.create_server(place, family=socket.AF_INET6, backlog=BACKLOG)
        except OSError:
            raise unknown from None


def _listen_unix(address: Address) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        if address.host.startswith("@"):
            sock.bind(address.unix_path)
            sock.listen(BACKLOG)
        else:
            _listen_at(sock, Path(address.host))
        sock.setblocking(False)
    except BaseException:
        sock.close()
        raise
    return sock


def _listen_at(sock: socket.socket, path: Path) -> None:
    """The file appears only when the socket listens, so that whoever sees it can connect; it replaces no other file."""
    _remove_stale(path)
    with tempfile.TemporaryDirectory(prefix="actorstream-", dir=path.parent) as folder:
        hidden = Path(folder) / "s"
        if len(os.fsencode(hidden)) > UNIX_PATH_BYTES:
            sock.bind(str(path))
            path.chmod(0o600)
            sock.listen(BACKLOG)
            return
        sock.bind(str(hidden))
        hidden.chmod(0o600)
        sock.listen(BACKLOG)
        path.hardlink_to(hidden)


def _remove_stale(path: Path) -> None:
    if not path.exists() or not stat.S_ISSOCK(path.stat().st_mode):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()


async def connected_socket(address: Address) -> socket.socket:
    """A connected, non-blocking socket, to the first address of a name where somebody listens. Raises BrokenError."""
    import asyncio

    loop = asyncio.get_running_loop()
    try:
        if address.family == "unix":
            return await _connected(socket.AF_UNIX, address.unix_path)
        found = await loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        for family, _, _, _, target in found[:-1]:
            with suppress(OSError):
                return await _connected(family, target)
        return await _connected(found[-1][0], found[-1][4])
    except OSError as error:
        raise BrokenError(
            f"cannot connect to {address}: {error.strerror or error}; is a System listening there?"
        ) from error


async def _connected(family: int, target: Any) -> socket.socket:
    import asyncio

    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, target)
    except BaseException:
        sock.close()
        raise
    return sock


def tune(sock: socket.socket) -> None:
    """Small frames go at once, and a lost host is noticed in the end."""
    if sock.family in (socket.AF_INET, socket.AF_INET6):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def stranger(sock: socket.socket) -> str:
    """Who is on the other end of a unix socket, if neither this process's user nor root; else empty."""
    if sock.family != socket.AF_UNIX:
        return ""
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return "" if uid in (0, os.getuid()) else f"user {uid}"
