"""A thread of C that tells peers that this process lives, and notes which of them fall silent; see include/keepalive.h. It
decides nothing about a run."""

from __future__ import annotations

import os
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from actorstream.errors import ClosedError
from actorstream.native._core import ffi, lib
from actorstream.native.memory import create_eventfd
from actorstream.native.status import OK, opened, raise_status

if TYPE_CHECKING:
    import socket

KEY_BYTES = 16
STATUS = int(lib.AS_PEER_STATUS)
"""Of a process that exits since it was told to end, or has lost a peer that it needs, and its Python did not let go."""


class PeerState(IntEnum):
    """What is known of a peer."""

    ALIVE = int(lib.AS_PEER_ALIVE)
    UNHEARD = int(lib.AS_PEER_UNHEARD)
    """Nothing has come from it yet."""
    SILENT = int(lib.AS_PEER_SILENT)
    """Nothing has come from it for the limit: it was killed or stopped, or the network between was cut."""
    ENDS = int(lib.AS_PEER_ENDS)
    """It has told this process to end."""
    LEFT = int(lib.AS_PEER_LEFT)
    """It has ended in order, or was forgotten."""
    CLOSED = int(lib.AS_PEER_CLOSED)
    """Its end of the stream has closed: its process has ended."""


class ClockOffset(NamedTuple):
    """By how many nanoseconds a peer's monotonic clock is ahead of this host's, and the bound of the error."""

    ahead: int
    error: int


class KeepaliveThread:
    """The thread of one process.

    Args:
        fd: a bound datagram socket, which stays the caller's and must outlive this; None: all peers have streams.
        own: number of this process. peers: how many may be added.
        every_s: between two messages. limit_s: a peer from which nothing has come for so long is silent.
        grace_s: a process that was told to end, or has lost a peer that it needs, exits so much later, whatever Python does;
            `close` prevents that.

    Attributes:
        eventfd: readable when the state of a peer has changed.
    """

    __slots__ = ("_alive", "eventfd", "limit_s")

    def __init__(
        self,
        fd: int | None,
        own: int,
        peers: int,
        *,
        every_s: float,
        limit_s: float,
        grace_s: float = 3.0,
    ) -> None:
        """ValueError: the limit is shorter than the time between two messages."""
        self._alive: Any = None
        self.limit_s = limit_s
        times = (round(each * 1e9) for each in (every_s, limit_s, grace_s))
        self.eventfd = create_eventfd()
        try:
            handle = lib.as_keepalive_open(-1 if fd is None else fd, self.eventfd, own, peers, *times)
            self._alive = opened(handle, f"keepalive of worker {own}")
        except BaseException:
            os.close(self.eventfd)
            raise

    def add(self, peer: int, address: bytes, key_out: bytes, key_in: bytes) -> None:
        """Adds a peer, or changes its address, a struct sockaddr. `key_out` is for what is sent, `key_in` for what comes."""
        if len(key_out) != KEY_BYTES or len(key_in) != KEY_BYTES:
            raise ValueError(f"keys of {len(key_out)} and {len(key_in)} bytes; allowed: {KEY_BYTES}")
        code = lib.as_keepalive_add(self._handle, peer, address, len(address), key_out, key_in)
        if code != OK:
            raise_status(code, f"keepalive of peer {peer}")

    def join(self, peer: int, stream: socket.socket) -> None:
        """Adds a peer at the other end of a connected stream, which must outlive this; before the start only."""
        code = lib.as_keepalive_join(self._handle, peer, stream.fileno())
        if code != OK:
            raise_status(code, f"keepalive of peer {peer}")

    def start(self) -> None:
        """Starts the thread."""
        code = lib.as_keepalive_start(self._handle)
        if code != OK:
            raise_status(code, "thread of the keepalive")

    def state(self, peer: int) -> PeerState:
        """What is known of a peer now."""
        return PeerState(lib.as_keepalive_state(self._handle, peer))

    def settle(self) -> None:
        """Makes `eventfd` unreadable until a state changes again."""
        try:
            os.read(self.eventfd, 8)
        except BlockingIOError:
            pass

    def need(self, peer: int) -> None:
        """This process cannot go on without the peer."""
        lib.as_keepalive_need(self._handle, peer)

    def end(self, peer: int) -> None:
        """Tells a peer to end, now that nothing else helps."""
        lib.as_keepalive_end(self._handle, peer)

    def forget(self, peer: int) -> None:
        """The peer's silence is in order from now on."""
        lib.as_keepalive_forget(self._handle, peer)

    def clock(self, peer: int) -> ClockOffset | None:
        """How far the peer's clock is ahead; None: that is not known yet."""
        ahead, error = ffi.new("int64_t *"), ffi.new("int64_t *")
        if lib.as_keepalive_clock(self._handle, peer, ahead, error) != OK:
            return None
        return ClockOffset(ahead[0], error[0])

    @property
    def refused(self) -> int:
        """Messages without a tag of this run, which were dropped."""
        return int(lib.as_keepalive_refused(self._handle))

    def close(self, *, leaves: bool) -> None:
        """Ends the thread. `leaves`: peers are told first that silence is in order. Idempotent."""
        handle, self._alive = self._alive, None
        if handle is not None:
            lib.as_keepalive_close(handle, leaves)
            os.close(self.eventfd)

    @property
    def _handle(self) -> Any:
        if self._alive is None:
            raise ClosedError("this keepalive was closed")
        return self._alive


def tag_of(key: bytes, data: bytes) -> int:
    """The tag of a datagram's bytes, as the thread makes it."""
    if len(key) != KEY_BYTES:
        raise ValueError(f"a key of {len(key)} bytes; allowed: {KEY_BYTES}")
    return int(lib.as_keepalive_tag(key, data, len(data)))
