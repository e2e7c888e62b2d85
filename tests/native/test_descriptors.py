"""Descriptors that come over a socket are this process's, and no program that it starts inherits them."""

from __future__ import annotations

import os
import socket

from actorstream.native.descriptors import receive_descriptors


def test_descriptors_arrive_with_their_bytes_and_are_closed_on_exec() -> None:
    near, far = socket.socketpair()
    given = [os.memfd_create("one"), os.memfd_create("two")]
    socket.send_fds(near, [b"words"], given)
    data, found, flags = receive_descriptors(far, 64, 4)
    assert (data, flags & socket.MSG_CTRUNC) == (b"words", 0)
    assert [os.fstat(each).st_ino for each in found] == [os.fstat(each).st_ino for each in given]
    assert not any(os.get_inheritable(each) for each in found)
    for each in (*given, *found):
        os.close(each)
    near.close()
    far.close()


def test_more_than_there_is_room_for_is_told_by_the_flags() -> None:
    near, far = socket.socketpair()
    socket.send_fds(near, [b"x"], [near.fileno()] * 8)
    _, found, flags = receive_descriptors(far, 64, 2)
    assert flags & socket.MSG_CTRUNC
    for each in found:
        os.close(each)
    near.close()
    far.close()
