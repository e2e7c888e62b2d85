"""How an outside producer and a listening worker meet: token, hello, offer with descriptors. Sockets and bytes only.

producer                                         worker
  connect to the abstract socket that the token names
  both check the other's user (SO_PEERCRED)
  Hello: version, plan, secret        ->         checks all three; a wrong one is refused, the token stays good
                                      <-         Offer: sizes, with four file descriptors (SCM_RIGHTS); or Refusal
  the connection stays open: its end tells each side that the other is gone
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import struct

import msgspec

from actorstream.errors import BrokenError, ConfigurationError
from actorstream.native.descriptors import receive_descriptors

VERSION = 2
PREFIX = "actorstream-shm1"
LONGEST = 4096
"""Bytes of the longest message; more is refused before it is decoded."""
DESCRIPTORS = 4
SECONDS = 10.0
"""How long either side waits for the other's next message."""
_CREDENTIALS = struct.Struct("iII")


class ProducerHello(msgspec.Struct, tag="hello", forbid_unknown_fields=True):
    """The producer's first words."""

    version: int
    plan: int
    secret: str


class Offer(msgspec.Struct, tag="offer", forbid_unknown_fields=True):
    """Where things lie; with descriptors of channel memory, arena, the eventfd to wake the worker by, and yours."""

    plan: int
    slots: int
    budget: int
    worker: int
    channel_bytes: int
    arena_id: int
    arena_limit: int


class Refusal(msgspec.Struct, tag="refusal", forbid_unknown_fields=True):
    """Why the worker does not let the producer in."""

    why: str


_hello = msgspec.msgpack.Decoder(ProducerHello)
_answer = msgspec.msgpack.Decoder(Offer | Refusal)


class ListenToken(msgspec.Struct, frozen=True):
    """What lets one producer in: the socket's name is public (/proc/net/unix), the secret is not."""

    name: str
    plan: int
    secret: str

    @classmethod
    def new(cls, plan: int) -> ListenToken:
        return cls(secrets.token_hex(8), plan, secrets.token_hex(16))

    @classmethod
    def parse(cls, text: str) -> ListenToken:
        """ConfigurationError if `text` is not what `str(token)` gives."""
        parts = text.split(":")
        try:
            if len(parts) != 4 or parts[0] != PREFIX or len(parts[1]) != 16 or len(parts[3]) != 32:
                raise ValueError
            bytes.fromhex(parts[1] + parts[3])
            return cls(parts[1], int(parts[2], 16), parts[3])
        except ValueError:
            raise ConfigurationError(
                f"{text[:80]!r} is no token of transport 'shm'; allowed: what listen() answered, "
                f"{PREFIX}:NAME:PLAN:SECRET"
            ) from None

    def __str__(self) -> str:
        return f"{PREFIX}:{self.name}:{self.plan:016x}:{self.secret}"

    @property
    def address(self) -> str:
        """In the abstract namespace: no file that could stay behind."""
        return f"\0actorstream-{self.name}"


def check_user(connection: socket.socket) -> None:
    """BrokenError unless the other process runs as this process's user."""
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    process, user, _ = _CREDENTIALS.unpack(raw)
    if user != os.geteuid():
        raise BrokenError(
            f"process {process} of user {user} is at the other end; allowed: this user, {os.geteuid()}"
        )


async def send_message(
    connection: socket.socket, message: ProducerHello | Offer | Refusal, fds: list[int]
) -> None:
    """One datagram (SOCK_SEQPACKET), with descriptors. The first message always fits into the socket's buffer."""
    socket.send_fds(connection, [msgspec.msgpack.encode(message)], fds)


async def receive_hello(connection: socket.socket) -> ProducerHello:
    """BrokenError: not a hello in time."""
    data, fds = await _receive(connection, 0)
    for fd in fds:
        os.close(fd)
    try:
        return _hello.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BrokenError(f"the other side sent no hello: {error}") from None


async def receive_offer(connection: socket.socket) -> tuple[Offer, list[int]]:
    """The offer and its descriptors, which the caller closes. BrokenError: refused, or nothing valid in time."""
    data, fds = await _receive(connection, DESCRIPTORS)
    try:
        answer = _answer.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        answer = Refusal(f"it sent no offer ({error})")
    if isinstance(answer, Offer) and len(fds) == DESCRIPTORS:
        return answer, fds
    for fd in fds:
        os.close(fd)
    why = answer.why if isinstance(answer, Refusal) else f"{len(fds)} descriptors came with its offer"
    raise BrokenError(f"the listening worker does not let this producer in: {why}")


async def _receive(connection: socket.socket, descriptors: int) -> tuple[bytes, list[int]]:
    try:
        async with asyncio.timeout(SECONDS):
            await readable(connection.fileno())
    except TimeoutError:
        raise BrokenError(f"the other side said nothing for {SECONDS:g} s") from None
    try:
        data, fds, flags = receive_descriptors(connection, LONGEST + 1, max(descriptors, 1))
    except OSError as error:
        raise BrokenError(f"the other side is gone: {error.strerror}") from None
    if not data or len(data) > LONGEST or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
        for fd in fds:
            os.close(fd)
        raise BrokenError("the other side hung up, or sent a message that is too long")
    return data, fds


async def readable(fd: int) -> None:
    """Waits until `fd` can be read."""
    loop = asyncio.get_running_loop()
    woken: asyncio.Future[None] = loop.create_future()
    loop.add_reader(fd, _wake, woken)
    try:
        await woken
    finally:
        loop.remove_reader(fd)


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
