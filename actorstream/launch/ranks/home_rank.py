"""The rank that hosts the coordinator: it hears its own worker in a thread and all others over their links, and tells them what
the coordinator decides. It is not on the data path."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from actorstream.control.messages import Asked, Gone, Leave, Lost, Message
from actorstream.errors import BrokenError
from actorstream.launch.hosting import make_host
from actorstream.launch.launcher import TICK_S
from actorstream.launch.signals import pass_on
from actorstream.native.keepalive import PeerState

if TYPE_CHECKING:
    from actorstream.control.link import ControlLink
    from actorstream.launch.ranks.identity import Identity
    from actorstream.launch.ranks.own_worker import OwnWorker
    from actorstream.launch.ranks.ways import Ways
    from actorstream.launch.report import Sampler
    from actorstream.launch.signals import Signals
    from actorstream.plan.job import Job

KILLED_S = 1.0
"""A rank that was told to end at once is given up so much later, whether or not that is known of it."""


class HomeRank:
    """Hosts one run.

    Args:
        own: the worker of this process, not yet started. identities: of all ranks. sampler: reads the counters.
        on_tick: called about 20 times a second.

    Attributes:
        cpu_s, pss: of the other ranks together, as far as they have told. lost: the ranks that did not end in order.
    """

    def __init__(
        self,
        job: Job,
        own: OwnWorker,
        ways: Ways,
        identities: Sequence[Identity],
        sampler: Sampler,
        on_tick: Callable[[], None] | None,
    ) -> None:
        self.job, self.own, self.ways, self.identities = job, own, ways, identities
        self.sampler, self.on_tick = sampler, on_tick
        self.links: dict[int, ControlLink] = {**ways.links, own.rank: own.link}
        self.host = make_host(job, self._send, self._kill)
        self.cpu_s, self.pss = 0.0, 0
        self.lost: set[int] = set()
        self._gone: set[int] = set()
        self._asked = 0
        self._killed: float | None = None
        self._signals = 0
        self._look_again = asyncio.Event()

    async def run(self, signals: Signals) -> None:
        """Returns when every worker has committed and ended. Raises RunError, OperatorError, Interrupted, ..."""
        loop = asyncio.get_running_loop()
        try:
            signals.tell(partial(pass_on, loop, self._signalled))
            loop.add_reader(self.ways.signs.eventfd, self._felt)
            for rank, link in self.links.items():
                link.listen(loop, partial(self._heard, rank))
            self.own.start()
            while self.host.finished is None:
                self._tick()
                tick = loop.call_later(TICK_S, self._look_again.set)  # `wait_for` would make a task each time
                await self._look_again.wait()
                self._look_again.clear()
                tick.cancel()
            self.sampler.sample()
        finally:
            signals.settle()
            loop.remove_reader(self.ways.signs.eventfd)
            for rank, link in self.links.items():
                if rank in self.lost:
                    link.close()  # nobody reads what is left, so nobody waits until it is written
                else:
                    link.leave()
        if self.host.finished.outcome is not None:
            raise self.host.finished.outcome

    @property
    def in_order(self) -> bool:
        """Whether every rank has let go of everything by itself."""
        return self.host.finished is not None and not self.lost and not self.own.is_alive

    def dismiss(self, status: int, text: str) -> None:
        """Tells the other ranks that they may end."""
        for rank, link in self.ways.links.items():
            if rank not in self.lost:
                link.send(Leave(status, self.in_order, text))

    # -- what comes

    def _heard(self, rank: int) -> None:
        link = self.links[rank]
        try:
            for message in link.receive():
                self._take(rank, message)
        except BrokenError as error:
            self._lose(rank, f"sent what it must not: {error}")
            return
        if link.closed:
            link.leave()
            if rank == self.own.rank:
                self._go(rank, "ended")
            else:
                self._lose(rank, self.ways.how_lost(PeerState.CLOSED))
        self._look()

    def _take(self, rank: int, message: Message) -> None:
        match message:
            case Asked(_, number, count):
                self._ask(number, count)
            case Gone(_, cpu_s, pss):
                self.cpu_s += cpu_s
                self.pss += pss
                self.ways.signs.forget(rank)
                self._go(rank, "ended")
            case _:
                self.host.heard(rank, message)

    def _felt(self) -> None:
        for rank, sign in self.ways.signs.news():
            if sign is not PeerState.SILENT:
                self._heard(rank)  # what it has sent before
            self._lose(rank, self.ways.how_lost(sign))
        self._look()

    def _lose(self, rank: int, how: str) -> None:
        if rank not in self._gone:
            self.lost.add(rank)
            self._go(rank, how)
            for other, link in self.links.items():
                if other not in self._gone:
                    link.send(Lost(rank, f"{self.identities[rank].name} {how}"))

    def _go(self, rank: int, how: str) -> None:
        if rank in self._gone:
            return
        self._gone.add(rank)
        each = self.identities[rank]
        actors = ", ".join(self.job.actors_of(rank)) or "none"
        self.host.lost(rank, f"{each.name} (pid {each.pid}, actors: {actors}) {how}")

    def _look(self) -> None:
        if self.host.finished is not None:
            self._look_again.set()

    def _tick(self) -> None:
        self.sampler.sample()
        if self.on_tick is not None:
            self.on_tick()
        self.host.tick()
        if self._killed is not None and monotonic() > self._killed + KILLED_S:
            for rank in self.links:
                self._lose(rank, "did not let go in time")
        self._look()

    # -- what is decided

    def _send(self, rank: int, message: Message) -> None:
        self.links[rank].send(message)

    def _kill(self) -> None:
        if self._killed is None:
            self._killed = monotonic()
            for rank in self.ways.links:
                if rank not in self._gone:
                    self.ways.signs.end(rank)

    # -- what others ask

    def _signalled(self, number: int) -> None:
        self._signals += 1
        self._ask(number, self._signals)

    def _ask(self, number: int, count: int) -> None:
        """One signal to all ranks is one wish."""
        if count > self._asked:
            self._asked = count
            coordinator, now = self.host.coordinator, monotonic()
            wish = coordinator.suspend if number == signal.SIGTERM else coordinator.interrupt
            self.host.do(wish(now))
            self._look()
