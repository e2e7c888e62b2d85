"""Control messages arrive whole and in order, whatever state the pipe and its ends are in."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import threading

import pytest

from actorstream.control.failures import failed_message, reported_error
from actorstream.control.messages import (
    Barrier,
    Collected,
    Commit,
    Drain,
    Failed,
    Finished,
    Lost,
    Prepared,
    Snapshot,
    Started,
    encode,
)
from actorstream.control.pipe import ControlPipe
from actorstream.errors import BrokenError, OperatorError, RunError

ALL = [
    Started(0),
    Snapshot(1, 2, 3, b"state", None),
    Snapshot(1, 2, 3, b"", b"token"),
    Prepared(1),
    Collected(1, "out", b"data"),
    Barrier(5),
    Drain(),
    Commit(2**63 - 1),
    Finished(3),
]


def readable(pipe: ControlPipe) -> None:
    """Waits until something has come, or the end."""
    pipe.sock.recv(1, socket.MSG_PEEK)


def test_messages_arrive_in_order() -> None:
    left, right = ControlPipe.pair()
    for message in ALL:
        left.send(message)
    assert right.receive() == ALL
    assert right.receive() == []
    assert not right.closed
    left.close()
    assert right.receive() == []
    assert right.closed


def test_what_was_sent_before_the_end_is_still_received() -> None:
    left, right = ControlPipe.pair()
    left.send(Finished(1))
    left.close()
    assert right.receive() == [Finished(1)]
    assert right.closed


def test_a_failed_send_loses_nothing_that_had_come() -> None:
    left, right = ControlPipe.pair()
    left.send(Finished(1))
    left.close()
    right.send(Drain())
    right.send(Drain())
    assert right.receive() == [Finished(1)]


@pytest.mark.parametrize("blocking", [True, False])
def test_a_large_message_waits_for_room(blocking: bool) -> None:
    """Also where an event loop has made the sending end non-blocking behind our back."""
    left, right = ControlPipe.pair()
    os.set_blocking(left.fileno(), blocking)
    large = Collected(0, "out", bytes(8 << 20))
    sender = threading.Thread(target=left.send, args=(large,))
    sender.start()
    found: list[object] = []
    while not found:
        readable(right)
        found = right.receive()
    sender.join()
    assert found == [large]


def test_a_message_that_comes_in_pieces_is_put_together() -> None:
    left, right = ControlPipe.pair()
    raw, probe = ControlPipe.pair()
    raw.send(Collected(1, "out", b"x" * 100))
    data = probe.sock.recv(4096)
    for at in range(len(data)):
        assert right.receive() == []
        left.sock.sendall(data[at : at + 1])
    assert right.receive() == [Collected(1, "out", b"x" * 100)]


async def test_a_loop_that_listens_does_not_wait_for_a_reader() -> None:
    left, right = ControlPipe.pair()
    loop = asyncio.get_running_loop()
    left.listen(loop, lambda: None)
    given = [Collected(1, "out", bytes([number]) * 3_000_000) for number in range(3)]
    for each in given:
        left.send(each)  # nobody reads
    found: list[object] = []
    while len(found) < len(given):
        found += right.receive()
        await asyncio.sleep(0)
    left.leave()
    assert found == given


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (struct.pack("<Q", 3) + b"\xc1\xc1\xc1", "cannot be decoded"),
        (struct.pack("<Q", 1) + b"\x05", "cannot be decoded"),
    ],
)
def test_malformed_bytes_are_a_broken_peer(data: bytes, message: str) -> None:
    left, right = ControlPipe.pair()
    left.sock.sendall(data)
    with pytest.raises(BrokenError, match=message):
        right.receive()


def test_an_operator_error_is_the_same_on_the_other_side() -> None:
    error = OperatorError("split", 2, "ValueError: no", "Line('x')", "File ...")
    left, right = ControlPipe.pair()
    left.send(failed_message(4, error))
    (message,) = right.receive()
    assert isinstance(message, Failed)
    again = reported_error(message)
    assert isinstance(again, OperatorError)
    assert str(again) == str(error)
    assert (again.actor, again.replica, again.error, again.event, again.traceback) == (
        "split",
        2,
        "ValueError: no",
        "Line('x')",
        "File ...",
    )


def test_other_errors_keep_their_words_and_say_which_worker() -> None:
    assert str(reported_error(failed_message(1, BrokenError("lost")))) == "lost"
    assert failed_message(1, BrokenError("lost")).kind == "BrokenError"
    try:
        raise KeyError("missing")
    except KeyError as error:
        found = reported_error(failed_message(3, error))
    assert isinstance(found, RunError)
    assert "worker 3 failed: KeyError: 'missing'" in str(found)
    assert "test_pipe.py" in str(found), "with the traceback"


def test_a_text_that_is_none_is_a_broken_link() -> None:
    left, right = ControlPipe.pair()
    data = encode(Lost(1, "gone"))
    data = data.replace(b"gone", b"g\xffne")
    left.sock.sendall(struct.pack("<Q", len(data)) + data)
    with pytest.raises(BrokenError, match="cannot be decoded"):
        right.receive()
