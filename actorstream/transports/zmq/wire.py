"""What the processes of a run over several hosts say to each other beside the data path: what they gather before the run, and
streams of bytes for control. A thread with an event loop of its own carries both over encrypted ZeroMQ.

A connection that is cut comes back by itself, and nothing is lost or doubled: messages are numbered, kept until they are
acknowledged, and sent again (`network/link.py`). Whether a peer lives, the keepalive says.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from math import inf
from time import monotonic
from typing import Any
from zlib import crc32

import msgspec

from actorstream.errors import ActorstreamError, BrokenError, ConfigurationError, WorkerDiedError
from actorstream.transports.network.exchange import here
from actorstream.transports.network.link import Link, new_incarnation
from actorstream.transports.network.message import (
    BYE,
    CREDIT,
    CREDITS,
    GATHER,
    GREETING,
    HELLO,
    STREAM,
    STREAM_END,
    Envelope,
    Message,
    header_of,
    key_between,
    read_single,
)
from actorstream.transports.network.stream_pump import StreamPump
from actorstream.transports.zmq.sockets import LINGER_MS, Sockets, curve_keys

WIRE_PLAN = 0
"""In the place of a plan's fingerprint: there is none yet."""
SLOTS = 4096
LATER_S = 0.002
"""How long an acknowledgement waits for a message that goes back anyway."""
AT_ONCE = 64
LOOK_S = 0.25
"""Between two looks at who is lost, while this process waits for others."""
TELL_S, TOLD = 5.0, 4
"""Who waits longer for others says so, and names so many of them."""
Wanted = tuple[int, str]


