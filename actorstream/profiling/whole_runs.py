"""Runs of a whole topology that a profile is made from: on one core, on each of two at the same time, and with a part of it on a
core of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from actorstream.profiling.stages import with_replicas
from actorstream.profiling.watch import watch_whole

if TYPE_CHECKING:
    from actorstream.profiling.together import WholeRun
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Graph
    from actorstream.topology.machine import Machine

LEAST_SHARE = 0.15
"""Of the time on one core: what takes less is not measured on a core of its own."""


class WholeRuns:
    """Runs one topology in processes of its own.

    Args:
        changed: replicas of the actors that have several -> actor -> keys that are laid over its own.
        fed: sources in whose place a sample is given (see `with_replicas`).
        seconds: processor time of a run."""

    def __init__(
        self,
        graph: Graph,
        changed: Callable[[Mapping[str, int]], Mapping[str, Mapping[str, Any]]],
        fed: Mapping[str, Mapping[str, Any]],
        deploy: DeploySpec,
        cores: Machine,
        seconds: float,
    ) -> None:
        self._graph, self._changed, self._fed, self._deploy = graph, changed, fed, deploy
        self._cores, self._seconds = cores, seconds

    def run(
        self, counts: Mapping[str, int] = MappingProxyType({}), *, contended: bool = False
    ) -> tuple[Graph, WholeRun]:
        """On one core, with so many replicas, one of each actor that `counts` does not name; and the graph that ran. `contended`:
        while another core runs a copy."""
        graph = with_replicas(self._graph, counts, self._changed(counts), self._fed)
        return graph, watch_whole(
            graph, self._deploy, self._cores, seconds=self._seconds, contended=contended
        )

    def apart(
        self,
        part: Sequence[str],
        chains: Sequence[Sequence[str]],
        costs: Mapping[str, float],
        run: WholeRun,
    ) -> WholeRun:
        """The chain, or member of one, on a core of its own and the other operators on another one, for as many rows as in the
        run on one core. `cpu_ns` is that of its own core."""
        graph = with_replicas(self._graph, {}, self._changed({}), self._fed)
        # A plan that cuts a chain mostly cuts it at each member, and channels gather larger jumbo tuples than calls.
        seconds = share_of_time(part, costs, run) * self._seconds
        return watch_whole(
            graph, self._deploy, self._cores, seconds=seconds, apart=part, chained=part in chains
        )


def parts_apart(
    chains: Sequence[Sequence[str]], costs: Mapping[str, float], run: WholeRun
) -> list[Sequence[str]]:
    """The chains, and their members, that took so much of a run's time that they are measured on a core of their own."""
    parts = [*chains, *([one] for chain in chains if len(chain) > 1 for one in chain)]
    return [
        part
        for part in parts
        if len(part) < len(run.actors) and share_of_time(part, costs, run) >= LEAST_SHARE
    ]


def share_of_time(part: Sequence[str], costs: Mapping[str, float], run: WholeRun) -> float:
    """The part of a run's processor time that a chain took, or a member of one."""
    return costs.get("+".join(part), 0.0) * run.actors[part[0]].rows / run.cpu_ns
