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
        self._come: deque[tuple[Any, Any | None]] = deque()
        """Messages that have come whole."""
        self._incoming: dict[int, deque[tuple[memoryview, np.ndarray | None, Any | None]]] = {}
        """By peer: messages behind a payload that is still under way, with the requests of their payloads."""
        self.active_ns = monotonic_ns()
        """When something was last sent or received."""
        self.descriptor = None
        """MPI has none."""

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
        come = self._come
        if not come:
            self._take_heads()
            for peer in [*self._incoming]:
                self._take_payloads(peer)
            if not come:
                self._forget_sent()
                return None
            self.active_ns = monotonic_ns()
        return come.popleft()

    def is_quiet(self, ns: int) -> bool:
        """Whether nothing was sent or received for so long, and nothing has come. MPI drives what it sends meanwhile."""
        if self._come or self._incoming or monotonic_ns() - self.active_ns < ns:
            return False
        return not self._world.Iprobe(self._mpi.ANY_SOURCE, self._heads)

    def _take_payloads(self, peer: int) -> None:
        """Takes the messages of a peer whose payloads have come, in order."""
        waiting = self._incoming[peer]
        while waiting:
            head, payload, request = waiting[0]
            if request is not None and not request.Test():
                return
            waiting.popleft()
            self._come.append((head, payload))
        del self._incoming[peer]

    def _take_heads(self) -> None:
        world, status, incoming = self._world, self._status, self._incoming
        byte, any_source = self._mpi.BYTE, self._mpi.ANY_SOURCE
        for _ in range(AT_ONCE):
            message = world.Improbe(any_source, self._heads, status)
            if message is None:
                return
            source, size = status.Get_source(), status.Get_count(byte)
            head = np.empty(size, np.uint8).data
            message.Recv([head, byte])
            payload = request = None
            if size >= HEAD.size and head[7] & APART:
                payload = self._room(
                    min(int.from_bytes(head[HEAD.size - 4 : HEAD.size], "little"), MOST_BYTES)
                )
                request = world.Irecv([payload, byte], source, self._bodies)
            if request is not None or source in incoming:
                incoming.setdefault(source, deque()).append((head, payload, request))
            else:
                self._come.append((head, None))

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
            for _, _, request in waiting:
                if request is not None:
                    request.Cancel()
                    request.Wait()
        self._incoming.clear()
        self._come.clear()
        for sends in self._sends.values():
            for request, data in sends:
                request.Free()
                _unfinished.append(data)
        self._sends.clear()


_unfinished: list[Any] = []
"""Bytes that MPI may still read, although nobody waits for them any more."""
