"""The signs of life between processes on several hosts, as a run looks at them: who is lost, and how far clocks are apart."""

from __future__ import annotations

from collections.abc import Callable, Collection

from actorstream.native.keepalive import ClockOffset, KeepaliveThread, PeerState
from actorstream.native.pulse import Sign

_SIGNS = {PeerState.SILENT: Sign.SILENT, PeerState.ENDS: Sign.ENDS}


class Keepalives:
    """Of one process. `news`, `end`, `forget` and `close` are those of `native.pulse.Pulse`, over datagrams."""

    def __init__(self, thread: KeepaliveThread) -> None:
        self.thread = thread
        self.limit_s, self.eventfd = thread.limit_s, thread.eventfd
        self._near: list[int] = []
        self._told: set[int] = set()
        self._lost: Callable[[int], None] = lambda peer: None
        self._is_closed = False

    def watch(self, near: Collection[int], vital: Collection[int], lost: Callable[[int], None]) -> None:
        """`news` tells of the peers `near`. Without the `vital` ones this process ends. `lost` is called with each silent one."""
        self._near, self._lost = sorted(near), lost
        for peer in vital:
            self.thread.need(peer)

    def news(self) -> list[tuple[int, Sign]]:
        """The peers that are lost or have told this process to end, each once."""
        if self._is_closed:
            return []
        self.thread.settle()
        found = []
        for peer in self._near:
            sign = _SIGNS.get(self.thread.state(peer))
            if sign is not None and peer not in self._told:
                self._told.add(peer)
                found.append((peer, sign))
                if sign is Sign.SILENT:
                    self._lost(peer)
        return found

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