class Wire:
    """One process's.

    Args:
        rank: of this process. addresses: of all, by rank, as they are connected to; names: as messages name them.
        bound: what this process listens at. secret: that of the run.
        curve: whether it is encrypted. away_s: of `Sockets`.

    Attributes:
        missed: what is said of a peer that is missed, "" of another; None: it is not known yet which of them live.
        refused: messages that carried no key of this run and were dropped unread.
    """

    def __init__(
        self,
        rank: int,
        addresses: list[str],
        names: list[str],
        bound: str,
        secret: bytes,
        *,
        curve: bool,
        away_s: float,
    ) -> None:
        """ConfigurationError: it cannot listen there, or cannot open the ways to the others."""
        self.rank, self.size, self.names = rank, len(addresses), names
        self._sockets = Sockets(
            bound,
            peers=self.size - 1,
            curve=curve_keys(secret) if curve else None,
            slots=SLOTS,
            away_s=away_s,
        )
        others = [peer for peer in range(self.size) if peer != rank]
        self.links = {peer: Link(self._sockets, Envelope(rank, peer, WIRE_PLAN, secret)) for peer in others}
        self._keys = {peer: key_between(secret, peer, rank) for peer in others}
        self._incarnation = new_incarnation()
        self._connected: set[int] = set()
        self._gathered: dict[tuple[int, int], bytes] = {}
        """(peer, round) -> what it has given."""
        self._rounds = 0
        self._pumps: dict[tuple[int, int], StreamPump] = {}
        """(peer, number of the stream) -> its local end."""
        self._early: dict[tuple[int, int], list[Message]] = {}
        """What has come for a stream that is not open here yet."""
        self._changed = asyncio.Event()
        self._mismatch: ConfigurationError | None = None
        self._again = False
        self.missed: Callable[[int], str] | None = None
        self._flushing: asyncio.TimerHandle | None = None
        self.refused = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="actorstream-wire", daemon=True)
        self._closed = False
        try:  # here, since nobody hears of an error in the thread before its loop runs
            for peer in others:
                self._sockets.connect(peer, addresses[peer])
                self._greet(peer)
            self._sockets.watch(self._loop, self._poll, self._look_at_connections)
        except BaseException:
            self._sockets.close(0)
            self._loop.close()
            raise
        self._loop.call_soon(self._look_at_connections)
        self._loop.call_soon(self._poll)
        self._thread.start()

    # -- used by the main thread

    def gather(self, data: bytes, home: int, limit_s: float) -> list[bytes]:
        """What every process has given, by rank. ConfigurationError names those that have not answered in time, WorkerDiedError
        those that are lost."""
        return self._call(self._gather(data, home, limit_s))

    def streams(self, wanted: Iterable[Wanted]) -> dict[Wanted, socket.socket]:
        """A local socket for each (peer, purpose), whose bytes the peer's socket for (this process, purpose) gets."""
        return self._call(self._open(list(wanted)))

    def lose(self, peer: int) -> None:
        """The peer is lost: its streams end."""
        if not self._closed:
            self._loop.call_soon_threadsafe(self._lose, peer, f"worker {peer} is lost")

    def close(self, limit_s: float) -> None:
        """Waits until every peer that lives has what was sent to it. Idempotent."""
        if self._closed:
            return
        self._closed = True
        try:
            asyncio.run_coroutine_threadsafe(self._leave(limit_s), self._loop).result()
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _call(self, coroutine: Any) -> Any:
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    # -- everything below runs in the thread

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)  # of calls that a signal has ended
        for task in left:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))

    def _greet(self, peer: int) -> None:
        body = GREETING.pack(os.getpid(), self._incarnation, self.size, here())
        self.links[peer].control(HELLO, body=body)

    def _look_at_connections(self) -> None:
        for peer, is_made in self._sockets.connections():
            link = self.links[peer]
            if not is_made or not link.is_open:
                continue
            if peer in self._connected:
                self._greet(peer)
                link.resend()
            self._connected.add(peer)

    def _poll(self) -> None:
        left = AT_ONCE
        while left and (parts := self._sockets.receive()) is not None:
            self._take(*parts)
            left -= 1
        if not left and not self._again:  # a descriptor tells of the rest only once
            self._again = True
            self._loop.call_soon(self._poll_again)
        self._settle()

    def _poll_again(self) -> None:
        self._again = False
        self._poll()

    def _settle(self) -> None:
        left = False
        for link in self.links.values():
            left |= link.acknowledge()
        if left and self._flushing is None:
            self._flushing = self._loop.call_later(LATER_S, self._acknowledge_all)

    def _acknowledge_all(self) -> None:
        self._flushing = None
        for link in self.links.values():
            link.acknowledge(now=True)

    def _take(self, packet: Any, bodies: Sequence[Any] = ()) -> None:
        try:
            header = header_of(packet, 0, self.rank, self._keys)
        except ConfigurationError as error:
            self._mismatch = error
            self._changed.set()
            return
        if header is None or (link := self.links[header[4]]).lost:
            self.refused += header is None
            return
        try:
            message = read_single(header, packet, list(bodies))
            if message.kind == HELLO:
                self._greeted(link, message)
            elif not link.greeted:
                return  # the connection was cut before its greeting came; it will be sent again
            if link.accepts(message, len(message.body)):
                self._dispatch(link, message)
        except BrokenError as error:
            self._lose(link.peer, f"worker {link.peer} sent what it must not: {error}")
        self._changed.set()

    def _greeted(self, link: Link, message: Message) -> None:
        _, incarnation, size, _ = GREETING.unpack(message.body)
        if size != self.size:
            self._mismatch = ConfigurationError(
                f"worker {link.peer} at {self.names[link.peer]} is one of {size}, worker {self.rank} one of {self.size}; start "
                "all with the same --deploy, --set and --workers"
            )
        elif link.greeted and link.incarnation != incarnation:
            raise BrokenError("a greeting of another process, in place of the one that was here")
        link.greeted, link.incarnation = True, incarnation

    def _dispatch(self, link: Link, message: Message) -> None:
        kind, at = message.kind, (link.peer, message.channel)
        if kind == GATHER:
            self._gathered[at] = bytes(message.body)
        elif kind in (STREAM, STREAM_END, CREDIT):
            pump = self._pumps.get(at)
            if pump is None:
                message.body = bytes(message.body)
                self._early.setdefault(at, []).append(message)
            else:
                _hand(pump, message)
        elif kind == BYE:
            link.acknowledge(now=True)
            link.left = True
            link.drop()
            self._end_streams(link.peer)

    def _lose(self, peer: int, why: str) -> None:
        link = self.links[peer]
        if not link.lost:
            link.lost = why
            link.drop()
            self._end_streams(peer)
            self._changed.set()

    def _end_streams(self, peer: int) -> None:
        for (other, _), pump in self._pumps.items():
            if other == peer:
                pump.end()

    async def _gather(self, data: bytes, home: int, limit_s: float) -> list[bytes]:
        self._rounds += 1
        number, others = self._rounds, list(self.links)
        if self.rank != home:
            self.links[home].control(GATHER, number, data)
            await self._until(lambda: (home, number) in self._gathered, limit_s, [home])
            whole: list[bytes] = msgspec.msgpack.decode(self._gathered.pop((home, number)), type=list[bytes])
            return whole
        await self._until(
            lambda: all((peer, number) in self._gathered for peer in others), limit_s, others, number
        )
        found = [
            data if peer == self.rank else self._gathered.pop((peer, number)) for peer in range(self.size)
        ]
        whole_data = msgspec.msgpack.encode(found)
        for peer in others:
            self.links[peer].control(GATHER, number, whole_data)
        return found

    async def _until(
        self, condition: Callable[[], bool], limit_s: float, peers: list[int], number: int = 0
    ) -> None:
        begun = monotonic()
        tell_at = begun + TELL_S
        while not condition():
            if self._mismatch is not None:
                raise self._mismatch
            for peer in peers:
                if how := _how_lost(self.links[peer], self.names[peer], self.missed):
                    raise WorkerDiedError(how)
            self._changed.clear()
            now = monotonic()
            if now >= begun + limit_s:
                raise self._silent(peers, number, limit_s)
            if now >= tell_at:
                tell_at = inf
                self._tell(peers, number, limit_s)
            try:
                await asyncio.wait_for(
                    self._changed.wait(), min(now + LOOK_S, tell_at, begun + limit_s) - now
                )
            except TimeoutError:
                continue

    def _tell(self, peers: list[int], number: int, limit_s: float) -> None:
        """Says on stderr whom this process waits for."""
        missing = [peer for peer in peers if (peer, number) not in self._gathered]
        names = ", ".join(f"worker {peer} at {self.names[peer]}" for peer in missing[:TOLD])
        more = f" and {len(missing) - TOLD} more" if len(missing) > TOLD else ""
        print(
            f"actorstream: worker {self.rank} waits for {names}{more}, up to {limit_s:g} s",
            file=sys.stderr,
            flush=True,
        )

    def _silent(self, peers: list[int], number: int, limit_s: float) -> ActorstreamError:
        missing = [peer for peer in peers if (peer, number) not in self._gathered]
        said = []
        for peer in missing:
            state = "has connected but does not answer" if self.links[peer].greeted else "does not answer"
            said.append(f"worker {peer} at {self.names[peer]} {state}")
        return ConfigurationError(
            f"worker {self.rank} at {self.names[self.rank]}: within {limit_s:g} s, {', '.join(said)}; check that it was started, "
            "that its address and port are right and open for tcp, and that both have the same key"
        )

    async def _open(self, wanted: list[Wanted]) -> dict[Wanted, socket.socket]:
        found = {}
        for peer, purpose in wanted:
            ours, theirs = socket.socketpair()
            link, number = self.links[peer], crc32(purpose.encode())
            pump = StreamPump(theirs, self._loop, self._sender(link, number))
            self._pumps[peer, number] = pump
            found[peer, purpose] = ours
            for message in self._early.pop((peer, number), ()):
                _hand(pump, message)
            if not link.is_open:
                pump.end()
        return found

    @staticmethod
    def _sender(link: Link, number: int) -> Callable[[int, bytes], None]:
        return lambda kind, body: link.control(kind, number, body)

    async def _leave(self, limit_s: float) -> None:
        end = monotonic() + limit_s
        links = self.links.values()
        try:
            for pump in self._pumps.values():
                pump.drain()
            for link in links:
                if link.greeted:
                    link.control(BYE)
            while any(each.unacknowledged for each in links if each.is_open and each.greeted):
                self._changed.clear()
                try:
                    await asyncio.wait_for(self._changed.wait(), max(0.0, end - monotonic()))
                except TimeoutError:
                    break
            self._acknowledge_all()
        finally:
            for pump in self._pumps.values():
                pump.close()
            if self._flushing is not None:
                self._flushing.cancel()
            self._sockets.unwatch(self._loop)
            lost = frozenset(peer for peer, link in self.links.items() if link.lost or link.left)
            self._sockets.close(LINGER_MS, lost)


def _how_lost(link: Link, name: str, missed: Callable[[int], str] | None) -> str:
    """What is said of a peer that does not answer any more; "": it may."""
    if missed is None or link.lost:
        return link.lost
    if link.left:
        return f"worker {link.peer} at {name} has ended before the run began; its output says why"
    how = missed(link.peer)
    return f"worker {link.peer} at {name} {how}" if how else ""


def _hand(pump: StreamPump, message: Message) -> None:
    if message.kind == STREAM:
        pump.arrived(bytes(message.body))
    elif message.kind == STREAM_END:
        pump.end()
    else:
        pump.credit(CREDITS.unpack(message.body)[1])
