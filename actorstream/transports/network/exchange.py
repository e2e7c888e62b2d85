"""What one worker exchanges with its peers: its links, its channel ends, and the dispatch of what comes.

It runs on the worker's loop thread and never waits. A transport gives it a port and tells it of connections.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from actorstream.errors import BrokenError, ClosedError, ConfigurationError
from actorstream.native.doorbell import Doorbell
from actorstream.native.memory import create_eventfd
from actorstream.transports.base import Channel
from actorstream.transports.network.arrivals import Arrivals
from actorstream.transports.network.bell import PolledDoorbell
from actorstream.transports.network.link import End, Link, Port, new_incarnation
from actorstream.transports.network.message import (
    BYE,
    CLOCK,
    CLOCKS,
    GREETING,
    HELLO,
    Envelope,
    Message,
)
from actorstream.transports.network.receive_channel import NetworkReceiveChannel
from actorstream.transports.network.send_channel import NetworkSendChannel
from actorstream.transports.sizing import doorbell_bits

if TYPE_CHECKING:
    from actorstream.native.keepalive import ClockOffset

AT_ONCE = 64
"""Messages that are taken in before their consumer has its turn, so that credit goes back while more come."""
MOST_AHEAD = 1 << 61
"""Nanoseconds by which one clock can be ahead of another."""
LATER_S = 0.001
"""How long little credit and few acknowledgements wait for more."""


class Network(Protocol):
    """What every fabric of a network transport says."""

    workers: int
    channels: dict[int, Channel]
    plan: int
    secret: bytes


class Exchange:
    """One worker's links and channel ends.

    Args:
        bell: the worker's doorbell, if it has one for channels of other ways already, and where in its memory that is.
        met: called with a peer that has greeted and its process id, which is 0 if it runs on another host.
        clock: how far the home rank's clock is ahead of this worker's, where each worker only knows that; None: it is not known.

    Attributes:
        arrivals: what takes packets in.
    """

    def __init__(
        self,
        network: Network,
        worker: int,
        port: Port,
        *,
        trusted: bool,
        met: Callable[[int, int], None] = lambda peer, process: None,
        bell: tuple[Doorbell, int] | None = None,
        clock: Callable[[], ClockOffset | None] = lambda: None,
    ) -> None:
        self.network, self.worker, self.port, self.trusted = network, worker, port, trusted
        self._clock = clock
        self._clocks: dict[int, tuple[int, int]] = {}
        """Of each peer that has told it: how far the home rank's clock is ahead of the peer's, and the bound of the error."""
        self._met = met
        channels = network.channels.values()
        peers = {c.receiver for c in channels if c.sender == worker}
        peers |= {c.sender for c in channels if c.receiver == worker}
        peers.discard(worker)
        self.links = {
            peer: Link(port, Envelope(worker, peer, network.plan, network.secret), self._soon)
            for peer in sorted(peers)
        }
        self._eventfd = create_eventfd() if bell is None else None
        if self._eventfd is not None:
            self.bell = PolledDoorbell.polling(doorbell_bits(channels), self._eventfd, self)
        elif bell is not None:
            self.bell = PolledDoorbell.over(*bell, self)
        self.senders: dict[int, NetworkSendChannel] = {}
        self.receivers: dict[int, NetworkReceiveChannel] = {}
        self.arrivals = Arrivals(self)
        self._incarnation = new_incarnation()
        self._flushing = self._again = False
        self._later: asyncio.TimerHandle | None = None
        self._changed: asyncio.Event | None = None
        self._mismatch: ConfigurationError | None = None
        self._rung: set[int] | None = None
        """Bits that ring once all packets are taken in; None: nothing is being taken in, and bits ring at once."""
        self.closed = False

    # -- channel ends

    def sender(self, channel: Channel) -> NetworkSendChannel:
        """The sending end of one of this worker's channels; the same one each time. ConfigurationError: the doorbell does not
        have its bit."""
        found = self.senders.get(channel.id)
        if found is None:
            self.bell.require(channel.send_bit, f"the sending end of channel {channel.id}")
            link = self.links[channel.receiver]
            found = self.senders[channel.id] = NetworkSendChannel(channel, link, self)
            if not link.is_open:
                found.lose(link.lost or f"worker {link.peer} has left")
        return found

    def receiver(self, channel: Channel) -> NetworkReceiveChannel:
        """The receiving end of one of this worker's channels; the same one each time. ConfigurationError: the doorbell does
        not have its bit."""
        found = self.receivers.get(channel.id)
        if found is None:
            self.bell.require(channel.receive_bit, f"the receiving end of channel {channel.id}")
            link = self.links[channel.sender]
            found = NetworkReceiveChannel(channel, link, self)
            self.receivers[channel.id] = found
            if not link.is_open:
                found.lose(link.lost or f"worker {link.peer} has left without an end mark")
        return found

    def ring(self, bit: int) -> None:
        """Rings this worker's own doorbell; while many packets are taken in, once they all are."""
        if self._rung is not None:
            self._rung.add(bit)
        elif not self.closed:
            self.bell.ring(bit)

    def owe(self, link: Link, end: End, *, soon: bool) -> None:
        """Notes an end that has promises or credit to send. `soon`: even if nobody looks at the doorbell."""
        link.owing[id(end)] = end
        if soon:
            self._soon()

    def _soon(self) -> None:
        if not self._flushing:
            self._flushing = True
            _loop(self.worker).call_soon(self._flush_again, False)

    # -- what goes and comes

    def poll(self) -> None:
        """Takes in what has come, if much at most `AT_ONCE` messages, and sends what is owed."""
        if self.closed or self._rung is not None:
            return
        receive, take, left = self.port.receive, self.arrivals.take, AT_ONCE
        rung = self._rung = set()
        try:
            while left > 0 and (parts := receive()) is not None:
                left -= take(*parts)
            self.flush()
        finally:
            self._rung = None
            for bit in rung:
                self.ring(bit)
        if left <= 0 and not self._again:  # a descriptor tells of the rest only once
            self._again = True
            _loop(self.worker).call_soon(self._poll_again)

    def first(self) -> list[int]:
        """Takes in one packet, and nothing else, for a worker that has waited: it deals with the packet sooner, and looks again
        before it sleeps. Returns what the packet rings, instead of ringing."""
        parts = None if self.closed else self.port.receive()
        if parts is None:
            return []
        rung = self._rung = set()
        try:
            self.arrivals.take(*parts)
        finally:
            self._rung = None
        return list(rung)

    def rest(self) -> None:
        """The worker is about to wait: like `poll`, but a port that `is_drained` is not read again: it tells of what comes."""
        if not self.port.is_drained:
            self.poll()
        elif not self.closed and self._rung is None:
            self.flush()

    def _poll_again(self) -> None:
        self._again = False
        self.poll()

    def flush(self, *, now: bool = False) -> None:
        """Sends the promises, credit and acknowledgements that are worth a message; `now`: all of them."""
        left = False
        for link in self.links.values():
            left |= link.settle(now=now)
        if left and self._later is None:
            self._later = _loop(self.worker).call_later(LATER_S, self._flush_again, True)

    def _flush_again(self, now: bool) -> None:
        if now:
            self._later = None
        else:
            self._flushing = False
        if not self.closed:
            self.flush(now=now)

    # -- peers

    def greet(self, peer: int) -> None:
        """Says HELLO, once the connection to `peer` is there, and again after each time that it was cut."""
        body = GREETING.pack(os.getpid(), self._incarnation, self.network.workers, here())
        self.links[peer].control(HELLO, body=body)

    def greeted(self, link: Link, message: Message) -> None:
        """A peer has said HELLO. BrokenError: it is another process than before."""
        process, incarnation, workers, place = GREETING.unpack(message.body)
        if (message.plan, workers) != (self.network.plan, self.network.workers):
            self.refuse(
                ConfigurationError(
                    f"worker {link.peer} runs plan {message.plan:#018x} of {workers} workers, worker {self.worker} "
                    f"plan {self.network.plan:#018x} of {self.network.workers}; start all workers from the same files"
                )
            )
            return
        if link.greeted and link.incarnation != incarnation:
            raise BrokenError("a greeting of another process, in place of the one that was here")
        link.greeted, link.incarnation = True, incarnation
        self._met(link.peer, int(process) if place == here() else 0)
        self.change()

    def tell_clock(self) -> None:
        """Tells all peers how far the home rank's clock is ahead of this worker's, if that is known."""
        clock = self._clock()
        if clock is not None:
            for peer, link in self.links.items():
                link.control(CLOCK, body=CLOCKS.pack(*clock))
                self._compare_clocks(peer, clock)

    def clock_told(self, link: Link, message: Message) -> None:
        """A peer has told how far the home rank's clock is ahead of its own. BrokenError: no clock is."""
        ahead, error = CLOCKS.unpack(message.body)
        if abs(ahead) > MOST_AHEAD or not 0 <= error <= MOST_AHEAD:
            raise BrokenError(f"a clock that is {ahead} ns ahead, within {error} ns")
        self._clocks[link.peer] = ahead, error
        self._compare_clocks(link.peer, self._clock())

    def _compare_clocks(self, peer: int, own: ClockOffset | None) -> None:
        told = self._clocks.get(peer)
        if told is not None and own is not None:
            self.links[peer].compare_clocks(own.ahead - told[0], own.error + told[1])

    def refuse(self, error: ConfigurationError) -> None:
        """A peer runs something else: `gather` says so."""
        if self._mismatch is None:
            self._mismatch = error
        self.change()

    def lose(self, peer: int, why: str) -> None:
        """The peer is lost: its channels raise BrokenError once they are drained."""
        link = self.links[peer]
        if not link.lost:
            link.lost = why
            link.drop()
            self.part(peer, why)
            self.change()

    def part(self, peer: int, why: str) -> None:
        """Nothing more goes to a peer or comes from it."""
        for channel in self.network.channels.values():
            if (channel.sender, channel.receiver) == (self.worker, peer):
                self.sender(channel).lose(why)
            elif (channel.sender, channel.receiver) == (peer, self.worker):
                self.receiver(channel).lose(f"{why}, without an end mark")

    # -- start and end

    async def gather(self, limit_s: float, where: Iterable[str]) -> None:
        """Waits until every peer has greeted. ConfigurationError: one has another plan, or none answers in time."""
        places = dict(zip(sorted(self.links), where))
        links = self.links.values()
        done = await self._until(lambda: self._mismatch or all(each.greeted for each in links), limit_s)
        if self._mismatch is not None:
            raise self._mismatch
        if not done:
            missing = [peer for peer, link in self.links.items() if not link.greeted]
            raise ConfigurationError(
                f"worker {self.worker}: no answer within {limit_s:g} s from "
                + ", ".join(f"worker {peer} at {places.get(peer, 'unknown')}" for peer in missing)
                + "; check that it was started, that the address is right and that both have the same key"
            )

    async def leave(self, limit_s: float) -> None:
        """Closes all ends, and waits until every peer has what was sent to it, or is lost."""
        self.poll()
        for receiver in self.receivers.values():
            receiver.close()
        for sender in self.senders.values():
            sender.close()
        for link in self.links.values():
            if link.greeted:
                link.control(BYE)
        self.flush(now=True)
        await self._until(
            lambda: not any(e.unacknowledged for e in self.links.values() if e.is_open), limit_s
        )

    async def _until(self, condition: Any, limit_s: float) -> bool:
        end = monotonic() + limit_s
        self._changed = asyncio.Event()
        try:
            while True:
                self.poll()
                if condition():
                    return True
                self._changed.clear()
                try:
                    await asyncio.wait_for(self._changed.wait(), max(0.0, end - monotonic()))
                except TimeoutError:
                    return bool(condition())
        finally:
            self._changed = None

    def change(self) -> None:
        """Whoever waits for the peers looks again."""
        if self._changed is not None:
            self._changed.set()

    def close(self) -> None:
        """Frees the doorbell; nothing is taken in or sent any more."""
        if self.closed:
            return
        self.closed = True
        if self._later is not None:
            self._later.cancel()
        for link in self.links.values():
            link.drop()
        self.bell.close()
        if self._eventfd is not None:
            os.close(self._eventfd)


def _loop(worker: int) -> asyncio.AbstractEventLoop:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        raise ClosedError(f"worker {worker}: a network transport is used in its event loop") from None


def here() -> bytes:
    """Where this process runs, so that two processes with one of these see each other's process ids."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    space = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    return (int(boot, 16) ^ space).to_bytes(16, "little")
