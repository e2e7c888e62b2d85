"""Receives open descriptors over a unix socket. Decides nothing about what they are."""

from __future__ import annotations

import socket
from array import array

_ITEM = array("i").itemsize


def receive_descriptors(sock: socket.socket, nbytes: int, most: int) -> tuple[bytes, list[int], int]:
    """One `recvmsg` of at most `nbytes` bytes and `most` descriptors: the bytes, the descriptors, the flags of the message.
    The descriptors are the caller's, and closed on exec (`socket.recv_fds` ignores the flag that asks for this)."""
    data, extra, flags, _ = sock.recvmsg(nbytes, socket.CMSG_SPACE(most * _ITEM), socket.MSG_CMSG_CLOEXEC)
    found = array("i")
    for level, kind, packed in extra:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(packed[: len(packed) // _ITEM * _ITEM])
    return data, list(found), flags
