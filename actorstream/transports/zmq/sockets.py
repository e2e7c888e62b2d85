"""The ZeroMQ sockets of one worker: one that receives from all peers, and one to each peer. Bytes only.

A worker binds a PULL socket and connects a PUSH socket to each peer. PUSH never gives a message to anybody but the one
peer that it was connected to, and all that comes is read in one place, behind one descriptor.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from socket import gethostname
from typing import TYPE_CHECKING, Any

import zmq
from zmq.utils import z85
from zmq.utils.monitor import recv_monitor_message

from actorstream.errors import ConfigurationError
from actorstream.native.messages import MessageSocket, message_socket
from actorstream.transports.network.link import LEAST_INLINE, WINDOW
from actorstream.transports.network.message import MOST_BYTES, WHOLE

if TYPE_CHECKING:
    from actorstream.native.doorbell import Doorbell

RECONNECT_MS, MOST_RECONNECT_MS = 20, 500
SMALL = WHOLE.size + LEAST_INLINE
"""A packet of at most so many bytes is copied out of ZeroMQ's message, which costs less than to keep that."""
INLINE, PACKET_BYTES, FOLLOWING_BYTES = 72 << 10, 256 << 10, 256 << 10
"""Jumbo tuples of 64 KiB travel in their packet, since the I/O threads exchange messages of several parts only whole: copied,
they take two thirds of the time. Those of 128 KiB take 1.5 times as long (benchmark `transport`)."""
MOST_FOLLOWING = FOLLOWING_BYTES // LEAST_INLINE
"""A packet has at most so many payloads behind it."""
LINGER_MS = 500
"""For the last acknowledgement: everything else was acknowledged before."""
SOCKETS_PER_PEER, SPARE_SOCKETS = 3, 16
"""One that sends to the peer, and two that tell of its connection."""
FILES_PER_PEER = SOCKETS_PER_PEER + 2
"""Descriptors: each socket has one, and so has the connection in each direction."""
EVENTS = zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED
_LIBRARY = str(sys.modules[zmq.backend.Socket.__module__].__file__)
"""The part of pyzmq that is linked with libzmq."""


