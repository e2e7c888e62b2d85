"""Knocks: a rank that sends after a pause wakes the receiver by a datagram, since MPI has nothing to sleep on.

A knock carries nothing and may be lost: whoever waits for one still looks for messages now and then, only less often. Ranks find
out by themselves under which address they reach each other. Where no datagram passes, everything is as without knocks.
"""

from __future__ import annotations

import secrets
import socket
import struct
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import blake2b
from time import monotonic_ns

import msgspec

from actorstream.errors import ConfigurationError
from actorstream.transports.network.streams import addresses, network_place

TOKEN_BYTES = 16
HELLO, HEARD, KNOCK = range(3)
"""Sent to every address of a peer; its answer, which says which address it was; what then goes to this address."""
_DATAGRAM = struct.Struct(f"<{TOKEN_BYTES}sBBI")
"""Token of the world, what it says, the number of an address of the receiver, rank of the sender."""
MOST_ADDRESSES = 16
AT_ONCE = 64
"""Datagrams that are read in one go, so that strangers cannot keep a rank busy."""
REST_NS = 500_000
"""A peer that was sent something not longer ago looks again soon by itself."""


class _Door(msgspec.Struct):
    """Where a rank hears knocks."""

    seed: bytes
    place: str
    port: int
    addresses: list[str]


class Knocks:
    """Those of one rank. Used by one thread.

    Args:
        rank: this one. sock: not blocking; the one whose port `doors` tells. doors: of all ranks, by rank.
    """

    def __init__(self, rank: int, sock: socket.socket, doors: list[_Door]) -> None:
        self._rank, self._sock = rank, sock
        self._token = blake2b(b"".join(each.seed for each in doors), digest_size=TOKEN_BYTES).digest()
        self._ways = [_ways(each, doors[rank].place, sock.family) for each in doors]
        self._found: dict[int, tuple[str, int]] = {}
        """Peer -> where it hears this rank."""
        self._heard: set[int] = set()
        """Peers whose knocks come here."""
        self._sent_ns = [0] * len(doors)

    @classmethod
    def among(
        cls, gather: Callable[[bytes, float], list[bytes]], rank: int, interface: str | None, limit_s: float
    ) -> Knocks:
        """Tells all ranks where this one hears knocks; each calls it. `gather`: as `Assembly.gather`; interface: as of
        `Streams`."""
        sock = _listening(interface)
        port, known = sock.getsockname()[1], _own_addresses(interface)
        own = _Door(secrets.token_bytes(TOKEN_BYTES), network_place(), port, known)
        told = gather(msgspec.msgpack.encode(own), limit_s)
        return cls(rank, sock, [msgspec.msgpack.decode(each, type=_Door) for each in told])

    @property
    def fd(self) -> int:
        """Readable once something has come."""
        return self._sock.fileno()

    def greet(self, peers: Iterable[int]) -> None:
        """Begins to find out how these peers are reached, of whom nobody knows it yet. May be repeated."""
        for peer in set(peers) - self._found.keys():
            for number, way in enumerate(self._ways[peer]):
                self._send(way, HELLO, number)

    def sent(self, peer: int) -> None:
        """Something was sent to a peer: knocks if nothing was for a while."""
        now = monotonic_ns()
        rested = now - self._sent_ns[peer] > REST_NS
        self._sent_ns[peer] = now
        if rested and (way := self._found.get(peer)) is not None:
            self._send(way, KNOCK)

    def all_come(self, peers: Iterable[int]) -> bool:
        """Whether each of these peers knocks, and is heard."""
        return self._heard.issuperset(peers)

    def take(self) -> bool:
        """Takes in what has come, and answers. Returns whether somebody knocks."""
        knocked = False
        for _ in range(AT_ONCE):
            try:
                data, way = self._sock.recvfrom(_DATAGRAM.size + 1)
            except OSError:  # nothing more; or an answer of the network that somebody is not reached
                break
            if len(data) != _DATAGRAM.size:
                continue
            token, kind, number, peer = _DATAGRAM.unpack(data)
            if token != self._token or peer >= len(self._ways) or peer == self._rank:
                continue
            if kind == HELLO:
                self._send(way, HEARD, number)
            elif kind == HEARD and number < len(self._ways[peer]):
                found = self._found.setdefault(peer, self._ways[peer][number])
                self._send(found, KNOCK)  # so that the peer hears that it comes
            elif kind == KNOCK:
                self._heard.add(peer)
                knocked = True
        return knocked

    def close(self) -> None:
        self._sock.close()

    def _send(self, way: tuple[str, int], kind: int, number: int = 0) -> None:
        with suppress(OSError):  # it may be lost, whatever the reason
            self._sock.sendto(_DATAGRAM.pack(self._token, kind, number, self._rank), way)


def _listening(interface: str | None) -> socket.socket:
    """A socket for both families where this host has them, at the addresses on which `Streams` would listen."""
    family, address = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET, ""
    if interface is not None and (known := _own_addresses(interface)):
        address = known[0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
    made = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
    if family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    made.bind((address, 0))
    return made


def _own_addresses(interface: str | None) -> list[str]:
    try:
        return addresses(interface)[:MOST_ADDRESSES]
    except ConfigurationError:
        return []  # where an address is needed, somebody else says so


def _ways(door: _Door, place: str, family: int) -> list[tuple[str, int]]:
    """Addresses of a peer as a socket of this family wants them: loopback first inside a host, unless it listens elsewhere."""
    known = ["127.0.0.1", *door.addresses] if door.place == place else door.addresses
    if family == socket.AF_INET:
        return [(each, door.port) for each in known if ":" not in each]
    return [(each if ":" in each else f"::ffff:{each}", door.port) for each in known]
