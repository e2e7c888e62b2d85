"""What all workers of a run over ZeroMQ know: each other's addresses, and the run's secret. It opens no socket.

A launcher makes it and forks; ranks that start on their own make the same one from the same addresses and secret.
"""

from __future__ import annotations

import secrets
import socket
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.transports.base import Channel, Fabric, HandedOver
from actorstream.transports.shm.limits import Limits, arena_limit
from actorstream.transports.zmq.sockets import FILES_PER_PEER

if TYPE_CHECKING:
    from actorstream.native.keepalive import ClockOffset
    from actorstream.transports.network.same_host import SameHost

MASK = 2**64 - 1
SCHEMES = ("ipc", "tcp")
SECRET_BYTES = 32


class _Kept(msgspec.Struct):
    """What of a fabric its plan does not say."""

    addresses: list[str]
    secret: bytes
    curve: bool
    start_s: float
    away_s: float


class ZmqFabric(Fabric):
    """The addresses and the secret of a run.

    Attributes:
        addresses: where worker i listens; "ipc://@NAME" is a name in this host's abstract namespace.
        curve: whether tcp connections are encrypted and authenticated.
        start_s: how long a worker waits for its peers at the start.
        away_s: how long a connected peer may be silent or out of reach before it is lost.
        near: the memory of channels between workers of this host, if they share any; the others are `channels`.
        bound: what this process listens at, if that is not its address. clocks: how far a peer's clock is ahead.
    """

    def __init__(
        self,
        workers: int,
        channels: list[Channel],
        plan: int,
        *,
        scheme: str = "ipc",
        addresses: Sequence[str] | None = None,
        secret: bytes | None = None,
        curve: bool = True,
        start_s: float = 30.0,
        away_s: float = 4.0,
        bound: str | None = None,
        clocks: Callable[[int], ClockOffset | None] = lambda peer: None,
        same_host: SameHost | None = None,
        here: Collection[int] | None = None,
    ) -> None:
        """`secret`: 32 bytes that only the workers of the run know; None: new ones, for workers that are forked. `here`: the
        workers on this host, whose limits count; None: all. ResourceError: a limit of this host is too small."""
        self.workers = workers
        self.near = same_host.share(workers, channels, plan) if same_host is not None else None
        if self.near is not None:
            channels = [channel for channel in channels if channel.id not in self.near.channels]
        self.channels = {channel.id: channel for channel in channels}
        self.plan = plan & MASK
        self.bound, self.clocks = bound, clocks
        self.curve, self.start_s, self.away_s = curve, start_s, away_s
        self.secret = secrets.token_bytes(SECRET_BYTES) if secret is None else secret
        self.addresses = list(addresses) if addresses is not None else _own_addresses(scheme, workers)
        self._check(scheme, given=addresses is not None and secret is None)
        here = range(workers) if here is None else here
        budgets = Counter[int]()
        for channel in channels:
            budgets[channel.sender] += channel.budget
        self.arena_limit = arena_limit(
            Limits.read("zmq"),
            1,
            [budgets[worker] for worker in here],
            0,
            transport="zmq",
            files=FILES_PER_PEER * _most_peers(channels, here),
        )

    def hand_over(self) -> HandedOver:
        """Addresses and secret: there are no descriptors."""
        kept = _Kept(self.addresses, self.secret, self.curve, self.start_s, self.away_s)
        return HandedOver(msgspec.msgpack.encode(kept), [])

    @classmethod
    def taken_over(cls, workers: int, channels: list[Channel], plan: int, handed: HandedOver) -> ZmqFabric:
        """The fabric of the process that handed it over."""
        kept = msgspec.msgpack.decode(handed.description, type=_Kept)
        return cls(workers, channels, plan, **msgspec.structs.asdict(kept))

    def _check(self, scheme: str, *, given: bool) -> None:
        where = "fabric options of transport 'zmq'"
        problems = []
        if scheme not in SCHEMES:
            problems.append(Problem(where, f"scheme is {scheme!r}", allowed="ipc, tcp"))
        if len(self.addresses) != self.workers:
            problems.append(
                Problem(
                    where, f"{len(self.addresses)} addresses", allowed=f"{self.workers}, one for each worker"
                )
            )
        problems += [
            Problem(where, f"address {address!r}", allowed="ipc://@NAME or tcp://HOST:PORT")
            for address in self.addresses
            if not address.startswith(("ipc://", "tcp://"))
        ]
        if len(self.secret) != SECRET_BYTES:
            problems.append(
                Problem(where, f"a secret of {len(self.secret)} bytes", allowed=f"{SECRET_BYTES}")
            )
        if given:
            problems.append(
                Problem(where, "addresses without a secret", hint="give all workers the same secret")
            )
        if problems:
            raise ConfigurationError(problems)

    def close(self) -> None:
        """Lets go of shared memory; sockets belong to the transports."""
        if self.near is not None:
            self.near.close()


def _most_peers(channels: Iterable[Channel], workers: Iterable[int]) -> int:
    """With how many others one of the workers shares channels, at most."""
    pairs = {frozenset((channel.sender, channel.receiver)) for channel in channels}
    counts = Counter(worker for pair in pairs if len(pair) > 1 for worker in pair)
    return max((counts[worker] for worker in workers), default=0)


def _own_addresses(scheme: str, workers: int) -> list[str]:
    """An address on this host for each worker, which nobody uses now."""
    if scheme != "tcp":
        run = secrets.token_hex(8)
        return [f"ipc://@actorstream-{run}-{worker}" for worker in range(workers)]
    found: list[Any] = [socket.socket() for _ in range(workers)]
    try:
        for each in found:
            each.bind(("127.0.0.1", 0))
        return [f"tcp://127.0.0.1:{each.getsockname()[1]}" for each in found]
    finally:
        for each in found:
            each.close()