class Sockets:
    """Opened in the process that uses them. `peers`: how many ways are opened, at most. `slots`: how many frames the channels
    with a peer may hold, at most."""

    inline, packet_bytes, following_bytes = INLINE, PACKET_BYTES, FOLLOWING_BYTES

    def __init__(
        self, address: str, *, peers: int, curve: tuple[bytes, bytes] | None, slots: int, away_s: float
    ) -> None:
        """`curve`: public and secret key of the run, for tcp. ConfigurationError: the address cannot be used."""
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        # libzmq opens 1,023 unless told, which are those of 340 peers
        self._context.set(zmq.MAX_SOCKETS, SOCKETS_PER_PEER * peers + SPARE_SOCKETS)
        self._curve, self._away_s = curve, away_s
        self._mark = slots + 2 * WINDOW
        self._out: dict[int, zmq.Socket[bytes]] = {}
        self._monitors: dict[int, zmq.Socket[bytes]] = {}
        self._ways: dict[int, MessageSocket] = {}
        self._unsent: dict[int, deque[tuple[bytes, list[memoryview]]]] = {}
        self._watched: list[int] = []
        self.is_drained = False
        try:
            self._in = self._socket(zmq.PULL)
            self._in.rcvhwm = self._mark
            self._in.maxmsgsize = MOST_BYTES + WHOLE.size
            if curve is not None:
                self._in.curve_server = True
                self._in.curve_publickey, self._in.curve_secretkey = curve
            self._in.bind(address)
            self._arriving = self._messages(self._in)
            self._descriptor = int(self._in.FD)
        except zmq.ZMQError as error:
            self.close(0)
            raise ConfigurationError(
                f"transport 'zmq' on host {gethostname()} cannot listen at {address}: {error.strerror}; choose another "
                "port or interface, or end the process that uses it"
            ) from error

    def _socket(self, kind: zmq.SocketType) -> zmq.Socket[bytes]:
        made = self._context.socket(kind)
        made.linger = 0
        made.ipv6 = True
        made.handshake_ivl = max(1, int(self._away_s * 500))
        # The kernel notices a cut link, also while a hook keeps the worker busy. ZeroMQ's own heartbeats are not used:
        # its engine aborts the process if one is due on a connection that was stopped (libzmq issues 3937 and 4767).
        made.tcp_keepalive, made.tcp_keepalive_cnt = 1, 2
        made.tcp_keepalive_idle = made.tcp_keepalive_intvl = max(1, int(self._away_s / 6))
        made.tcp_maxrt = max(1, int(self._away_s * 500))
        return made

    @staticmethod
    def _messages(socket: zmq.Socket[bytes]) -> MessageSocket:
        return message_socket(_LIBRARY, int(socket.underlying), SMALL, MOST_FOLLOWING + 1)

    def connect(self, peer: int, address: str) -> None:
        """Opens the way to a peer, who may start later. ConfigurationError: it cannot."""
        try:
            self._open(peer, address)
        except zmq.ZMQError as error:
            raise ConfigurationError(
                f"transport 'zmq' on host {gethostname()} cannot open the way to worker {peer} at {address}: {error.strerror}; a "
                f"process takes up to {2 * FILES_PER_PEER} open files for each other worker: if that is too many, raise "
                "RLIMIT_NOFILE (`ulimit -n`) or use fewer workers"
            ) from error

    def _open(self, peer: int, address: str) -> None:
        made = self._socket(zmq.PUSH)
        self._out[peer], self._unsent[peer] = made, deque()
        made.sndhwm = self._mark
        made.reconnect_ivl, made.reconnect_ivl_max = RECONNECT_MS, MOST_RECONNECT_MS
        if self._curve is not None:
            made.curve_publickey, made.curve_secretkey = self._curve
            made.curve_serverkey = self._curve[0]
        self._monitors[peer] = made.get_monitor_socket(EVENTS)
        made.connect(address)
        self._ways[peer] = self._messages(made)

    def send(self, peer: int, packet: bytes, bodies: list[memoryview]) -> None:
        """Sends a packet and what follows it, or keeps both until there is room, which the links' credit makes rare."""
        waiting = self._unsent[peer]
        if waiting or not self._ways[peer].send(packet, bodies):
            waiting.append((packet, bodies))

    def receive(self) -> tuple[Any, list[Any]] | None:
        """The next packet of any peer, and what follows it, at most one part more than any packet of ours has; None: nothing has
        come."""
        parts = self._arriving.receive()
        self.is_drained = parts is None
        if parts is None:
            self._retry()
        return parts

    def look(self, bell: Doorbell, ns: int) -> bool:
        """Looks, up to `ns` nanoseconds, whether a message has come; then all of them are to be received. libzmq's threads run
        between two looks. False: none has, or `bell` has rung."""
        return bell.look(self._descriptor, ns)

    def _retry(self) -> None:
        for peer, waiting in self._unsent.items():
            while waiting and self._ways[peer].send(*waiting[0]):
                waiting.popleft()

    def watch(self, loop: Any, arrived: Callable[[], None], changed: Callable[[], None]) -> None:
        """Calls `arrived` when something may have come, and `changed` when a connection was made or cut."""
        for socket, call in ((self._in, arrived), *((each, changed) for each in self._monitors.values())):
            fd = int(socket.FD)
            self._watched.append(fd)
            loop.add_reader(fd, call)

    def unwatch(self, loop: Any) -> None:
        """Ends what `watch` began."""
        for fd in self._watched:
            loop.remove_reader(fd)
        self._watched.clear()

    def connections(self) -> Iterator[tuple[int, bool]]:
        """The peers whose connection was made (True) or cut (False) since the last call, in order."""
        for peer, monitor in self._monitors.items():
            while int(monitor.get(zmq.EVENTS)) & zmq.POLLIN:
                event = recv_monitor_message(monitor, zmq.DONTWAIT)["event"]
                if event == zmq.EVENT_MONITOR_STOPPED:
                    break
                yield peer, event == zmq.EVENT_HANDSHAKE_SUCCEEDED

    def close(self, linger_ms: int, lost: frozenset[int] = frozenset()) -> None:
        """Closes all sockets; what `lost` peers have not got is dropped."""
        for peer, out in self._out.items():
            out.disable_monitor()
            out.close(0 if peer in lost else linger_ms)
        if hasattr(self, "_in"):
            self._in.close(0)
        self.__dict__.pop("_arriving", None)  # it knows its socket by address
        self._ways.clear()
        self._out.clear()
        self._monitors.clear()
        self._context.term()
        MessageSocket.free_sent()


def curve_keys(secret: bytes) -> tuple[bytes, bytes]:
    """Public and secret key that all workers of a run share, as ZeroMQ writes them. Nobody outside learns either."""
    private = z85.encode(secret)
    return zmq.curve_public(private), private
