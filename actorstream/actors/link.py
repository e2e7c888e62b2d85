"""One connection to another system: handshake, frames out (gathered, one write per loop iteration) and frames in.

What a frame means for an actor is in inbound.py; credit of the sending side and the ref are in remote.py.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.actors.address import stranger, tune
from actorstream.actors.failure import Failure, rebuild
from actorstream.actors.inbound import Inbound, InboundActors, RemoteReply
from actorstream.actors.remote import RemoteActor
from actorstream.actors.send_queue import SendQueue
from actorstream.actors.typetable import InboundTypes
from actorstream.actors.wire import (
    PROTOCOL,
    ActorFrameKind,
    Alive,
    Control,
    Credit,
    Dead,
    DefineActor,
    DefineType,
    Frame,
    FrameReader,
    Goodbye,
    Hello,
    Need,
    Welcome,
    Window,
    read_control,
)
from actorstream.errors import ActorDeadError, ActorError, BrokenError, ChannelError

if TYPE_CHECKING:
    from actorstream.actors.clock import TimerHandle
    from actorstream.actors.links import Links

log = logging.getLogger("actorstream.actors")

HANDSHAKE_SECONDS = 10.0
UNSENT_ANSWERS = 256 << 20
"""Bytes of answers that may wait for a peer that does not read; further asks of it fail."""

_TELL, _ASK, _ANSWER, _ERROR, _STOP = (
    int(ActorFrameKind.TELL),
    int(ActorFrameKind.ASK),
    int(ActorFrameKind.ANSWER),
    int(ActorFrameKind.ERROR),
    int(ActorFrameKind.STOP),
)
_failure_decoder = msgspec.msgpack.Decoder(Failure)


class PeerLink(asyncio.Protocol):
    """`closed` is None while it works, then why it does not. `peer` is the other system's name, once it is known."""

    def __init__(self, links: Links, expected: str | None = None) -> None:
        system = links.system
        self.system = system
        self.links = links
        self.peer = ""
        self.identity = 0
        self.closed: ChannelError | ActorError | None = None
        self.established: asyncio.Future[str] = system.loop.create_future()
        self.lost: asyncio.Future[None] = system.loop.create_future()
        self.outbox = SendQueue()
        self.pending: dict[int, asyncio.Future[Any]] = {}
        self.types = InboundTypes(links.registered, links.ref)
        self.rejected = 0
        """Tells that did not decode, and were dropped."""
        self._expected = expected
        self._transport: asyncio.Transport
        self._reader = FrameReader()
        self._open = False
        self._dirty = False
        self._paused = False
        self._held: list[Frame] = []
        self._asks = 0
        self._targets: dict[str, RemoteActor] = {}
        self._numbered: list[RemoteActor] = []
        self.actors = InboundActors(self)
        self._owing: list[Inbound] = []
        self._alarm: TimerHandle | None = None

    # -- connection -----------------------------------------------------------------------------------------------

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self.links.links.add(self)
        foreign = _checked(transport.get_extra_info("socket"))
        if foreign:
            self.break_off(
                BrokenError(f"{foreign} is on the other end of a unix socket; only our own user and root may")
            )
            return
        silent = BrokenError(f"the other end said nothing valid within {HANDSHAKE_SECONDS:g} s")
        clock = self.system.clock
        self._alarm = clock.call_at(clock.time() + HANDSHAKE_SECONDS, self.break_off, silent)
        self.control(Hello(PROTOCOL, self.system.name, self.links.identity, self.system.max_frame))

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, error: Exception | None) -> None:
        if self.closed is None:
            who = f"system {self.peer!r}" if self.peer else "the other end"
            lost = BrokenError(f"{who} is lost: {error or 'it closed the connection without a goodbye'}")
            try:
                self._catch_up()
            except BrokenError as wrong:
                lost = wrong
            self._close(lost)
        if not self.lost.done():
            self.lost.set_result(None)

    def break_off(self, error: ChannelError | ActorError) -> None:
        """Ends the link at once."""
        self._close(error)
        self._transport.abort()

    def say_goodbye(self, reason: str, refused: bool = False) -> None:
        """Ends the link in order: what is gathered is still written."""
        if self.closed is None:
            self.control(Goodbye(reason, refused))
            self.flush()
            self._close(
                BrokenError(f"refused: {reason}")
                if refused
                else ActorDeadError(f"this end has stopped: {reason}")
            )
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    def _close(self, error: ChannelError | ActorError) -> None:
        if self.closed is not None:
            return
        self.closed = error
        self._open = False
        if self._alarm is not None:
            self._alarm.cancel()
        if not self.established.done():
            self.established.set_exception(error)
            self.established.exception()  # whoever accepts has nobody to tell
            log.info("system %r: no link: %s", self.system.name, error)
        pending, self.pending = self.pending, {}
        for future in pending.values():
            if not future.done():
                future.set_exception(type(error)(str(error)))
        self._held.clear()
        for target in self._numbered:
            target.lost(error)
        self.links.gone(self, error)

    # -- frames out -----------------------------------------------------------------------------------------------

    def mark(self) -> None:
        """There is something to write: it goes out at the end of this turn of the loop."""
        if not self._dirty and self.closed is None:
            self._dirty = True
            self.system.turns.dirty(self)

    def flush(self) -> None:
        self._dirty = False
        if self.closed is not None:
            return
        for inbound in self._owing:
            inbound.owing = False
            self.outbox.control(Credit(inbound.number, inbound.window.settle()))
        self._owing.clear()
        if self.outbox.frames:
            self._transport.write(self.outbox.take())

    def control(self, message: Control) -> None:
        if self.closed is None:
            self.outbox.control(message)
            self.mark()

    def new_ask(self) -> tuple[int, asyncio.Future[Any]]:
        while True:
            self._asks = (self._asks + 1) & 0xFFFFFFFF
            if self._asks and self._asks not in self.pending:
                break
        future = self.pending[self._asks] = self.system.loop.create_future()
        return self._asks, future

    def target(self, name: str) -> RemoteActor:
        """The actor of that name on the other side, introduced at its first use. ActorError: the name is no text."""
        target = self._targets.get(name)
        if target is None:
            target = RemoteActor(self, len(self._numbered), name)
            try:
                self.control(DefineActor(target.number, name))
            except UnicodeEncodeError as error:
                raise ActorError(
                    f"actor {name!r} cannot be named to system {self.peer!r}: {error}"
                ) from error
            self._targets[name] = target
            self._numbered.append(target)
        return target

    def owe(self, inbound: Inbound) -> None:
        self._owing.append(inbound)
        self.mark()

    @property
    def congested(self) -> bool:
        """Whether the peer leaves too many answers unread."""
        return len(self.outbox.frames) + self._transport.get_write_buffer_size() > UNSENT_ANSWERS

    def pause_writing(self) -> None:
        self._paused = True

    def resume_writing(self) -> None:
        """The peer reads again: its requests, which waited meanwhile, go on."""
        self._paused = False
        try:
            self._catch_up()
        except BrokenError as error:
            self.break_off(error)

    def _catch_up(self) -> None:
        """Hands out the requests that waited for the peer to read, in their order."""
        held, self._held = self._held, []
        for frame in held:
            self._request(frame)

    # -- frames in ------------------------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        if self.closed is not None:
            return
        try:
            for frame in self._reader.feed(data):
                kind = frame[0]
                if kind == _TELL and self._open and not self._paused:
                    self.actors.at(frame[2]).tell(frame[1], frame[4])
                elif kind == 0:
                    self._control(read_control(frame[4]))
                    if self.closed is not None:
                        return
                elif not self._open:
                    raise BrokenError("the peer sent requests before the handshake was over")
                elif kind in (_ANSWER, _ERROR):
                    self._answer(frame)
                elif self._paused:
                    self._held.append(frame)
                else:
                    self._request(frame)
        except BrokenError as error:
            log.error("system %r breaks off with %r: %s", self.system.name, self.peer, error)
            self.break_off(error)
        self.system.turns.run()

    def _request(self, frame: Frame) -> None:
        kind, number, target, ask, body = frame
        inbound = self.actors.at(target)
        if kind == _TELL:
            inbound.tell(number, body)
        elif kind == _ASK:
            inbound.ask(number, body, RemoteReply(self, ask))
        elif kind == _STOP:
            inbound.stop(RemoteReply(self, ask))
        else:
            raise BrokenError(f"the peer sent a frame of unknown kind {kind}")

    def _answer(self, frame: Frame) -> None:
        kind, number, _, ask, body = frame
        future = self.pending.pop(ask, None)
        if future is None or future.done():
            return  # its asker has given up
        try:
            if kind == _ANSWER:
                future.set_result(self.types.decode(number, body))
            else:
                future.set_exception(rebuild(_failure_decoder.decode(body)))
        except ActorError as error:
            future.set_exception(error)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            future.set_exception(BrokenError("the answer is not readable"))
            raise BrokenError(f"the peer sent an error that is none: {error}") from error

    def _control(self, message: Control) -> None:
        if isinstance(message, Hello):
            self._hello(message)
        elif isinstance(message, Goodbye):
            self._catch_up()
            if message.refused:
                self._close(BrokenError(f"the other system refuses the connection: {message.reason}"))
            else:
                self._close(ActorDeadError(f"system {self.peer!r} has stopped: {message.reason}"))
            self._transport.close()
        elif not self.peer:
            raise BrokenError("the peer did not begin with its Hello")
        elif isinstance(message, Welcome):
            self._welcome()
        elif not self._open:
            raise BrokenError("the peer went on before the handshake was over")
        elif isinstance(message, DefineType):
            self.types.define(message.number, message.name)
        elif isinstance(message, DefineActor):
            self.actors.define(message)
        elif isinstance(message, Need):
            self.actors.need(message.target)
        else:
            self._about_target(message)

    def _hello(self, hello: Hello) -> None:
        if self.peer:
            raise BrokenError("the peer said Hello twice")
        if hello.protocol != PROTOCOL:
            reason = (
                f"protocol version {hello.protocol}, this end speaks {PROTOCOL}: install the same actorstream"
            )
        else:
            reason = self.links.objection(hello, self._expected)
        if reason:
            self.say_goodbye(reason, refused=True)
            return
        self.peer, self.identity = hello.name, hello.identity
        self.outbox.limit = hello.max_frame
        self._reader.limit = self.system.max_frame
        self.control(Welcome())

    def _welcome(self) -> None:
        if self._open:
            raise BrokenError("the peer said Welcome twice")
        self._open = True
        if self._alarm is not None:
            self._alarm.cancel()
        self.links.opened(self)
        if not self.established.done():
            self.established.set_result(self.peer)

    def _about_target(self, message: Window | Credit | Dead | Alive) -> None:
        if not message.target < len(self._numbered):
            raise BrokenError(f"the peer speaks of actor number {message.target}, which was never named")
        target = self._numbered[message.target]
        if isinstance(message, Credit):
            target.credit(message.size)
        elif isinstance(message, Window):
            target.resize(message.size)
        elif isinstance(message, Dead):
            target.died(message.reason)
        else:
            target.revived()


def _checked(own: Any) -> str:
    """Sets a socket up; returns who may not be at its other end, if so. None: the way is no socket, and whoever made it knows
    who is there."""
    if own is None:
        return ""
    with socket.socket(fileno=os.dup(own.fileno())) as sock:
        tune(sock)
        return stranger(sock)
