"""Which graphs can be checkpointed: a barrier must come in on all inputs of an actor with nothing held back before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.errors import ConfigurationError, Problem

if TYPE_CHECKING:
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Graph

ORDERS = ("none", "serial", "timestamp", "dependency")
"""In the others a gate may hold rows that came before a barrier, and nothing keeps them yet."""


def check_recoverable(graph: Graph, deploy: DeploySpec) -> None:
    """Raises ConfigurationError, with every edge in the way, if a deployment with [checkpoint] cannot run a graph."""
    if deploy.checkpoint is None:
        return
    problems = [
        Problem(
            f"actors.{edge.consumer}.inputs",
            f"order {edge.order!r} from {edge.source!r} cannot be checkpointed in this version",
            ", ".join(ORDERS),
            "remove [checkpoint] from the deployment, or choose another order",
            file=graph.file,
            line=graph.actors[edge.consumer].line,
        )
        for edge in graph.edges
        if edge.order not in ORDERS
    ]
    if problems:
        raise ConfigurationError(problems)
