"""Streams between ranks over TCP, and the shared memory of one host: who has no proof is no peer and keeps nobody waiting."""

from __future__ import annotations

import random
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from time import monotonic
from typing import cast

import pytest

from actorstream.errors import ConfigurationError
from actorstream.transports.base import HandedOver
from actorstream.transports.network.same_host import SameHost
from actorstream.transports.network.streams import KEY_BYTES, Streams, _Place, _tcp_listener, addresses
from tests.integration.hostile_streams import flood_same_host, flood_streams, take_memory

WAITING_S = 20.0


def ranks(count: int, port: int, *addresses: str) -> list[Streams]:
    """Ranks that have told each other where they listen, each on a host of its own; all at one port."""
    made = [Streams(lambda data, limit_s: [data], rank) for rank in range(count)]
    places = [_Place(f"host{rank}", f"place{rank}", b"", "", [*addresses], port) for rank in range(count)]
    for each in made:
        each._key, each._places = b"k" * KEY_BYTES, places
    return made


def test_a_rank_tries_all_addresses_of_another_and_tells_streams_apart_by_purpose() -> None:
    with closing(_tcp_listener(None)) as listener, ThreadPoolExecutor(1) as pool:
        first, second = ranks(2, listener.getsockname()[1], "127.0.0.77", "127.0.0.1")
        listener.close()
        with closing(_tcp_listener(None)) as other:
            for each in (first, second):
                each._places[0].port = other.getsockname()[1]
            end = monotonic() + WAITING_S
            found = pool.submit(first._accept, [other], {(1, "control"), (1, "life")}, end)
            made = {purpose: second._connect(0, purpose, end) for purpose in ("life", "control")}
            for purpose, sock in made.items():
                sock.sendall(purpose.encode())
            for (rank, purpose), sock in found.result().items():
                sock.setblocking(True)
                assert (rank, sock.recv(10)) == (1, purpose.encode())
                sock.close()
            for sock in made.values():
                sock.close()


def test_a_rank_that_cannot_be_reached_is_named_with_each_address_and_why() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens there
        _, second = ranks(2, cast("int", taken.getsockname()[1]), "127.0.0.1")
        with pytest.raises(ConfigurationError, match=r"rank 0 on host host0 .*127.0.0.1.*refused.*firewall"):
            second._connect(0, "control", monotonic() + WAITING_S)


def test_a_rank_that_does_not_come_is_named_even_while_strangers_do() -> None:
    with closing(_tcp_listener(None)) as listener:
        first, _ = ranks(2, 0)
        with socket.create_connection(("127.0.0.1", listener.getsockname()[1])) as stranger:
            stranger.sendall(b"x" * KEY_BYTES)
            with pytest.raises(ConfigurationError, match="not reached in time by rank 1 on host host1"):
                first._accept([listener], {(1, "control")}, monotonic() + 0.2)
            with pytest.raises(ConfigurationError, match="not reached in time"):
                first._accept([listener], {(1, "control")}, monotonic() - 1.0)


def test_a_connection_that_a_rank_has_given_up_is_none_and_it_can_come_again() -> None:
    with closing(_tcp_listener(None)) as listener, ThreadPoolExecutor(1) as pool:
        port = listener.getsockname()[1]
        first, second = ranks(2, port, "127.0.0.1")
        with socket.create_connection(("127.0.0.1", port)) as hasty:  # before anybody accepts
            hasty.sendall(second._proof(1, 0, "control"))
        end = monotonic() + WAITING_S
        accepted = pool.submit(first._accept, [listener], {(1, "control")}, end)
        with closing(second._connect(0, "control", end)) as made:
            made.sendall(b"whole")
            with closing(accepted.result()[1, "control"]) as found:
                found.setblocking(True)
                assert found.recv(5) == b"whole"


def test_strangers_with_mutated_proofs_are_no_ranks() -> None:
    flood_streams(300, random.Random(4))


@pytest.mark.parametrize("interface", ["nowhere0", "lo", "127.0.0.1"])
def test_an_interface_that_others_do_not_reach_is_said_with_those_that_they_do(interface: str) -> None:
    with pytest.raises(ConfigurationError, match=f"no network interface or address '{interface}' .*; it has"):
        addresses(interface)


def test_strangers_with_mutated_proofs_get_no_memory() -> None:
    flood_same_host(300, random.Random(4))


def test_a_stranger_who_says_nothing_keeps_nobody_from_the_memory() -> None:
    workers = [SameHost(rank, [b"here"] * 2, b"k" * 32, WAITING_S) for rank in range(2)]
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(workers[0]._hand_out, HandedOver(b"x", []), monotonic() + WAITING_S)
        with socket.socket(socket.AF_UNIX) as silent:
            while True:
                try:
                    silent.connect(workers[0]._name())
                    break
                except ConnectionRefusedError:
                    pass
            begun = monotonic()
            assert take_memory(workers[1]) == b"x"
            done.result()
            assert monotonic() - begun < WAITING_S / 2
