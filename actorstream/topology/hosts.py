"""The hosts of a deployment and the network between them, as the user wrote them. Data only."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import msgspec
from msgspec import Meta

from actorstream.errors import Problem
from actorstream.topology.quantities import DURATION_ALLOWED
from actorstream.topology.written import Written

Port = Annotated[int, Meta(ge=1, le=65534, description="a port from 1 to 65534")]
_Name = Annotated[str, Meta(min_length=1, description="text")]
_Count = Annotated[int, Meta(ge=1, le=4096, description="a whole number from 1 to 4096")]
_Limit = Annotated[timedelta, Meta(description=DURATION_ALLOWED)]
SSH = ("ssh", "-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=5", "-oServerAliveCountMax=3")
"""It ends by itself 15 s after the host is gone."""
PORT = 5710
LAST_PORT = 65535
LEAST_LIMIT = timedelta(milliseconds=200)


class HostSpec(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`[[hosts]]`: one host, with as many workers as it has slots. Workers are dealt to the hosts in their order."""

    address: _Name
    """Name or address under which the other hosts reach it."""
    slots: _Count = 1
    ssh: str = ""
    """What the remote shell is given to reach it; its address unless set."""
    port: Port | None = None
    """First of its ports, two for each slot; `network.port` unless set."""
    listen: str = ""
    """What it listens on, as `network.listen`."""


class NetworkSpec(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`[network]`: how hosts reach each other."""

    port: Port | None = None
    """Each worker uses two: the first for tcp and udp, the second for tcp. Unless set, 5710 and those after it with a list of
    hosts, and any free ones with `discovery`."""
    listen: str = ""
    """Name of an interface, an address or "*" (all); unless set, the address under which the others reach the host."""
    encrypt: Annotated[bool, Meta(description="true or false")] = True
    key: str = ""
    """File with the key of the job (`actorstream keys DIR`). Unless set, `launch` hands one to the hosts that it starts."""
    discovery: str = ""
    """Folder that all hosts share, in which each worker writes its address; instead of a list of hosts."""
    peer_timeout: _Limit = timedelta(seconds=2.5)
    """A worker that is not heard for so long is lost."""
    start_timeout: _Limit = timedelta(seconds=30)
    """How long workers wait for each other at the start."""
    home: Annotated[int, Meta(ge=0, description="a whole number of at least 0")] = 0
    """The worker that hosts the control of the run, shows its progress and writes its report."""
    remote_shell: list[str] = msgspec.field(default_factory=lambda: list(SSH))
    """The command that `launch` starts hosts with; target and command line follow as its last two arguments."""
    command: list[str] = []
    """`actorstream` on the other hosts; unless set, the interpreter that runs here."""

    def first_port(self, host: HostSpec) -> int:
        """Of a host in the list."""
        return host.port or self.port or PORT


def check_hosts(
    hosts: list[HostSpec], network: NetworkSpec, transport: str, workers: int, written: Written
) -> list[Problem]:
    """What is wrong with the hosts of a deployment."""
    found = []
    if hosts and transport != "zmq":
        found.append(
            written.problem(
                ("hosts",), f"are listed with transport {transport!r}", 'transport = "zmq"', _other(transport)
            )
        )
    if hosts and network.discovery:
        found.append(
            written.problem(("network", "discovery"), "is set beside a list of hosts", "one of them")
        )
    slots = sum(each.slots for each in hosts)
    if hosts and workers > slots:
        hint = "leave workers out to have one for each slot"
        found.append(
            written.problem(("workers",), f"is {workers}", f"at most {slots}, the slots of all hosts", hint)
        )
    for key in ("peer_timeout", "start_timeout"):
        value = getattr(network, key)
        if value < LEAST_LIMIT:
            found.append(
                written.problem(("network", key), f"is {value.total_seconds():g} s", "at least 200ms")
            )
    return found + _beyond(hosts, network, written) + _clashes(hosts, network, written)


def without_effect(hosts: list[HostSpec], network: NetworkSpec, transport: str) -> list[str]:
    """Notes on settings of [network] that a run does not read: over shared memory, over MPI, or on one machine."""
    if transport == "zmq":
        if hosts or network.discovery:
            return []
        read, why = {"peer_timeout"}, "on one machine, unless srun or Spark starts the workers"
    elif transport == "mpi":
        read, why = {"peer_timeout", "start_timeout", "listen", "home"}, "over MPI"
    else:
        read, why = {"peer_timeout"}, f"with transport {transport!r}"
    plain = NetworkSpec()
    return [
        f"network.{key} has no effect {why}"
        for key in NetworkSpec.__struct_fields__
        if key not in read and getattr(network, key) != getattr(plain, key)
    ]


def _other(transport: str) -> str:
    return "mpiexec and srun have a list of hosts of their own" if transport == "mpi" else ""


def _beyond(hosts: list[HostSpec], network: NetworkSpec, written: Written) -> list[Problem]:
    """Hosts with more slots than there are ports from their first one on."""
    return [
        written.problem(
            ("hosts", number),
            f"needs the ports {first} to {last}, two for each slot",
            f"ports up to {LAST_PORT}",
            "set port, or network.port, to a lower one",
        )
        for number, host in enumerate(hosts)
        if (last := (first := network.first_port(host)) + 2 * host.slots - 1) > LAST_PORT
    ]


def _clashes(hosts: list[HostSpec], network: NetworkSpec, written: Written) -> list[Problem]:
    """Hosts that are listed twice without ports of their own."""
    taken: dict[tuple[str, int], int] = {}
    found = []
    for number, host in enumerate(hosts):
        first = network.first_port(host)
        for port in range(first, first + 2 * host.slots):
            other = taken.setdefault((host.address, port), number)
            if other != number:
                found.append(
                    written.problem(
                        ("hosts", number),
                        f"uses port {port} of {host.address!r}, as hosts[{other}] does",
                        "ports that no other host in the list uses",
                        "give it more slots instead, or a port of its own",
                    )
                )
                break
    return found
