"""Streams of bytes between ranks, beside the data path: Unix sockets inside a host, TCP between hosts.

Nobody chooses ports: each rank listens at a free one and tells the others. Both ends of a stream prove that they know a key
which the ranks have made together, so no stranger takes part; the bytes are not encrypted.
"""

from __future__ import annotations

import ipaddress
import secrets
import selectors
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from time import monotonic

import msgspec

from actorstream.errors import ConfigurationError
from actorstream.transports.network.exchange import here
from actorstream.transports.network.failed_ranks import none_failed
from actorstream.transports.network.interfaces import addresses_by_interface

Gather = Callable[[bytes, float], list[bytes]]
Wanted = tuple[int, str]
CONNECT_S = 3.0
"""How long one address of a peer may take to answer before the next is tried."""
ROUNDS = 3
"""How often the addresses are tried in turn: a network that fails for a moment is no end."""
KEY_BYTES = 32
TAKEN = b"+"
"""Said by the end that connects, once it has the other's proof: a connection that it has given up is none."""


class _Place(msgspec.Struct):
    """Where a rank listens."""

    host: str
    place: str
    seed: bytes
    unix: str
    addresses: list[str] = []
    port: int = 0


class Streams:
    """Opens the streams of one rank.

    Args:
        gather: as `Assembly.gather`. rank: this one.
        interface: name or address of the network on which to listen; None: any.
    """

    def __init__(self, gather: Gather, rank: int, interface: str | None = None) -> None:
        self.gather, self.rank, self.interface = gather, rank, interface
        self._key = b""
        self._places: list[_Place] = []

    def open(self, wanted: Iterable[Wanted], limit_s: float) -> dict[Wanted, socket.socket]:
        """As `Assembly.streams`. FailedRanksError: another rank has failed before."""
        end = (
            monotonic() + limit_s / 2
        )  # ranks that are reached wait for the errors of the others in a gather
        listeners = [_unix_listener()]
        found: dict[Wanted, socket.socket] = {}
        try:
            name = listeners[0].getsockname().decode()
            own = _Place(socket.gethostname(), network_place(), secrets.token_bytes(16), name)
            others = {each.place for each in self._told(own, limit_s)}
            if len(others) > 1:
                listeners.append(_tcp_listener(self.interface))
                own.port = listeners[1].getsockname()[1]
                own.addresses = addresses(self.interface)
            self._places = self._told(own, limit_s)
            self._key = blake2b(b"".join(each.seed for each in self._places), digest_size=KEY_BYTES).digest()
            wishes = sorted(wanted)
            for peer, purpose in wishes:
                if peer < self.rank:
                    found[peer, purpose] = self._connect(peer, purpose, end)
            missing = {each for each in wishes if each[0] > self.rank}
            found.update(self._accept(listeners, missing, end))
        except BaseException:
            for sock in found.values():
                sock.close()
            raise
        finally:
            for listener in listeners:
                listener.close()
        for sock in found.values():
            sock.setblocking(True)
            if sock.family != socket.AF_UNIX:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return found

    def _told(self, own: _Place, limit_s: float) -> list[_Place]:
        return [
            msgspec.msgpack.decode(each, type=_Place)
            for each in none_failed(self.gather(msgspec.msgpack.encode(own), limit_s))
        ]

    def _proof(self, sender: int, receiver: int, purpose: str) -> bytes:
        return blake2b(
            f"{sender} to {receiver} for {purpose}".encode(), key=self._key, digest_size=KEY_BYTES
        ).digest()

    # -- the end that connects

    def _connect(self, peer: int, purpose: str, end: float) -> socket.socket:
        there = self._places[peer]
        tried = []
        ways = self._ways(there)
        for family, address in ways if len(ways) == 1 and ways[0][0] == socket.AF_UNIX else ROUNDS * ways:
            sock = socket.socket(family, socket.SOCK_STREAM)
            try:
                sock.settimeout(max(0.1, min(CONNECT_S, end - monotonic())))
                sock.connect(address)
                sock.sendall(self._proof(self.rank, peer, purpose))
                sock.settimeout(max(0.1, end - monotonic()) if family == socket.AF_UNIX else CONNECT_S)
                if _exactly(sock, KEY_BYTES) == self._proof(peer, self.rank, purpose):
                    sock.sendall(TAKEN)
                    return sock
                tried.append(f"{address}: somebody else listens there")
            except OSError as error:
                tried.append(f"{address}: {error.strerror or error}")
            sock.close()
        raise ConfigurationError(
            f"rank {self.rank} on host {self._places[self.rank].host} cannot reach rank {peer} on host {there.host} ("
            + "; ".join(dict.fromkeys(tried))
            + "); the hosts of a run have to reach each other over TCP: set network.listen to the network that they "
            "share, or open its firewall between them"
        )

    def _ways(self, there: _Place) -> list[tuple[int, str | tuple[str, int]]]:
        if there.place == self._places[self.rank].place:
            return [(socket.AF_UNIX, there.unix)]
        return [
            (socket.AF_INET6 if ":" in each else socket.AF_INET, (each, there.port))
            for each in there.addresses
        ]

    # -- the end that accepts

    def _accept(
        self, listeners: list[socket.socket], missing: set[Wanted], end: float
    ) -> dict[Wanted, socket.socket]:
        proofs = {self._proof(peer, self.rank, purpose): (peer, purpose) for peer, purpose in missing}
        found: dict[Wanted, socket.socket] = {}
        coming: dict[
            socket.socket, bytes
        ] = {}  # connections that are not yet found -> the part of their proof that has come
        answered: dict[
            socket.socket, Wanted
        ] = {}  # those of them whose proof was right, and which were sent ours
        with selectors.DefaultSelector() as selector:
            for listener in listeners:
                listener.setblocking(False)
                selector.register(listener, selectors.EVENT_READ)
            try:
                while len(found) < len(missing):
                    ready = selector.select(max(0.0, end - monotonic()))
                    if not ready or monotonic() > end:  # strangers may come again and again
                        self._complain({peer for peer, _ in missing - found.keys()})
                    for key, _ in ready:
                        sock = key.fileobj
                        assert isinstance(sock, socket.socket)
                        if sock in listeners:
                            with suppress(OSError):
                                made = sock.accept()[0]
                                made.setblocking(False)
                                coming[made] = b""
                                selector.register(made, selectors.EVENT_READ)
                            continue
                        part = _part(sock, 1 if sock in answered else KEY_BYTES - len(coming[sock]))
                        if part is None:
                            continue
                        if sock not in answered:
                            coming[sock] += part
                            if part and len(coming[sock]) < KEY_BYTES:
                                continue
                            each = proofs.get(coming[sock])
                            if each is not None and _sent(sock, self._proof(self.rank, *each)):
                                answered[sock] = each
                                continue
                        selector.unregister(sock)
                        del coming[sock]
                        wanted = answered.pop(sock, None)
                        if part == TAKEN and wanted is not None and wanted not in found:
                            found[wanted] = sock
                        else:
                            sock.close()  # of a stranger, or of a rank that has given this connection up
            except BaseException:
                for sock in found.values():
                    sock.close()
                raise
            finally:
                for sock in coming:
                    sock.close()
        return found

    def _complain(self, peers: set[int]) -> None:
        who = ", ".join(f"rank {peer} on host {self._places[peer].host}" for peer in sorted(peers))
        raise ConfigurationError(
            f"rank {self.rank} on host {self._places[self.rank].host} was not reached in time by {who}; the hosts of a run "
            "have to reach each other over TCP: set network.listen to a network that they share, or open its firewall between "
            "them"
        )


