"""Messages of one rank over MPI: nonblocking sends from where the bytes lie, receives straight into the rank's arena.

A packet is one message; large payloads follow it as messages under the next tag. MPI keeps the order for each pair of ranks
and each tag, so packets and payloads pair up. Channels are told apart by the header, not
by tags, so there may be any number. Bytes only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from time import monotonic_ns
from typing import Any

from actorstream.native.arena import Arena
from actorstream.native.doorbell import Doorbell
from actorstream.native.frames import following
from actorstream.native.rooms import rooms_of
from actorstream.transports.mpi.knocks import Knocks
from actorstream.transports.mpi.world import progress_of
from actorstream.transports.network.link import LEAST_INLINE

MOST_RUNS = 8000
"""Transports of a process that have tags of their own; MPI guarantees tags up to 32,767."""
PACKET_BYTES, FOLLOWING_BYTES = 64 << 10, 1 << 20
"""Python runs once for each packet: with 256 KiB behind one, two thirds as many jumbo tuples of 64 KiB come through."""
AT_ONCE = 64
"""Packets that are taken before the payloads that have come are looked at."""


class MpiPort:
    """Used by the rank's loop thread alone."""

    inline, packet_bytes, following_bytes = LEAST_INLINE, PACKET_BYTES, FOLLOWING_BYTES

    def __init__(self, mpi: Any, run: int, arena: Arena, knocks: Knocks | None = None) -> None:
        self._mpi, self._rooms, self._knocks = mpi, rooms_of(arena), knocks
        self._world = mpi.COMM_WORLD
        self._packets = 2 * (run % MOST_RUNS) + 1
        self._bodies = self._packets + 1
        self._status = mpi.Status()
        self._sends: dict[int, deque[tuple[Any, Any]]] = {}
        """By peer: requests and the bytes that they send. MPI takes them in order, or nearly."""
        self._come: deque[tuple[Any, Sequence[Any]]] = deque()
        """Packets that have come whole."""
        self._incoming: dict[int, deque[tuple[memoryview, list[Any], deque[Any]]]] = {}
        """By peer: packets behind a payload that is still under way, with the requests of what follows them."""
        self.progress = progress_of(mpi, self._packets)
        self.received_ns = monotonic_ns()
        """When something was last received."""
        self.on_traffic: Callable[[], None] | None = None
        """Called when something is sent or received, or is under way."""
        self.is_drained = False
        """MPI wakes no event loop."""

    def send(self, peer: int, packet: bytes, bodies: list[memoryview]) -> None:
        """Starts to send. The bytes must stay as they are until MPI has taken them, so they are kept here."""
        byte = self._mpi.BYTE
        sends = self._sends.setdefault(peer, deque())
        sends.append((self._world.Isend([packet, byte], peer, self._packets), packet))
        for body in bodies:
            sends.append((self._world.Isend([body, byte], peer, self._bodies), body))
        if self._knocks is not None:
            self._knocks.sent(peer)
        if self.on_traffic is not None:
            self.on_traffic()

    def receive(self) -> tuple[Any, Sequence[Any]] | None:
        """A packet that has come whole, and what follows it; None: none has."""
        come = self._come
        if not come:
            self._take_packets()
            for peer in [*self._incoming]:
                self._take_bodies(peer)
            if not come:
                self._forget_sent()
                if self.progress is not None:
                    self.progress.looked()
                if self._incoming and self.on_traffic is not None:
                    self.on_traffic()  # a thread that looks for packets does not see that a payload has come whole
                return None
            self.received_ns = monotonic_ns()
            if self.on_traffic is not None:
                self.on_traffic()
        return come.popleft()

    def look(self, bell: Doorbell, ns: int) -> bool | None:
        """Looks, up to `ns` nanoseconds, whether a packet has come. False: none has, or `bell` has rung; None: MPI cannot be
        asked for that alone."""
        return self.progress.look(bell, ns) if self.progress is not None and self.is_done() else None

    def is_done(self) -> bool:
        """Whether nothing that was begun is still under way, so that only a packet is to be looked for."""
        return not self._come and not self._incoming and not any(self._sends.values())

    def _take_bodies(self, peer: int) -> None:
        """Takes the packets of a peer behind which everything has come, in order."""
        waiting = self._incoming[peer]
        while waiting:
            packet, bodies, requests = waiting[0]
            while requests:
                if not requests[0].Test():
                    return
                requests.popleft()
            waiting.popleft()
            self._come.append((packet, bodies))
        del self._incoming[peer]

    def _take_packets(self) -> None:
        world, status, incoming = self._world, self._status, self._incoming
        byte, any_source, take = self._mpi.BYTE, self._mpi.ANY_SOURCE, self._rooms.take
        for _ in range(AT_ONCE):
            message = world.Improbe(any_source, self._packets, status)
            if message is None:
                return
            source, size = status.Get_source(), status.Get_count(byte)
            packet = memoryview(take(size))
            message.Recv([packet, byte])
            bodies = [take(nbytes) for nbytes in following(packet)]
            if bodies or source in incoming:
                self.received_ns = monotonic_ns()
                requests = deque(world.Irecv([body, byte], source, self._bodies) for body in bodies)
                incoming.setdefault(source, deque()).append((packet, bodies, requests))
            else:
                self._come.append((packet, ()))

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
        if self.progress is not None:
            self.progress.close()
        for waiting in self._incoming.values():
            for _, _, requests in waiting:
                for request in requests:
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
