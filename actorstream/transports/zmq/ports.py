"""The two ports of a worker: the first for datagrams and the control connections, the next one for data."""

from __future__ import annotations

import secrets
import socket
from contextlib import suppress

from actorstream.errors import ConfigurationError

FIRST, LAST = 10_000, 32_000
"""Free ports are looked for between these: the kernel gives those above to connections that go out."""
TRIES = 200


def free_ports(address: str) -> tuple[socket.socket, int]:
    """The socket for datagrams at the first port of a free pair, and its number. The first port is even, so that no two workers
    that look at a time can have a part of the same pair. ConfigurationError: there is none."""
    for _ in range(TRIES):
        port = FIRST + 2 * secrets.randbelow((LAST - FIRST) // 2)
        with suppress(ConfigurationError):
            made = datagrams(address, port)
            if all(_is_free(_family(address), address, each) for each in (port, port + 1)):
                return made, port
            made.close()
    raise ConfigurationError(
        f"host {socket.gethostname()}: of {TRIES} pairs of ports between {FIRST} and {LAST} of {address or 'all its addresses'} "
        "none is free; set network.port"
    )


def _is_free(family: socket.AddressFamily, address: str, port: int) -> bool:
    """Whether a worker can listen there by tcp."""
    with socket.socket(family, socket.SOCK_STREAM) as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            asked.bind((address, port))
        except OSError:
            return False
    return True


def check_data_port(address: str, port: int) -> None:
    """ConfigurationError: another process listens at the port for data, which is opened once there is a plan."""
    if not _is_free(_family(address), address, port):
        raise _in_use(address, port, "tcp", "it is in use, or not of this host")


def _family(address: str) -> socket.AddressFamily:
    has_both = ":" in address or (not address and socket.has_dualstack_ipv6())
    return socket.AF_INET6 if has_both else socket.AF_INET


def _in_use(address: str, port: int, protocol: str, why: str | None) -> ConfigurationError:
    return ConfigurationError(
        f"host {socket.gethostname()} cannot listen at port {port} ({protocol}) of {address or 'all its addresses'}: {why}; "
        "if another run uses it, wait for its end or set other ports: network.port, or port of the host"
    )


def datagrams(address: str, port: int) -> socket.socket:
    """A socket for signs of life. ConfigurationError: the port is in use."""
    made = socket.socket(_family(address), socket.SOCK_DGRAM)
    try:
        if made.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        with suppress(OSError):
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        made.bind((address, port))
    except OSError as error:
        made.close()
        raise _in_use(address, port, "udp", error.strerror) from error
    return made
