"""The things that the workers of a run share before they start: the fabric of the data path, and sockets for control actors."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from actorstream.actors.peer_end import SocketEnd
from actorstream.plan.fuse import takes_messages

if TYPE_CHECKING:
    from actorstream.plan.job import Job
    from actorstream.transports.base import Fabric


class Shared:
    """Of one run on this machine; held by the launcher while it runs. ResourceError: the machine's limits are too small."""

    def __init__(self, job: Job, locks: Sequence[Any] = ()) -> None:
        """`locks`: files and sockets that the workers are to keep open."""
        self.locks = locks
        self._sockets: dict[tuple[int, int], socket.socket] = {}
        self.fabric: Fabric | None = job.make_fabric()
        """None if no channel leaves a process."""
        try:
            if any(takes_messages(actor.cls) for actor in job.graph.actors.values()):
                self._join(job.processes)
        except BaseException:
            self.__exit__()
            raise

    def _join(self, processes: int) -> None:
        for high in range(processes):
            for low in range(high):
                self._sockets[low, high], self._sockets[high, low] = socket.socketpair()

    def sockets(self, process: int) -> dict[int, socket.socket]:
        """Other process -> the end of the socket to it that is `process`'s; none if no actor takes messages."""
        return {peer: sock for (mine, peer), sock in self._sockets.items() if mine == process}

    def peers(self, process: int) -> dict[int, SocketEnd]:
        """Other process -> the way to it, for the control actors of `process`."""
        return {peer: SocketEnd(sock) for peer, sock in self.sockets(process).items()}

    def __enter__(self) -> Shared:
        return self

    def __exit__(self, *_: object) -> None:
        for sock in self._sockets.values():
            sock.close()
        if self.fabric is not None:
            self.fabric.close()
