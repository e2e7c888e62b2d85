"""Addresses of this host and its network interfaces, and of other hosts by name. It opens no connection."""

from __future__ import annotations

import fcntl
import ipaddress
import os
import socket
import struct
from array import array
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from actorstream.errors import ConfigurationError

ANY = "*"
_GET_ADDRESSES = 0x8912  # SIOCGIFCONF
_REQUEST = struct.Struct("iP")
"""struct ifconf: the size of a buffer in bytes, and where it is."""
_ENTRY_BYTES, _ADDRESS_AT = 40, 20
"""struct ifreq in the buffer: the name of an interface, and the sockaddr of one of its addresses."""


def addresses_by_interface() -> dict[str, list[str]]:
    """Interface -> its addresses, IPv4 first."""
    found: dict[str, list[str]] = {name: [] for _, name in socket.if_nameindex()}
    for name, address in _ipv4_addresses():
        found.setdefault(name, []).append(address)
    with suppress(OSError):
        for line in Path("/proc/net/if_inet6").read_text().splitlines():
            digits, *_, name = line.split()
            found.setdefault(name, []).append(str(ipaddress.IPv6Address(int(digits, 16))))
    return found


def _ipv4_addresses() -> Iterator[tuple[str, str]]:
    """Each with its interface, which may have several."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked, suppress(OSError):
        size, _ = _REQUEST.unpack(fcntl.ioctl(asked, _GET_ADDRESSES, _REQUEST.pack(0, 0)))
        entries = array("B", bytes(size))
        used, _ = _REQUEST.unpack(
            fcntl.ioctl(asked, _GET_ADDRESSES, _REQUEST.pack(size, entries.buffer_info()[0]))
        )
        for at in range(0, used, _ENTRY_BYTES):
            entry = entries[at : at + _ENTRY_BYTES].tobytes()
            label = os.fsdecode(entry.partition(b"\0")[0])
            yield label.partition(":")[0], socket.inet_ntoa(entry[_ADDRESS_AT : _ADDRESS_AT + 4])


def own_address(listen: str) -> str:
    """An address of this host under which others can reach it: of the interface, or the address, that `listen` names, else the
    first that is neither loopback nor link-local. ConfigurationError: there is none."""
    known = addresses_by_interface()
    if listen and listen != ANY:
        if found := known.get(listen):
            return found[0]
        return listen
    for found in known.values():
        for each in found:
            read = ipaddress.ip_address(each)
            if not (read.is_loopback or read.is_link_local):
                return each
    raise ConfigurationError(
        f"host {socket.gethostname()} has no address that other hosts can reach; it has {_shown(known)}"
    )


def listening_address(listen: str, address: str) -> str:
    """The number to listen at: "" for all. `address`: under which others reach this host, where `listen` says nothing.
    ConfigurationError: this host does not have it."""
    if listen == ANY:
        return ""
    known = addresses_by_interface()
    if found := known.get(listen):
        return found[0]
    try:
        number = address_of(listen or address, 0)
    except OSError as error:
        raise ConfigurationError(
            f"host {socket.gethostname()} has no network interface or address {listen or address!r} ({error.strerror}); "
            f"it has {_shown(known)}"
        ) from error
    if not is_of_this_host(number):
        raise ConfigurationError(
            f"host {socket.gethostname()} has no address {number}; it has {_shown(known)}. Is this the right host for "
            f"this worker? If others reach it under {address!r} through a translation of addresses, set listen = "
            '"*", or to the name of an interface'
        )
    return number


def is_of_this_host(number: str) -> bool:
    """Whether a number is an address of this host."""
    return number.startswith("127.") or any(number in found for found in addresses_by_interface().values())


def address_of(name: str, port: int) -> str:
    """The first number that a name stands for; a number is itself. OSError: none."""
    found = socket.getaddrinfo(name.strip("[]"), port, type=socket.SOCK_STREAM)
    return str(sorted(found, key=lambda each: each[0] != socket.AF_INET)[0][4][0])


def endpoint(address: str, port: int) -> str:
    """An address as ZeroMQ writes it; "" is all."""
    host = address or "*"
    return f"tcp://[{host}]:{port}" if ":" in host else f"tcp://{host}:{port}"


def socket_address(address: str, port: int) -> bytes:
    """A number and a port as the kernel's struct sockaddr."""
    if ":" in address:
        number, _, scope = address.partition("%")
        index = socket.if_nametoindex(scope) if scope else 0
        family = struct.pack("=H", socket.AF_INET6) + struct.pack("!HI", port, 0)
        return family + socket.inet_pton(socket.AF_INET6, number) + struct.pack("=I", index)
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(address) + bytes(8)


def _shown(known: dict[str, list[str]]) -> str:
    return ", ".join(f"{name} ({', '.join(found)})" for name, found in known.items() if found) or "none"
