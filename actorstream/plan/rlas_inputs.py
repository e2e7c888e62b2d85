"""The inputs of `placement = "rlas"` besides the graph: the profile and the machine that a deployment names, or the machines of
its ranks. Reads files; `measured_machine` measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from actorstream.placement.rlas import (
    MachineModel,
    PlanOptions,
    Profile,
    joined,
    load_machine_model,
    load_profile,
    planned_rows,
    seated,
)
from actorstream.placement.rlas.lstopo import load_lstopo
from actorstream.plan.measured_machine import this_machine

if TYPE_CHECKING:
    from actorstream.topology.deploy import DeploySpec


class RlasInputs(msgspec.Struct, frozen=True):
    """The inputs of a plan besides the graph."""

    profile: Profile
    machine: MachineModel
    options: PlanOptions
    seats: Sequence[int] | None = None
    """The socket of each rank, where others have started these; None: as many workers are started as the plan wants."""


class RankHosts(msgspec.Struct, frozen=True):
    """The hosts of ranks that others have started.

    Attributes:
        names: the name of each rank's host.
        machines: name -> the host's machine; empty where the deployment names a file with the machine of all.
        cpus: that each rank may use, in ascending order; empty: nothing is known of that.
    """

    names: Sequence[str]
    machines: Mapping[str, MachineModel]
    cpus: Sequence[Sequence[int]] = ()


def rlas_inputs(deploy: DeploySpec, hosts: RankHosts | None = None) -> RlasInputs:
    """Reads the files that a deployment names. Where workers are ranks of `hosts`, the machine is theirs, all together.

    ConfigurationError: a file cannot be read, or the machine in it lacks a host."""
    spec = deploy.rlas
    assert spec is not None  # check_deploy has looked
    read = load_lstopo if Path(spec.machine or "").suffix == ".xml" else load_machine_model
    seats = None
    if spec.machine is not None:
        machine = read(Path(spec.machine))
    elif hosts is None:
        machine = this_machine()
    elif len(hosts.machines) == 1:
        machine = next(iter(hosts.machines.values()))
    else:
        machine = joined(hosts.machines, spec.link)
    if hosts is None and (deploy.hosts or deploy.transport not in ("shm", "local")):
        hosts = listed_hosts(deploy, machine)
        machine = machine if spec.machine or len(set(hosts.names)) == 1 else joined(hosts.machines, spec.link)
    if hosts is not None:
        machine, seats = seated(machine, hosts.names, hosts.cpus)
    options = PlanOptions(
        compression=spec.compression,
        percentile=spec.percentile,
        ingress=spec.ingress,
        divide=spec.divide,
        steps=spec.steps,
        rows=planned_rows(deploy.batch_size),
    )
    return RlasInputs(load_profile(spec.profile), machine, options, seats)


def listed_hosts(deploy: DeploySpec, machine: MachineModel) -> RankHosts:
    """The hosts that a deployment lists, before any rank runs: each is taken to be a machine like this one."""
    slots = [each.address for each in deploy.hosts for _ in range(each.slots)]
    names = slots[: deploy.workers] or [""] * deploy.workers
    return RankHosts(names, dict.fromkeys(names, machine))
