"""A rank that does not host the coordinator: it passes messages on between its worker's thread and the home rank, and ends the
process when the home rank says so or is lost."""

from __future__ import annotations

import asyncio
import os
import resource
from functools import partial
from typing import TYPE_CHECKING

from actorstream.control.messages import Abort, Asked, Gone, Leave, Lost
from actorstream.errors import BrokenError, WorkerDiedError
from actorstream.launch.report import pss_bytes
from actorstream.launch.signals import pass_on
from actorstream.native.keepalive import PeerState

if TYPE_CHECKING:
    from actorstream.launch.ranks.identity import Identity
    from actorstream.launch.ranks.own_worker import OwnWorker
    from actorstream.launch.ranks.ways import Ways
    from actorstream.launch.signals import Signals

LETTING_GO_S = 1.0
"""After the home rank was lost, how long the worker may take to let go before the process ends without it."""


class OtherRank:
    """Runs beside the worker of this process.

    Args:
        own: the worker of this process, not yet started. home: the home rank. memory: whether to look at how much there is.
    """

    def __init__(self, own: OwnWorker, ways: Ways, home: Identity, *, memory: bool) -> None:
        self.own, self.ways, self.home, self.memory = own, ways, home, memory
        self.link = ways.links[home.rank]
        self.told: Leave | None = None
        """How the home rank said that the run has ended."""
        self._lost = ""
        self._signals = 0
        self._over = asyncio.Event()
        self._is_done = False

    async def run(self, signals: Signals) -> Leave:
        """Returns what the home rank has said at the end. WorkerDiedError: it is lost."""
        loop = asyncio.get_running_loop()
        try:
            signals.tell(partial(pass_on, loop, self._signalled))
            loop.add_reader(self.ways.signs.eventfd, self._felt)
            self.link.listen(loop, self._heard)
            self.own.link.listen(loop, self._heard_own)
            self.own.start()
            await self._over.wait()
            if self.told is None:
                self.own.link.send(Lost(self.home.rank, self._lost))
                self.own.link.close()  # so the worker aborts
                end = loop.time() + LETTING_GO_S
                while self.own.is_alive and loop.time() < end:
                    await asyncio.sleep(0.01)
        finally:
            signals.settle()
            loop.remove_reader(self.ways.signs.eventfd)
            self.link.leave()
            self.own.link.leave()
        if self.told is None:
            raise WorkerDiedError(self._lost)
        return self.told

    def _heard_own(self) -> None:
        for message in self.own.link.receive():
            self.link.send(message)
        if self.own.link.closed and not self._is_done:
            self._is_done = True
            usage = resource.getrusage(resource.RUSAGE_SELF)
            pss = pss_bytes(os.getpid()) if self.memory else 0
            self.link.send(Gone(self.own.rank, usage.ru_utime + usage.ru_stime, pss))

    def _heard(self) -> None:
        try:
            for message in self.link.receive():
                if isinstance(message, Leave):
                    self.told = message
                    self.ways.signs.forget(self.home.rank)
                    self._over.set()
                else:
                    self.own.link.send(message)
        except BrokenError as error:
            self._lose(f"sent what it must not: {error}")
        if self.link.closed and self.told is None:
            self._lose(self.ways.how_lost(PeerState.CLOSED))

    def _felt(self) -> None:
        for _, sign in self.ways.signs.news():
            if sign is PeerState.ENDS:
                self.own.link.send(Abort())
                continue
            if sign is not PeerState.SILENT:
                self._heard()  # what it has sent before
            self._lose(self.ways.how_lost(sign))

    def _lose(self, how: str) -> None:
        if not self._over.is_set():
            self._lost = (
                f"{self.home.name} (pid {self.home.pid}), which coordinates the run, {how}; this rank stops, and commits "
                "nothing more; launch again, with --resume if the run has checkpoints"
            )
            self._over.set()

    def _signalled(self, number: int) -> None:
        self._signals += 1
        self.link.send(Asked(self.own.rank, number, self._signals))
