from __future__ import annotations

import asyncio
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from actorstream.actors.address import UNIX_PATH_BYTES, Address, connected_socket, listening_socket, stranger
from actorstream.errors import BrokenError, ConfigurationError


@pytest.mark.parametrize(
    "text", ["unix:/tmp/a.sock", "unix:@name", "tcp:127.0.0.1:0", "tcp:[::1]:80", "tcp:host:65535"]
)
def test_an_address_reads_as_it_is_written(text: str) -> None:
    assert str(Address.parse(text)) == text


@pytest.mark.parametrize(
    "text", ["", "unix:", "unix:@", "tcp:80", "tcp:host:x", "tcp:host:70000", "udp:a:1", "unix:" + "x" * 200]
)
def test_a_wrong_address_says_what_is_allowed(text: str) -> None:
    with pytest.raises(ConfigurationError, match="tcp:host:port"):
        Address.parse(text)


def test_port_0_becomes_a_real_one() -> None:
    sock, address = listening_socket(Address.parse("tcp:127.0.0.1:0"))
    with sock:
        assert address.port == sock.getsockname()[1] > 0


async def test_every_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))  # nobody listens there
    listening, address = listening_socket(Address.parse("tcp:127.0.0.1:0"))

    loop = asyncio.get_running_loop()
    resolve = loop.getaddrinfo

    async def getaddrinfo(host: str, port: int, **options: Any) -> list[Any]:
        if host != "here":
            return await resolve(host, port, **options)
        places = [silent.getsockname(), ("127.0.0.1", port), silent.getsockname()]
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", place) for place in places]

    monkeypatch.setattr(loop, "getaddrinfo", getaddrinfo)
    with silent, listening:
        with await connected_socket(Address("tcp", "here", address.port)) as found:
            assert found.getpeername() == listening.getsockname()
        with pytest.raises(BrokenError, match="cannot connect to tcp:here:1: "):
            await connected_socket(Address("tcp", "here", 1))


async def test_one_who_listens_at_localhost_can_be_connected_to() -> None:
    listening, address = listening_socket(Address.parse("tcp:localhost:0"))
    with listening, await connected_socket(address) as found:
        assert found.getpeername() == listening.getsockname()


def test_a_name_that_has_no_ipv4_address_is_listened_at_by_its_ipv6_address(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create, families = socket.create_server, []

    def create_server(place: tuple[str, int], *, family: int, backlog: int) -> socket.socket:
        families.append(family)
        if family == socket.AF_INET:
            raise socket.gaierror(socket.EAI_ADDRFAMILY, "no address of that family")
        return create(("127.0.0.1", 0))

    monkeypatch.setattr(socket, "create_server", create_server)
    sock, _ = listening_socket(Address.parse("tcp:here:0"))
    sock.close()
    assert families == [socket.AF_INET, socket.AF_INET6]
    listening_socket(Address.parse("tcp:[::1]:0"))[0].close()
    assert families[2:] == [socket.AF_INET6]


def test_a_socket_file_that_nobody_listens_on_is_replaced(tmp_path: Path) -> None:
    address = Address.parse(f"unix:{tmp_path}/a.sock")
    first, _ = listening_socket(address)
    first.close()
    second, _ = listening_socket(address)
    with second, socket.socket(socket.AF_UNIX) as client:
        client.connect(f"{tmp_path}/a.sock")


def test_an_address_in_use_is_refused(tmp_path: Path) -> None:
    address = Address.parse(f"unix:{tmp_path}/a.sock")
    first, _ = listening_socket(address)
    with first, pytest.raises(BrokenError, match="choose another"):
        listening_socket(address)


def test_a_file_that_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("data")
    with pytest.raises(BrokenError):
        listening_socket(Address.parse(f"unix:{path}"))
    assert path.read_text() == "data"


def test_a_socket_file_appears_only_when_one_can_connect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    appear = Path.hardlink_to
    connected: list[str] = []

    def connect_first(path: Path, hidden: Path) -> None:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(hidden))
            connected.append(str(path))
        appear(path, hidden)

    monkeypatch.setattr(Path, "hardlink_to", connect_first)
    path = tmp_path / "a.sock"
    sock, _ = listening_socket(Address.parse(f"unix:{path}"))
    with sock:
        assert connected == [str(path)]
        assert list(tmp_path.iterdir()) == [path]


def test_a_path_as_long_as_the_system_allows_is_listened_on(tmp_path: Path) -> None:
    path = tmp_path / ("s" * (UNIX_PATH_BYTES - len(os.fsencode(tmp_path)) - 1))
    sock, address = listening_socket(Address.parse(f"unix:{path}"))
    with sock, socket.socket(socket.AF_UNIX) as client:
        client.connect(address.unix_path)


def test_only_this_user_may_open_the_socket_file(tmp_path: Path) -> None:
    sock, _ = listening_socket(Address.parse(f"unix:{tmp_path}/a.sock"))
    with sock:
        assert (tmp_path / "a.sock").stat().st_mode & 0o777 == 0o600


def test_this_process_is_no_stranger_to_itself() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert stranger(one) == ""
