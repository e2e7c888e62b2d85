"""Ports in use are found before a run begins."""

from __future__ import annotations

import socket

import pytest

from actorstream.errors import ConfigurationError
from actorstream.transports.zmq.ports import check_data_port, datagrams, free_ports

HERE = "127.0.0.1"


def test_free_ports_are_a_pair_at_which_a_worker_can_listen() -> None:
    sock, port = free_ports(HERE)
    with sock:
        assert sock.getsockname() == (HERE, port)
        check_data_port(HERE, port + 1)


def test_a_data_port_at_which_somebody_listens_is_refused_by_its_number() -> None:
    with socket.create_server((HERE, 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(
            ConfigurationError, match=rf"cannot listen at port {port} \(tcp\) of {HERE}.*network.port"
        ):
            check_data_port(HERE, port)


def test_a_data_port_is_free_once_its_listener_has_gone_although_connections_were_made() -> None:
    with socket.create_server((HERE, 0)) as other:
        port = other.getsockname()[1]
        with socket.create_connection((HERE, port)), other.accept()[0]:
            pass
    check_data_port(HERE, port)


def test_an_address_that_is_not_of_this_host_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="not of this host"):
        check_data_port("192.0.2.1", 5711)


def test_a_port_for_signs_of_life_that_is_in_use_is_refused() -> None:
    with datagrams(HERE, 0) as sock:
        port = sock.getsockname()[1]
        with pytest.raises(ConfigurationError, match=rf"port {port} \(udp\)"):
            datagrams(HERE, port)
