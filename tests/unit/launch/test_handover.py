"""What a worker is handed arrives whole, however many descriptors it has; or it is said that it did not."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from actorstream.errors import BrokenError
from actorstream.launch.handover import AT_ONCE, Handover, hand_over, take_over


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    near, far = socket.socketpair()
    yield near, far
    near.close()
    far.close()


def handover_of(path: list[str]) -> Handover:
    return Handover("0.1.0", os.getpid(), 2**64 - 1, path, None, b"fabric", 3, [0, 2])


@pytest.mark.parametrize("count", [0, 1, AT_ONCE, AT_ONCE + 1])
def test_all_descriptors_arrive_in_their_order(ends: tuple[socket.socket, socket.socket], count: int) -> None:
    files = [os.memfd_create(f"file-{number}") for number in range(count)]
    given = handover_of(["/" + "x" * 100_000])
    found: list[tuple[Handover, list[int]]] = []
    taker = threading.Thread(target=lambda: found.append(take_over(ends[1])))
    taker.start()
    hand_over(ends[0], given, files)
    taker.join()
    handover, descriptors = found[0]
    assert handover == given
    assert [os.fstat(each).st_ino for each in descriptors] == [os.fstat(each).st_ino for each in files]
    assert not any(os.get_inheritable(each) for each in descriptors)
    for each in (*files, *descriptors):
        os.close(each)


def test_what_follows_stays_in_the_socket(ends: tuple[socket.socket, socket.socket]) -> None:
    hand_over(ends[0], handover_of([]), [ends[0].fileno()])
    ends[0].send(b"next")
    _, descriptors = take_over(ends[1])
    assert ends[1].recv(64) == b"next"
    os.close(descriptors[0])


def test_a_launcher_that_goes_amid_it_is_named(ends: tuple[socket.socket, socket.socket]) -> None:
    ends[0].send(struct.pack("<II", 1000, 1) + b"too little")
    ends[0].close()
    with pytest.raises(BrokenError, match="the launcher is gone"):
        take_over(ends[1])


def test_descriptors_that_do_not_come_are_counted(ends: tuple[socket.socket, socket.socket]) -> None:
    ends[0].send(struct.pack("<II", 1, 2) + b"x")
    socket.send_fds(ends[0], [b"+"], [ends[0].fileno()])
    ends[0].shutdown(socket.SHUT_WR)
    with pytest.raises(BrokenError, match="1 of 2 descriptors came"):
        take_over(ends[1])


def test_other_bytes_are_no_hand_over(ends: tuple[socket.socket, socket.socket]) -> None:
    ends[0].send(struct.pack("<II", 3, 0) + b"abc")
    with pytest.raises(BrokenError, match="no hand-over of this version"):
        take_over(ends[1])


def test_a_worker_that_is_gone_already_is_no_error_here(ends: tuple[socket.socket, socket.socket]) -> None:
    ends[1].close()
    hand_over(ends[0], handover_of(["/" + "x" * 1_000_000]), [ends[0].fileno()])
