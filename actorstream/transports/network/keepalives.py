"""The signs of life between the processes of a run, as a process looks at them: who is lost, and how far clocks are apart."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Mapping

from actorstream.native.keepalive import ClockOffset, KeepaliveThread, PeerState

BEATS = 10
"""Signs of life in the time after which a peer is lost."""
LEAVING_S = 1.5
"""A process exits so long after it lost one that it needs, or was told to end, whatever its hooks do."""
NEWS = frozenset((PeerState.SILENT, PeerState.ENDS, PeerState.CLOSED))


class Keepalives:
    """The signs of life that one process gives its peers, and those that it expects of them.

    Attributes:
        limit_s: a peer that was silent for so long is lost. eventfd: readable when `news` has some.
    """

    def __init__(self, thread: KeepaliveThread, sockets: Collection[socket.socket] = ()) -> None:
        """`sockets`: closed with this."""
        self.thread = thread
        self.limit_s, self.eventfd = thread.limit_s, thread.eventfd
        self._sockets = tuple(sockets)
        self._near: list[int] = []
        self._told: set[int] = set()
        self._lost: Callable[[int], None] = lambda peer: None
        self._is_closed = False

    @classmethod
    def over(
        cls,
        streams: Mapping[int, socket.socket],
        own: int,
        *,
        limit_s: float,
        vital: Collection[int] = (),
        grace_s: float = LEAVING_S,
    ) -> Keepalives:
        """Starts those of process `own` with the peers at the other ends of `streams`, which are closed by `close`. Without the
        `vital` ones this process ends."""
        thread = KeepaliveThread(
            None, own, len(streams), every_s=limit_s / BEATS, limit_s=limit_s, grace_s=grace_s
        )
        made = cls(thread, streams.values())
        try:
            for peer, stream in streams.items():
                thread.join(peer, stream)
            made.watch(streams, vital)
            thread.start()
        except BaseException:
            made.close()
            raise
        return made

    def watch(
        self, near: Collection[int], vital: Collection[int], lost: Callable[[int], None] | None = None
    ) -> None:
        """`news` tells of the peers `near`. Without the `vital` ones this process ends. `lost` is called with each silent one."""
        self._near = sorted(near)
        if lost is not None:
            self._lost = lost
        for peer in vital:
            self.thread.need(peer)

    def news(self) -> list[tuple[int, PeerState]]:
        """The peers that are lost or have told this process to end, each once."""
        if self._is_closed:
            return []
        self.thread.settle()
        found = []
        for peer in self._near:
            state = self.thread.state(peer)
            if state in NEWS and peer not in self._told:
                self._told.add(peer)
                found.append((peer, state))
                if state is PeerState.SILENT:
                    self._lost(peer)
        return found

    def missed(self, peer: int) -> str:
        """What is said of a peer that is silent; "" if it is not."""
        is_silent = not self._is_closed and self.thread.state(peer) is PeerState.SILENT
        return silence(self.limit_s) if is_silent else ""

    def clock(self, peer: int) -> ClockOffset | None:
        """How far the peer's clock is ahead; None: that is not known."""
        return None if self._is_closed else self.thread.clock(peer)

    def end(self, peer: int) -> None:
        """Tells a peer to end, now that nothing else helps."""
        if not self._is_closed:
            self.thread.end(peer)

    def forget(self, peer: int) -> None:
        """Nothing more is expected of a peer: it has said that it ends."""
        if not self._is_closed:
            self.thread.forget(peer)

    def close(self) -> None:
        """Tells all peers that this process leaves in order, and stops. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            self.thread.close(leaves=True)
            for each in self._sockets:
                each.close()

    def __enter__(self) -> Keepalives:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def silence(
    limit_s: float, cause: str = "its process is stopped, its host is gone, or the network to it is cut"
) -> str:
    """What is said of a peer that has fallen silent; `cause`: what is known of why."""
    return f"has given no sign of life for {limit_s:g} s: {cause}"
