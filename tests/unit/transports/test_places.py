"""Where workers are: dealt to the slots of hosts, or found in a shared folder."""

from __future__ import annotations

import fcntl
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from actorstream.errors import ConfigurationError
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.hosts import HostSpec, NetworkSpec
from actorstream.transports.zmq import places
from actorstream.transports.zmq.assembly import ZmqAssembly
from actorstream.transports.zmq.places import (
    Discovery,
    Place,
    discovered_place,
    host_of,
    listed_places,
    resolved,
)
from actorstream.transports.zmq.ports import free_ports

HOSTS = [
    HostSpec(address="a", slots=2),
    HostSpec(address="b", port=6000, listen="eth1"),
    HostSpec(address="c"),
]


def test_workers_are_dealt_to_the_slots_of_the_hosts_in_their_order() -> None:
    deploy = DeploySpec(transport="zmq", workers=4, hosts=HOSTS, network=NetworkSpec(port=5000, listen="*"))
    assert listed_places(deploy) == [
        Place("a", 5000, "*"),
        Place("a", 5002, "*"),
        Place("b", 6000, "eth1"),
        Place("c", 5000, "*"),
    ]
    assert [host_of(deploy, rank).address for rank in range(4)] == ["a", "a", "b", "c"]
    with pytest.raises(ConfigurationError, match="0 to 3"):
        host_of(deploy, 4)


def test_too_few_slots_are_said() -> None:
    with pytest.raises(ConfigurationError, match="at most 4, the slots of all hosts"):
        listed_places(DeploySpec(transport="zmq", workers=5, hosts=HOSTS))


@pytest.mark.parametrize("hosts", [[HostSpec(address="127.0.0.1", slots=2)], []], ids=["list", "discovery"])
def test_ports_that_do_not_exist_are_said(hosts: list[HostSpec]) -> None:
    deploy = DeploySpec(transport="zmq", workers=2, hosts=hosts, network=NetworkSpec(port=65534))
    with pytest.raises(
        ConfigurationError, match=r"leaves the ports 65536 and 65537 to worker 1 at '.*'; .*up to 65535"
    ):
        listed_places(deploy) if hosts else discovered_place(deploy, 1)
    if hosts:
        with pytest.raises(ConfigurationError, match="ports up to 65535"):
            ZmqAssembly.starter(deploy, ["actorstream"])


def test_what_an_earlier_run_left_in_the_folder_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "LOOKED_AT_S", 0.0)
    (tmp_path / "worker-1.json").write_text('{"address": "old", "port": 1}')
    first = Discovery(tmp_path, 0, 2)
    first.enter(Place("a", 1))
    with pytest.raises(ConfigurationError, match="worker 1 did not appear"):
        first.wait(0.0)
    second = Discovery(tmp_path, 1, 2)
    second.enter(Place("b", 2))
    assert first.wait(10.0) == second.wait(10.0) == [Place("a", 1), Place("b", 2)]
    with pytest.raises(ConfigurationError, match="worker 1 of another run lives"):
        Discovery(tmp_path, 1, 2).enter(Place("c", 3))
    first.leave()
    second.leave()
    assert list(tmp_path.iterdir()) == []


def test_a_peer_that_looks_at_a_file_does_not_keep_its_worker_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking = (tmp_path / "worker-0.json").open("w")
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr(places, "sleep", lambda seconds: looking.close())
    worker = Discovery(tmp_path, 0, 1)
    worker.enter(Place("a", 1))
    assert looking.closed
    assert worker.wait(0.0) == [Place("a", 1)]
    worker.leave()


def test_a_worker_that_opens_the_file_which_an_earlier_one_takes_away_makes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier, worker, peer = (Discovery(tmp_path, rank, 2) for rank in (0, 0, 1))
    earlier.enter(Place("earlier", 1))
    peer.enter(Place("b", 2))
    lock = fcntl.flock

    def lock_later(file: Any, how: int) -> None:
        earlier.leave()
        lock(file, how)

    monkeypatch.setattr(fcntl, "flock", lock_later)
    worker.enter(Place("a", 1))
    monkeypatch.undo()
    assert peer.wait(0.0) == [Place("a", 1), Place("b", 2)]
    worker.leave()
    peer.leave()
    assert list(tmp_path.iterdir()) == []


def test_a_name_without_an_address_is_said() -> None:
    with pytest.raises(ConfigurationError, match=r"host 'nowhere\.invalid' has no address"):
        resolved([Place("nowhere.invalid", 1)], 0.0)
    assert resolved([Place("127.0.0.1", 1)], 0.0) == [Place("127.0.0.1", 1)]


def test_a_host_whose_name_is_loopback_to_itself_says_so_and_blames_no_other() -> None:
    sock, port = free_ports("127.0.0.1")
    sock.close()
    hosts = [HostSpec(address="localhost", port=port), HostSpec(address="192.0.2.1")]
    network = NetworkSpec(start_timeout=timedelta(milliseconds=200))
    deploy = DeploySpec(transport="zmq", workers=2, hosts=hosts, network=network)
    message = r"takes its own address .*'localhost', for 127\.0\.0\.1, where other hosts, such as 192\.0\.2\.1, .*/etc/hosts"
    with pytest.raises(ConfigurationError, match=message):
        ZmqAssembly(deploy, 0, bytes(32))
