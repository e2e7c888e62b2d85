"""The worker of this process, which runs in a thread of its own, so that a hook cannot keep the process from hearing of the
others or of signals."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from actorstream.control.thread_link import ThreadLink
from actorstream.launch.process import import_ahead, serve

if TYPE_CHECKING:
    from actorstream.actors.peer_end import PeerEnd
    from actorstream.plan.job import Job
    from actorstream.transports.base import Fabric


class OwnWorker:
    """A worker of `job`. `link` is the coordinator's end of its control link; it closes when the thread has ended."""

    def __init__(self, job: Job, rank: int, fabric: Fabric | None, peers: Mapping[int, PeerEnd]) -> None:
        self.job, self.rank, self.fabric, self.peers = job, rank, fabric, peers
        self.link, self._far = ThreadLink.pair()
        self._is_over = False
        # a daemon: the process ends even if a hook never returns
        self._thread = threading.Thread(target=self._run, name=f"actorstream-w{rank}", daemon=True)

    def start(self) -> None:
        import_ahead(self.job)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it has been started and has not let go of everything."""
        return self._thread.is_alive() and not self._is_over

    def _run(self) -> None:
        try:
            serve(self.job, self.rank, self.fabric, self._far, self.peers)
        finally:
            self._is_over = True
            self._far.close()