def network_place() -> str:
    """The same for two processes that reach each other at the loopback addresses of one host."""
    return f"{here().hex()}-{Path('/proc/self/ns/net').stat().st_ino}"


def addresses(interface: str | None = None) -> list[str]:
    """The addresses of this host, those of one interface or one address only if it is given; loopback and link-local ones
    never. ConfigurationError: there is no such interface, or it has none."""
    usable = {
        name: [each for each in found if not _is_local(each)]
        for name, found in addresses_by_interface().items()
    }
    every = [each for found in usable.values() for each in found]
    if interface is None:
        return every
    if interface in every:
        return [interface]
    if found := usable.get(interface):
        return found
    shown = ", ".join(f"{name} ({', '.join(found)})" for name, found in usable.items() if found) or "none"
    raise ConfigurationError(
        f"host {socket.gethostname()} has no network interface or address {interface!r} that other hosts can reach; "
        f"it has {shown}"
    )


def _is_local(address: str) -> bool:
    read = ipaddress.ip_address(address)
    return read.is_loopback or read.is_link_local


def _unix_listener() -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.bind(b"\0actorstream-" + secrets.token_hex(16).encode())
    made.listen(1024)
    return made


def _tcp_listener(interface: str | None) -> socket.socket:
    family, address = socket.AF_INET, ""
    if interface is not None:
        address = addresses(interface)[0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
    elif socket.has_dualstack_ipv6():
        family = socket.AF_INET6
    dual = family == socket.AF_INET6 and not address
    return socket.create_server((address, 0), family=family, backlog=1024, dualstack_ipv6=dual)


def _part(sock: socket.socket, most: int) -> bytes | None:
    """What has come; b"": the other end is gone; None: nothing yet."""
    try:
        return sock.recv(most)
    except BlockingIOError:
        return None
    except OSError:
        return b""


def _sent(sock: socket.socket, data: bytes) -> bool:
    try:
        sock.sendall(data)
    except OSError:
        return False
    return True


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            break
        data += part
    return data
