"""Signs of life between processes, sent and awaited by a thread of C, so that a hook which holds Python's interpreter lock for
a minute is no death. It says who is lost; it decides nothing about a run."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from enum import IntEnum

from actorstream.native._core import lib
from actorstream.native.memory import create_eventfd
from actorstream.native.status import opened


class Sign(IntEnum):
    """What has become of a peer."""

    ALIVE = 0
    """It lives, or has left in order."""
    CLOSED = int(lib.AS_PULSE_CLOSED)
    """Its end of the connection has closed: its process has ended."""
    SILENT = int(lib.AS_PULSE_SILENT)
    """Nothing has come from it for the limit."""
    ENDS = int(lib.AS_PULSE_END)
    """It has told this process to end."""


class Pulse:
    """The signs of life of this process to its peers and of the peers to it.

    Args:
        sockets: peer -> a connected socket to it, which is closed by `close`.
        vital: peers without which this process cannot go on. If one is lost, or tells this process to end, the process
            exits `grace_s` later, whatever Python does; `close` prevents that.
        every_s: between two signs. limit_s: a peer that was silent for so long is lost.

    Attributes:
        eventfd: readable when `news` has some.
    """

    def __init__(
        self,
        sockets: Mapping[int, socket.socket],
        vital: Sequence[int] = (),
        *,
        every_s: float = 0.25,
        limit_s: float = 3.0,
        grace_s: float = 3.0,
    ) -> None:
        """ValueError: a descriptor is no socket, or the limit is not longer than the time between two signs."""
        self.limit_s = limit_s
        self._sockets = list(sockets.values())
        self.peers = sorted(sockets)
        self._numbers = {peer: number for number, peer in enumerate(self.peers)}
        self._told: set[int] = set()
        self.eventfd = create_eventfd()
        found = lib.as_pulse_open(
            [sockets[peer].fileno() for peer in self.peers],
            [peer in vital for peer in self.peers],
            len(self.peers),
            self.eventfd,
            *(round(each * 1e9) for each in (every_s, limit_s, grace_s)),
        )
        self._pulse = opened(found, f"signs of life between {len(self.peers) + 1} processes")

    def news(self) -> list[tuple[int, Sign]]:
        """The peers that are lost or have told this process to end, each once."""
        if self._pulse is None:
            return []
        try:
            os.read(self.eventfd, 8)
        except BlockingIOError:
            pass
        found = [(peer, Sign(lib.as_pulse_state(self._pulse, self._numbers[peer]))) for peer in self.peers]
        fresh: list[tuple[int, Sign]] = [
            (peer, sign) for peer, sign in found if sign is not Sign.ALIVE and peer not in self._told
        ]
        self._told.update(peer for peer, _ in fresh)
        return fresh

    def end(self, peer: int) -> None:
        """Tells a peer to end, now that nothing else helps."""
        if self._pulse is not None:
            lib.as_pulse_end(self._pulse, self._numbers[peer])

    def forget(self, peer: int) -> None:
        """Nothing more is expected of a peer: it has said that it ends."""
        if self._pulse is not None:
            lib.as_pulse_forget(self._pulse, self._numbers[peer])

    def close(self) -> None:
        """Tells all peers that this process leaves in order, and stops. Idempotent."""
        pulse, self._pulse = self._pulse, None
        if pulse is not None:
            lib.as_pulse_close(pulse)
            os.close(self.eventfd)
            for sock in self._sockets:
                sock.close()
