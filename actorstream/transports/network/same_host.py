"""The workers of a run on one host that started on their own: one of them makes the shared memory for the channels between them,
and hands its descriptors to the others over a Unix socket. The channels to other hosts are the network's."""

from __future__ import annotations

import os
import secrets
import socket
import struct
from collections.abc import Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from time import monotonic, sleep

from actorstream.errors import ConfigurationError
from actorstream.native.descriptors import receive_descriptors
from actorstream.transports.base import Channel, HandedOver
from actorstream.transports.network.exchange import here
from actorstream.transports.shm.fabric import ShmFabric
from actorstream.transports.sizing import doorbell_bits

AT_ONCE = 200
"""Descriptors of one message; the kernel takes 253."""
AGAIN_S = 0.01
PROOF_BYTES = 32
PROOF_S = 1.0
"""How long one who connects may take to prove that it is a worker of the run; the next one waits meanwhile."""
_LENGTHS = struct.Struct("<II")
_CREDENTIALS = struct.Struct("3i")


def own_place() -> bytes:
    """The same for two processes that can share memory: one kernel, user, and namespaces of processes and networks."""
    space = Path("/proc/self/ns/net").stat().st_ino
    return blake2b(here() + struct.pack("<QQ", space, os.getuid()), digest_size=16).digest()


class SameHost:
    """The workers on the host of this one.

    Args:
        rank: of this process. places: `own_place` of each worker.
        key: secret of the run. limit_s: how long the others may take.
    """

    def __init__(self, rank: int, places: Sequence[bytes], key: bytes, limit_s: float) -> None:
        self.rank, self._key, self._limit_s = rank, key, limit_s
        self.workers = [each for each, place in enumerate(places) if place == places[rank]]

    def is_near(self, channel: Channel) -> bool:
        """Whether both ends are on this host."""
        return channel.sender in self.workers and channel.receiver in self.workers

    def share(self, workers: int, channels: list[Channel], plan: int) -> ShmFabric | None:
        """The memory for the channels on this host, once all its workers have it; None: there is none to share.
        ConfigurationError: one of them does not come. Every worker of the host calls it equally often. A worker's doorbell in
        it has bits for all its `channels`, since it rings for those to other hosts, too."""
        near = [channel for channel in channels if self.is_near(channel)]
        if len(self.workers) == 1 or not near:
            return None
        bits = doorbell_bits(channels)
        end = monotonic() + self._limit_s
        if self.rank != self.workers[0]:
            with self._connected(end) as sock:
                handed = _received(sock)
            return ShmFabric.taken_over(workers, near, plan, handed, bits, self.workers)
        fabric = ShmFabric(workers, near, plan, bits=bits, here=self.workers)
        try:
            self._hand_out(fabric.hand_over(), end)
        except BaseException:
            fabric.close()
            raise
        return fabric

    def _proof(self, worker: int) -> bytes:
        return blake2b(f"shares memory as {worker}".encode(), key=self._key, digest_size=PROOF_BYTES).digest()

    def _name(self) -> bytes:
        name = blake2b(f"socket of {self.workers[0]}".encode(), key=self._key, digest_size=16).hexdigest()
        return b"\0actorstream-share-" + name.encode()

    # -- the one that makes it

    def _hand_out(self, handed: HandedOver, end: float) -> None:
        missing = {self._proof(worker): worker for worker in self.workers[1:]}
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            listener.bind(self._name())
            listener.listen(len(self.workers))
            while missing:
                listener.settimeout(max(0.01, end - monotonic()))
                try:
                    sock = listener.accept()[0]
                except TimeoutError:
                    raise self._absent(sorted(missing.values())) from None
                with sock, suppress(OSError, EOFError):
                    sock.settimeout(max(0.01, min(PROOF_S, end - monotonic())))
                    if not _is_own_user(sock) or (proof := _exactly(sock, PROOF_BYTES)) not in missing:
                        continue
                    sock.sendall(self._proof(self.rank))
                    _send(sock, handed)
                    del missing[proof]

    def _absent(self, workers: list[int]) -> ConfigurationError:
        return ConfigurationError(
            f"worker {self.rank} on host {socket.gethostname()}: worker{'s' * (len(workers) > 1)} "
            f"{', '.join(map(str, workers))} of the same host did not ask for shared memory within {self._limit_s:g} s; look at "
            "their output, or let them talk over the network: set same_host to the name of the transport"
        )

    # -- the others

    def _connected(self, end: float) -> socket.socket:
        while True:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.settimeout(max(0.01, end - monotonic()))
                sock.connect(self._name())
                sock.sendall(self._proof(self.rank))
                if _is_own_user(sock) and secrets.compare_digest(
                    _exactly(sock, PROOF_BYTES), self._proof(self.workers[0])
                ):
                    return sock
            except (OSError, EOFError):
                pass  # it does not listen yet
            sock.close()
            if monotonic() > end:
                raise self._absent(self.workers[:1])
            sleep(AGAIN_S)


def _is_own_user(sock: socket.socket) -> bool:
    found = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return bool(_CREDENTIALS.unpack(found)[1] == os.getuid())


def _send(sock: socket.socket, handed: HandedOver) -> None:
    descriptors = list(handed.descriptors)
    sock.sendall(_LENGTHS.pack(len(handed.description), len(descriptors)) + handed.description)
    for at in range(0, len(descriptors), AT_ONCE):
        socket.send_fds(sock, [b"+"], descriptors[at : at + AT_ONCE])


def _received(sock: socket.socket) -> HandedOver:
    length, count = _LENGTHS.unpack(_exactly(sock, _LENGTHS.size))
    description = _exactly(sock, length)
    found: list[int] = []
    while len(found) < count:
        mark, fds, _ = receive_descriptors(sock, 1, AT_ONCE)
        if not mark or not fds:
            raise ConfigurationError(
                f"{len(found)} of {count} descriptors of shared memory came: its worker is gone, or this process may not open so "
                "many files (ulimit -n)"
            )
        found += fds
    return HandedOver(description, found)


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data
