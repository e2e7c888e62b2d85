"""Hosts and the network of a deployment."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.available import Available, check_deploy
from actorstream.topology.hosts import HostSpec, NetworkSpec, without_effect
from actorstream.topology.load import load_deploy, read_deploy

HOSTS = """
transport = "zmq"
[[hosts]]
address = "node1"
slots = 2
[[hosts]]
address = "node2"
port = 6000
[network]
peer_timeout = "2s"
key = "keys/job.key"
"""


def problems(text: str, tmp_path: Path) -> list[str]:
    """What is wrong with a deployment."""
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    found: list[Problem] = []
    deploy, written = read_deploy(path, [], found)
    check_deploy(deploy, Available(transports=("shm", "zmq", "mpi")), written, found)
    return [str(each) for each in found]


def test_there_are_as_many_workers_as_slots(tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text(HOSTS)
    deploy = load_deploy(path)
    assert deploy.workers == 3
    assert deploy.hosts[1].port == 6000
    assert deploy.network.key == str(tmp_path / "keys" / "job.key")
    assert problems(HOSTS, tmp_path) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("transport", "workers = 4\ntransport"), "at most 3, the slots of all hosts"),
        (('"zmq"', '"shm"'), "hosts: are listed with transport 'shm'"),
        (("slots = 2", "slots = 0"), "hosts[0].slots: is 0"),
        (("slots = 2", "slot = 2"), "hosts[0].slot: is not a key here"),
        (('address = "node2"', 'address = "node1"\nlisten = ""'), ""),
        (('address = "node2"\nport = 6000', 'address = "node1"'), "uses port 5710"),
        (("port = 6000", "port = 65534"), ""),
        (("port = 6000", "port = 65534\nslots = 2"), "hosts[1]: needs the ports 65534 to 65537"),
        (('"2s"', '"10ms"'), "network.peer_timeout: is 0.01 s"),
        (("[network]", '[network]\ndiscovery = "run"'), "is set beside a list of hosts"),
    ],
)
def test_what_is_wrong_with_hosts_is_said(change: tuple[str, str], said: str, tmp_path: Path) -> None:
    found = problems(HOSTS.replace(*change), tmp_path)
    assert [said in each for each in found] == ([True] if said else []), found


def test_a_host_without_an_address_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text('transport = "zmq"\n[[hosts]]\nslots = 2\n')
    with pytest.raises(ConfigurationError, match=r"address.*is missing|address is missing"):
        load_deploy(path)


@pytest.mark.parametrize(
    ("transport", "hosts", "keys", "noted"),
    [
        ("zmq", [], {"home": 1, "key": "job.key", "listen": "eth0"}, ["listen", "key", "home"]),
        ("zmq", [HostSpec(address="a")], {"home": 1, "key": "job.key"}, []),
        ("zmq", [], {"discovery": "run", "key": "job.key"}, []),
        ("mpi", [], {"home": 1, "listen": "eth0", "encrypt": False}, ["encrypt"]),
        ("shm", [], {"peer_timeout": timedelta(seconds=9), "home": 1}, ["home"]),
    ],
)
def test_settings_that_a_run_does_not_read_are_noted(
    transport: str, hosts: list[HostSpec], keys: dict[str, Any], noted: list[str]
) -> None:
    notes = without_effect(hosts, NetworkSpec(**keys), transport)
    assert [note.split()[0] for note in notes] == [f"network.{key}" for key in noted]
