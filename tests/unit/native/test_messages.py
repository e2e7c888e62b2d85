"""Messages of ZeroMQ in and out of a socket, against what pyzmq sends and receives."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
import zmq

from actorstream.native.messages import MessageSocket, message_socket

LIBRARY = str(sys.modules[zmq.backend.Socket.__module__].__file__)
SMALL, MOST = 100, 3
Ends = tuple[zmq.Socket[bytes], zmq.Socket[bytes]]


@pytest.fixture
def sockets() -> Iterator[Ends]:
    """PUSH and PULL with room for two messages each."""
    with zmq.Context() as context, context.socket(zmq.PUSH) as push, context.socket(zmq.PULL) as pull:
        push.sndhwm = pull.rcvhwm = 2
        push.linger = 0
        pull.bind("inproc://messages")
        push.connect("inproc://messages")
        yield push, pull
    MessageSocket.free_sent()


def messages(socket: zmq.Socket[bytes]) -> MessageSocket:
    return message_socket(LIBRARY, int(socket.underlying), SMALL, MOST)


def test_what_is_sent_comes_part_by_part(sockets: Ends) -> None:
    push, pull = sockets
    assert messages(push).send(b"packet", [memoryview(b"first"), memoryview(b"x" * 5000), memoryview(b"")])
    assert pull.recv_multipart() == [b"packet", b"first", b"x" * 5000, b""]


@pytest.mark.parametrize("size", [0, 1, SMALL, SMALL + 1, 100_000])
def test_what_comes_is_given_as_it_is(sockets: Ends, size: int) -> None:
    push, pull = sockets
    content = bytes(each % 251 for each in range(size))
    push.send(content)
    push.send_multipart([b"packet", content, b"second"])
    end = messages(pull)
    packet, bodies = received(end)
    assert packet == content and bodies == []
    assert isinstance(packet, bytes if size <= SMALL else memoryview)
    packet, bodies = received(end)
    assert packet == b"packet" and bodies == [content, b"second"]
    assert end.receive() is None


def received(end: MessageSocket) -> tuple[Any, list[Any]]:
    found = end.receive()
    assert found is not None
    return found


def test_a_large_part_lives_as_long_as_a_view_of_it(sockets: Ends) -> None:
    push, pull = sockets
    push.send(b"y" * 1_000_000)
    end = messages(pull)
    part = received(end)[0][10:20]
    push.send(b"z" * 1_000_000)
    other, _ = received(end)
    assert bytes(part) == b"y" * 10
    assert other.readonly and other[0] == ord("z")


def test_of_more_parts_than_are_asked_for_the_rest_is_dropped(sockets: Ends) -> None:
    push, pull = sockets
    push.send_multipart([bytes([each]) for each in range(9)])
    push.send(b"next")
    end = messages(pull)
    assert received(end) == (b"\0", [b"\1", b"\2", b"\3"])
    assert received(end) == (b"next", [])


def test_without_room_nothing_is_sent(sockets: Ends) -> None:
    push, pull = sockets
    end = messages(push)
    sent = 0
    while end.send(b"%d" % sent, [memoryview(b"body")]):
        sent += 1
    assert sent >= 1
    first = [pull.recv_multipart() for _ in range(sent)]
    assert first == [[b"%d" % each, b"body"] for each in range(sent)]
    while not end.send(b"again", []):  # the socket looks now and then whether there is room again
        pass
    assert pull.recv_multipart() == [b"again"]


def test_memory_that_was_sent_is_let_go_once_nobody_has_the_message(sockets: Ends) -> None:
    push, pull = sockets
    memory = bytearray(b"m" * 1000)
    assert messages(push).send(b"packet", [memoryview(memory), memoryview(memory)])
    MessageSocket.free_sent()
    with pytest.raises(BufferError):  # it is under way
        memory.append(1)
    assert pull.recv_multipart()[1] == memory
    MessageSocket.free_sent()
    memory.append(1)


def test_memory_of_messages_that_never_went_is_let_go_with_the_context() -> None:
    memory = bytearray(b"m" * 1000)
    with zmq.Context() as context, context.socket(zmq.PUSH) as push:
        push.linger = 0
        push.connect("tcp://127.0.0.1:1")
        assert messages(push).send(b"packet", [memoryview(memory)])
    MessageSocket.free_sent()
    memory.append(1)


def test_many_messages_come_in_their_order(sockets: Ends) -> None:
    push, pull = sockets
    out, into = messages(push), messages(pull)
    numbers: list[int] = []
    sent = 0
    while len(numbers) < 5000:
        if sent < 5000 and out.send(b"%d" % sent, [memoryview(b"%d" % sent)] * (sent % 3)):
            sent += 1
        elif (found := into.receive()) is not None:
            packet, bodies = found
            assert bodies == [packet] * (int(packet) % 3)
            numbers.append(int(packet))
    assert all(later == earlier + 1 for earlier, later in pairwise(numbers))


@pytest.mark.parametrize(
    "arguments", [(), (b"packet",), (b"packet", ()), ("text", []), (b"packet", ["text"])]
)
def test_what_cannot_be_sent_is_a_type_error(sockets: Ends, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        messages(sockets[0]).send(*arguments)


def test_another_kind_of_socket_is_an_error_of_the_system(sockets: Ends) -> None:
    with pytest.raises(OSError, match="Operation not supported"):
        messages(sockets[1]).send(b"packet", [])


def test_a_library_without_libzmq_is_an_error() -> None:
    with pytest.raises(AttributeError):
        message_socket("libc.so.6", 0, SMALL, MOST)
