"""Everything a run or a check starts from: topology, deployment and graph, read and judged in one go.

One listing names what is wrong in all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.available import Available, check_deploy
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.findings import HostFindings
from actorstream.topology.graph import Graph
from actorstream.topology.load import read_deploy, read_topology
from actorstream.topology.registry import TypeRegistry
from actorstream.topology.spec import TopologySpec
from actorstream.topology.validate import check_graph


class Inputs(msgspec.Struct, frozen=True):
    """A topology that is right, and how it is to be run."""

    spec: TopologySpec
    deploy: DeploySpec
    graph: Graph


def read_inputs(
    topology: str | Path,
    deploy: str | Path | None = None,
    sets: Iterable[str] = (),
    *,
    registry: TypeRegistry,
    available: Available | None = None,
    replicas: Mapping[str, int] | None = None,
    findings: HostFindings | None = None,
    **keys: Any,
) -> Inputs:
    """Reads a topology and a deployment file, lays `sets` and then `keys` (of the deployment; None: not given) over
    them, and checks the graph. ConfigurationError lists every problem of all three, those of one file by line.

    `replicas`: how many a plan has of the actors with `replicas = "auto"`. `findings`: of this host, where the
    run has several."""
    available = available or Available.installed()
    problems: list[Problem] = []
    spec = read_topology(topology, sets, problems)
    deployment, written = read_deploy(deploy, sets, problems, **keys)
    check_deploy(deployment, available, written, problems)
    graph = None
    if spec:
        graph = check_graph(spec, registry, deployment, available, problems, replicas, findings)
    if problems or spec is None or graph is None:
        raise ConfigurationError(in_order(problems, str(topology), str(deploy)))
    return Inputs(spec, deployment, graph)


def in_order(problems: list[Problem], *files_first: str) -> list[Problem]:
    """Problems of a file together and by line; these files first, then by their first problem; each problem once."""
    files = list(dict.fromkeys([*files_first, *(problem.file for problem in problems)]))
    unique = dict.fromkeys(problems)
    return sorted(unique, key=lambda problem: (files.index(problem.file), problem.line))
