"""A tunnel carries connections between two ends in this process."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest

from actorstream.errors import ConfigurationError
from actorstream.transports.zmq.tunnel import PIECE, Tunnel, tunnelled

PATIENCE_S = 60.0


class Behind:
    """What listens behind a tunnel: the far ends of the connections, in the order in which they came."""

    def __init__(self) -> None:
        self.came = threading.Semaphore(0)
        self.links: list[socket.socket] = []

    def connect(self) -> socket.socket:
        near, far = socket.socketpair()
        far.settimeout(PATIENCE_S)
        self.links.append(far)
        self.came.release()
        return near

    def wait(self) -> socket.socket:
        assert self.came.acquire(timeout=PATIENCE_S)
        return self.links[-1]


@pytest.fixture
def behind() -> Behind:
    return Behind()


@pytest.fixture
def tunnel(behind: Behind) -> Iterator[Tunnel]:
    made = Tunnel("127.0.0.1", behind.connect)
    yield made
    made.close()


def connection(tunnel: Tunnel) -> socket.socket:
    link = tunnelled(tunnel.address)
    link.settimeout(PATIENCE_S)
    return link


def test_bytes_go_both_ways_in_their_order(tunnel: Tunnel, behind: Behind) -> None:
    sent = os.urandom(5 * PIECE + 1)
    with connection(tunnel) as link:
        sending = threading.Thread(target=link.sendall, args=(sent,))
        sending.start()
        far = behind.wait()
        with far.makefile("rb") as file:
            assert file.read(len(sent)) == sent
        sending.join()
        far.sendall(b"credit")
        assert link.recv(100) == b"credit"


def test_a_client_that_reads_late_gets_all_of_a_long_answer_and_its_end(
    tunnel: Tunnel, behind: Behind
) -> None:
    part, parts = os.urandom(1 << 20), 48
    with connection(tunnel) as link:
        link.sendall(b"x")
        far = behind.wait()
        assert far.recv(10) == b"x"

        def answer() -> None:
            with far, suppress(OSError):
                for _ in range(parts):
                    far.sendall(part)

        answering = threading.Thread(target=answer)
        answering.start()
        while answering.is_alive() and not tunnel.statistics()["unsent"]:
            answering.join(0.01)
        with connection(tunnel) as other:  # others are served meanwhile
            other.sendall(b"y")
            assert behind.wait().recv(10) == b"y"
        with link.makefile("rb") as file:
            assert all(file.read(len(part)) == part for _ in range(parts))
            assert file.read() == b""
        answering.join()
    assert tunnel.statistics()["unsent"] == 0


def test_several_connections_are_told_apart(tunnel: Tunnel, behind: Behind) -> None:
    links = []
    for number in range(3):
        links.append(connection(tunnel))
        links[-1].sendall(bytes([number]))
        assert behind.wait().recv(10) == bytes([number])
    for number, (link, far) in enumerate(zip(links, behind.links)):
        far.sendall(bytes([number]))
        assert link.recv(10) == bytes([number])
        link.close()


@pytest.mark.parametrize("ends", ["here", "there", "tunnel"])
def test_a_connection_that_ends_at_one_side_ends_at_the_other(behind: Behind, ends: str) -> None:
    tunnel = Tunnel("127.0.0.1", behind.connect)
    with connection(tunnel) as link, closing(tunnel):
        link.sendall(b"x")
        far = behind.wait()
        assert far.recv(10) == b"x"
        if ends == "here":
            link.close()
        elif ends == "there":
            far.close()
        else:
            tunnel.close()
        left = far if ends == "here" else link
        assert left.recv(10) == b""


def has_ended(link: socket.socket) -> bool:
    """Whether the other side closes the connection before it sends anything. If it has not read all, that is a reset."""
    try:
        return link.recv(1) == b""
    except ConnectionResetError:
        return True


def test_nobody_behind_an_address_is_the_end_of_the_connection(tunnel: Tunnel) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    place, _, key = tunnel.address.rpartition("/")
    with connection(tunnel):
        pass
    link = tunnelled(f"{place.rpartition(':')[0]}:{port}/{key}")
    link.settimeout(PATIENCE_S)
    assert has_ended(link)


def test_who_has_another_key_is_not_let_in(tunnel: Tunnel, behind: Behind) -> None:
    with closing(Tunnel("127.0.0.1", behind.connect)) as other:
        key = other.address.rpartition("/")[2]
    link = tunnelled(f"{tunnel.address.rpartition('/')[0]}/{key}")
    link.settimeout(PATIENCE_S)
    with suppress(BrokenPipeError, ConnectionResetError):  # it may be closed already
        link.sendall(b"x")
    assert has_ended(link)
    assert not behind.links


def test_an_address_of_another_host_is_one_message(behind: Behind) -> None:
    with pytest.raises(ConfigurationError, match=r"host: is '192\.0\.2\.1', which cannot be listened at"):
        Tunnel("192.0.2.1", behind.connect)
