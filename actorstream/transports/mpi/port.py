"""Messages of one rank over MPI: nonblocking sends from where the bytes lie, receives straight into the rank's arena.

A message is a header, which is received first, and for a large payload a second one under the next tag. MPI keeps the
order for each pair of ranks and each tag, so headers and payloads pair up. Channels are told apart by the header, not
by tags, so there may be any number. Bytes only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from time import monotonic_ns
from typing import Any

import numpy as np

from actorstream.errors import ResourceError
from actorstream.native.arena import Arena
from actorstream.transports.network.message import APART, HEAD, MOST_BYTES

MOST_RUNS = 8000
"""Transports of a process that have tags of their own; MPI guarantees tags up to 32,767."""
AT_ONCE = 64
"""Headers that are taken before the payloads that have come are looked at."""


class Incoming:
    """A message whose payload may still be under way."""

    __slots__ = ("head", "payload", "request")

    def __init__(self, head: memoryview, payload: np.ndarray | None, request: Any | None) -> None:
        self.head, self.payload, self.request = head, payload, request


class MpiPort:
    """Used by the rank's loop thread alone."""

    def __init__(self, mpi: Any, run: int, arena: Arena) -> None:
        self._mpi, self._arena = mpi, arena
        self._world = mpi.COMM_WORLD
        self._heads = 2 * (run % MOST_RUNS) + 1
        self._bodies = self._heads + 1
        self._status = mpi.Status()
        self._sends: dict[int, deque[tuple[Any, Any]]] = {}
        """By peer: requests and the bytes that they send. MPI takes them in order, or nearly."""
        self._incoming: dict[int, deque[Incoming]] = {}
        self.active_ns = monotonic_ns()
        """When something was last sent or received."""

    def send(self, peer: int, head: bytes, payload: memoryview | None) -> None:
        """Starts to send. The bytes must stay as they are until MPI has taken them, so they are kept here."""
        byte = self._mpi.BYTE
        sends = self._sends.setdefault(peer, deque())
        sends.append((self._world.Isend([head, byte], peer, self._heads), head))
        if payload is not None:
            sends.append((self._world.Isend([payload, byte], peer, self._bodies), payload))
        self.active_ns = monotonic_ns()

    def receive(self) -> tuple[Any, Any | None] | None:
        """The parts of a message that has come whole; None: none has."""
        self._take_heads()
        for waiting in self._incoming.values():
            if waiting:
                first = waiting[0]
                if first.request is None or first.request.Test():
                    waiting.popleft()
                    self.active_ns = monotonic_ns()
                    return first.head, first.payload
        self._forget_sent()
        return None

    def _take_heads(self) -> None:
        world, mpi, status = self._world, self._mpi, self._status
        for _ in range(AT_ONCE):
            message = world.Improbe(mpi.ANY_SOURCE, self._heads, status)
            if message is None:
                return
            source, size = status.Get_source(), status.Get_count(mpi.BYTE)
            buffer = np.empty(size, np.uint8)
            message.Recv([buffer, mpi.BYTE])
            head = buffer.data
            payload = request = None
            if size >= HEAD.size and buffer[7] & APART:
                payload = self._room(
                    min(int.from_bytes(head[HEAD.size - 4 : HEAD.size], "little"), MOST_BYTES)
                )
                request = world.Irecv([payload, mpi.BYTE], source, self._bodies)
            self._incoming.setdefault(source, deque()).append(Incoming(head, payload, request))

    def _room(self, nbytes: int) -> np.ndarray:
        """Memory for a payload: of the arena, whose blocks are used again; of the heap if it has none left."""
        try:
            return self._arena.allocate(nbytes).view()[:nbytes]
        except ResourceError:
            return np.empty(nbytes, np.uint8)

    def _forget_sent(self) -> None:
        """Lets go of the bytes that MPI has taken."""
        for sends in self._sends.values():
            while sends and sends[0][0].Test():
                sends.popleft()

    def has_sent(self, peers: Iterable[int]) -> bool:
        """Whether MPI has taken everything that was to be sent to these peers."""
        self._forget_sent()
        return not any(self._sends.get(peer) for peer in peers)

    def close(self) -> None:
        """Gives up sends that a lost peer will never take, and receives that nobody will complete."""
        for waiting in self._incoming.values():
            for each in waiting:
                if each.request is not None:
                    each.request.Cancel()
                    each.request.Wait()
        self._incoming.clear()
        for sends in self._sends.values():
            for request, data in sends:
                request.Free()
                _unfinished.append(data)
        self._sends.clear()


_unfinished: list[Any] = []
"""Bytes that MPI may still read, although nobody waits for them any more."""
