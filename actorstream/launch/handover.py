"""A worker that was not forked is handed a description and open descriptors, over the socket that is its control link.

The launcher sends it before anything else, so the link needs no other greeting: only the started process has the other end.
"""

from __future__ import annotations

import os
import socket
import struct

import msgspec

from actorstream.errors import BrokenError
from actorstream.native.descriptors import receive_descriptors

AT_ONCE = 200
"""Descriptors of one message; the kernel takes 253."""
_LENGTH = struct.Struct("<II")


class Handover(msgspec.Struct):
    """Of one worker. The descriptors follow in the order of the fields that say how many there are.

    Attributes:
        version: of actorstream. launcher: its pid. plan: fingerprint that the worker's own plan must have.
        path: where modules are found (`sys.path`). resume: number of the checkpoint that the run goes on from.
        fabric: its description; None: no channel leaves a process. fabric_descriptors: how many it has.
        peers: other processes, of each of which there is a socket. Before all these: the stream for signs of life, and the
            counters' descriptor; behind them: locks to be kept open.
    """

    version: str
    launcher: int
    plan: int
    path: list[str]
    resume: int | None
    fabric: bytes | None
    fabric_descriptors: int
    peers: list[int]


def hand_over(sock: socket.socket, handover: Handover, descriptors: list[int]) -> None:
    """Sends all. A process that is gone already is no error here: its end is seen elsewhere."""
    data = msgspec.msgpack.encode(handover)
    try:
        sock.sendall(_LENGTH.pack(len(data), len(descriptors)) + data)
        for at in range(0, len(descriptors), AT_ONCE):
            socket.send_fds(sock, [b"+"], descriptors[at : at + AT_ONCE])
    except (BrokenPipeError, ConnectionResetError):
        pass


def take_over(sock: socket.socket) -> tuple[Handover, list[int]]:
    """Waits for all. BrokenError: the launcher is gone, or something else came."""
    length, count = _LENGTH.unpack(_exactly(sock, _LENGTH.size))
    data = _exactly(sock, length)
    descriptors: list[int] = []
    while len(descriptors) < count:
        mark, fds, flags = receive_descriptors(sock, 1, AT_ONCE)
        descriptors += fds
        if not mark or not fds or flags & socket.MSG_CTRUNC:
            for fd in descriptors:
                os.close(fd)
            raise BrokenError(
                f"{len(descriptors)} of {count} descriptors came from the launcher: it is gone, or this process may not "
                "open so many files (ulimit -n)"
            )
    try:
        return msgspec.msgpack.decode(data, type=Handover), descriptors
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BrokenError(
            f"what came first on the control socket is no hand-over of this version: {error}"
        ) from error


def _exactly(sock: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            raise BrokenError("the launcher is gone before it had handed over what the worker needs")
        data += part
    return bytes(data)
