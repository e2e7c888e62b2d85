"""Mutated bytes at the streams beside the data path: where ranks of MPI and workers of one host listen at the start, and, from a
peer that has proved itself, in control messages and signs of life. `hostile_flood` runs them."""

from __future__ import annotations

import os
import random
import socket
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from time import monotonic, sleep

from actorstream.control.messages import (
    Asked,
    Failed,
    Gone,
    Leave,
    Lost,
    Message,
    Prepared,
    Snapshot,
    Started,
    encode,
)
from actorstream.control.pipe import ControlPipe
from actorstream.errors import BrokenError
from actorstream.native.keepalive import PeerState, tag_of
from actorstream.transports.base import HandedOver
from actorstream.transports.network.keepalives import Keepalives
from actorstream.transports.network.same_host import PROOF_BYTES, SameHost, _received
from actorstream.transports.network.streams import KEY_BYTES, Streams, _Place, _tcp_listener

PATIENCE_S = 20_000.0
RESETS = struct.pack("ii", 1, 0)
"""Closes a connection without a port that stays taken for a minute."""


def _strangers(
    count: int, draw: random.Random, family: int, address: object, length: int, *, right: bytes
) -> None:
    """Connects so often and sends bytes that are no proof, or are one with some bits changed."""
    for _ in range(count):
        proof = bytearray(right if draw.random() < 0.5 else draw.randbytes(length))
        proof[draw.randrange(length)] ^= 1 << draw.randrange(8)
        with socket.socket(family, socket.SOCK_STREAM) as stranger:
            _connect(stranger, address)
            if family != socket.AF_UNIX:
                stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESETS)
            with suppress(OSError):
                stranger.send(
                    bytes(proof[: draw.choice((0, 1, length - 1, length, length))])
                    + b"x" * draw.choice((0, 9))
                )


def _connect(stranger: socket.socket, address: object) -> None:
    """The queue of the listener may be full, or the listener not there yet."""
    end = monotonic() + 20.0
    while True:
        try:
            stranger.connect(address)  # type: ignore[arg-type]
            return
        except (ConnectionRefusedError, BlockingIOError):
            assert monotonic() < end
            sleep(0.001)


def flood_streams(count: int, draw: random.Random) -> None:
    """A rank listens for another one over TCP while `count` strangers come; it finds the right one."""
    ranks = [Streams(lambda data, limit_s: [data], rank) for rank in range(2)]
    places = [_Place(f"host{rank}", f"place{rank}", b"", "", ["127.0.0.1"]) for rank in range(2)]
    with closing(_tcp_listener(None)) as listener, ThreadPoolExecutor(1) as pool:
        places[0].port = listener.getsockname()[1]
        for each in ranks:
            each._key, each._places = b"k" * KEY_BYTES, places
        accepted = pool.submit(ranks[0]._accept, [listener], {(1, "control")}, monotonic() + PATIENCE_S)
        right = ranks[1]._proof(1, 0, "control")
        _strangers(count, draw, socket.AF_INET, ("127.0.0.1", places[0].port), KEY_BYTES, right=right)
        with closing(ranks[1]._connect(0, "control", monotonic() + 20.0)) as made:
            made.sendall(b"whole")
            with closing(accepted.result(20.0)[1, "control"]) as found:
                found.setblocking(True)
                assert found.recv(5) == b"whole"


def take_memory(worker: SameHost) -> bytes:
    """What a worker of a host is handed; it lets go of the descriptors."""
    with worker._connected(monotonic() + 20.0) as sock:
        handed = _received(sock)
    for descriptor in handed.descriptors:
        os.close(descriptor)
    return handed.description


def flood_same_host(count: int, draw: random.Random) -> None:
    """A worker hands shared memory to another one of its host, and nothing to `count` strangers."""
    key = draw.randbytes(32)
    workers = [SameHost(rank, [b"here"] * 2, key, PATIENCE_S) for rank in range(2)]
    first, second = os.pipe()
    try:
        with ThreadPoolExecutor(1) as pool:
            handed = HandedOver(b"described", [first])
            done = pool.submit(workers[0]._hand_out, handed, monotonic() + PATIENCE_S)
            right = workers[1]._proof(1)
            _strangers(count, draw, socket.AF_UNIX, workers[1]._name(), PROOF_BYTES, right=right)
            assert take_memory(workers[1]) == handed.description
            done.result(20.0)
    finally:
        os.close(first)
        os.close(second)


MESSAGES: list[Message] = [
    Started(0),
    Failed(1, "OperatorError", "no such key", ("double", 0, "KeyError: 7", "Number(7)", "line 3")),
    Snapshot(1, 2, 3, b"state", None),
    Prepared(1),
    Asked(0, 15, 1),
    Gone(1, 0.5, 7),
    Lost(0, "is gone"),
    Leave(0, True, "over"),
]


def flood_control(count: int, draw: random.Random, mutated: Callable[..., list[bytes]]) -> None:
    """A control link takes in `count` messages of a peer that knows the key: each is one, or ends the link."""
    right = [encode(each) for each in MESSAGES]
    near, far = ControlPipe.pair()
    taken = broken = 0
    for _ in range(count):
        (data,) = mutated([draw.choice(right)], draw)[:1]
        length = len(data) if draw.random() < 0.9 else draw.choice((0, 1, 2**31, 2**63, 2**64 - 1))
        far.sock.sendall(struct.pack("<Q", length) + data)
        try:
            taken += len(near.receive())
        except BrokenError:
            broken += 1
        if near._received:
            near.close()
            far.close()
            near, far = ControlPipe.pair()
    near.close()
    far.close()
    assert taken and broken > count // 4


def sign_of_life(kind: int, sent: int) -> bytes:
    """One of peer 1 to process 0 over a stream, whose keys are 0."""
    whole = struct.pack("<IHHIIqqq", 0x766C4153, 1, kind, 1, 0, sent, 1, 1)
    return whole + struct.pack("<Q", tag_of(bytes(16), whole))


def flood_signs(count: int, draw: random.Random, mutated: Callable[..., list[bytes]]) -> None:
    """Among the signs of life over a stream come `count` mutated ones and pieces of anything; the peer is alive until it says
    otherwise. Bits are changed but for the tag's, so none of the changed ones has a tag that is right."""
    own, other = socket.socketpair()
    alive, echo, end = 1, 2, 4
    with Keepalives.over({1: own}, 0, limit_s=36_000.0, grace_s=600.0) as signs:
        for number in range(count):
            whole = sign_of_life(draw.choice((alive, echo)), number + 1)
            if draw.random() < 0.8:
                changed = bytearray(draw.choice((whole, draw.randbytes(48))))
                for bit in draw.sample(range(320), draw.randint(1, 3)):
                    changed[bit // 8] ^= 1 << bit % 8
                whole = bytes(changed)
            other.sendall(whole)
            with suppress(BlockingIOError):
                other.recv(1 << 12, socket.MSG_DONTWAIT)
        assert signs.news() == []
        assert signs.thread.refused > count // 4
        other.sendall(sign_of_life(end, count + 1))
        until = monotonic() + 20.0
        while not (news := signs.news()):
            assert monotonic() < until
        assert news == [(1, PeerState.ENDS)]
    own, other = socket.socketpair()
    with Keepalives.over(
        {1: own}, 0, limit_s=36_000.0, grace_s=600.0
    ) as signs:  # bytes that come in pieces of any length
        for _ in range(count // 10):
            other.sendall(mutated([sign_of_life(echo, 1)], draw)[0] or b"x")
        other.sendall(bytes(1))
        assert signs.news() == []
