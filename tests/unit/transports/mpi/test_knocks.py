"""Knocks between ranks: they find each other over real sockets, and nobody else wakes them."""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest

from actorstream.transports.mpi import knocks as module
from actorstream.transports.mpi.knocks import HELLO, KNOCK, REST_NS, Knocks

RANKS = 3
LIMIT_S = 30.0


def gathered(ranks: int) -> list[Knocks]:
    """Knocks of so many ranks, each made in a thread of its own."""
    told: list[bytes] = [b""] * ranks
    all_told, found = Barrier(ranks, timeout=LIMIT_S), {}

    def begin(rank: int) -> None:
        def gather(data: bytes, _: float) -> list[bytes]:
            told[rank] = data
            all_told.wait()
            return told

        found[rank] = Knocks.among(gather, rank, None, LIMIT_S)

    threads = [Thread(target=begin, args=(rank,)) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    return [found[rank] for rank in range(ranks)]


@pytest.fixture
def ranks() -> Iterator[list[Knocks]]:
    made = gathered(RANKS)
    yield made
    for each in made:
        each.close()


def others(rank: int) -> list[int]:
    return [each for each in range(RANKS) if each != rank]


def introduce(ranks: list[Knocks]) -> None:
    """Lets them talk until each knows that it hears all others."""
    for rank, each in enumerate(ranks):
        each.greet(others(rank))
    while not all(each.all_come(others(rank)) for rank, each in enumerate(ranks)):
        talk(ranks)
    while talk(ranks):
        pass


def talk(ranks: list[Knocks]) -> list[int]:
    """Each takes what has come. Who had something."""
    ready, _, _ = select.select([each.fd for each in ranks], [], [], 0)
    for each in ranks:
        each.take()
    return ready


def test_each_rank_finds_out_that_it_hears_all_others(ranks: list[Knocks]) -> None:
    assert not any(each.all_come(others(rank)) for rank, each in enumerate(ranks))
    introduce(ranks)
    assert all(each.all_come(others(rank)) for rank, each in enumerate(ranks))


def test_a_rank_knocks_where_it_sends_after_a_rest_and_nowhere_else(
    ranks: list[Knocks], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 10**12
    monkeypatch.setattr(module, "monotonic_ns", lambda: now)
    introduce(ranks)
    heard = []
    for later in (0, REST_NS, REST_NS + 1, 1):
        now += later
        ranks[0].sent(2)
        heard.append([each.take() for each in ranks[1:]])
    assert heard == [[False, True], [False, False], [False, True], [False, False]]


def test_before_they_are_introduced_nobody_knocks(ranks: list[Knocks]) -> None:
    ranks[0].sent(1)
    assert not talk(ranks)


def test_strangers_wake_nobody_and_are_not_answered(ranks: list[Knocks]) -> None:
    introduce(ranks)
    token = ranks[0]._token
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        there = ("127.0.0.1", ranks[1]._sock.getsockname()[1])
        for data in (
            b"",
            b"knock",
            bytes(module._DATAGRAM.size),
            module._DATAGRAM.pack(bytes(16), HELLO, 0, 0),
            module._DATAGRAM.pack(bytes(16), KNOCK, 0, 0),
            module._DATAGRAM.pack(token, KNOCK, 0, 1),  # of itself
            module._DATAGRAM.pack(token, KNOCK, 0, RANKS),
            module._DATAGRAM.pack(token, 1, 255, 0),  # an address that is none
            module._DATAGRAM.pack(token, 77, 0, 0),
            module._DATAGRAM.pack(token, KNOCK, 0, 0) + b"more",
        ):
            stranger.sendto(data, there)
        assert not ranks[1].take()
        assert not talk([ranks[1]])
        stranger.setblocking(False)
        with pytest.raises(BlockingIOError):
            stranger.recv(1)


def test_a_flood_keeps_a_rank_busy_for_a_moment_only(ranks: list[Knocks]) -> None:
    introduce(ranks)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        for _ in range(2 * module.AT_ONCE):
            stranger.sendto(b"", ("127.0.0.1", ranks[1]._sock.getsockname()[1]))
    assert not ranks[1].take()
    assert talk([ranks[1]]), "the rest is left for the next time"
