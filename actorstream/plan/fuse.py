"""How an actor's class lets it run: whether its forward neighbour may call it directly (pipelining, AIR section 3.4),
whether it takes messages. Pure decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.actors.actor import event_hooks
from actorstream.plan.hook_shapes import is_async

if TYPE_CHECKING:
    from actorstream.topology.graph import Edge, Graph, GraphActor
    from actorstream.topology.plan import ExecutionPlan


def fusible(graph: Graph, edge: Edge) -> bool:
    """Whether the consumer of `edge` may be called directly by its producer's replicas.

    It must have this input only, besides static ones, routed forward between equal numbers of replicas (what one
    replica sends is in serial or timestamp order already); none of its input hooks may await, since its producer would have to
    wait with it."""
    producer, consumer = graph.actors[edge.producer], graph.actors[edge.consumer]
    return (
        edge.route == "forward"
        and edge.order in ("none", "serial", "timestamp")
        and sum(not each.static for each in consumer.inputs) == 1
        and producer.replicas == consumer.replicas
        and not awaits(consumer)
        and producer.contract.fusible
    )


def direct_calls(graph: Graph, plan: ExecutionPlan) -> dict[int, tuple[int, Edge]]:
    """Replica -> the replica that calls it directly and by which edge, as the chains of the plan say."""
    chain_of = {replica: number for number, chain in enumerate(plan.chains) for replica in chain}
    ids = {(replica.actor, replica.index): replica.id for replica in plan.replicas}
    fused = {}
    for edge in graph.edges:
        if fusible(graph, edge):
            for index in range(graph.actors[edge.consumer].replicas):
                up, down = ids[edge.producer, index], ids[edge.consumer, index]
                if up in chain_of and chain_of[up] == chain_of.get(down):
                    fused[down] = (up, edge)
    return fused


def awaits(actor: GraphActor) -> bool:
    """Whether an input hook of the actor's class is async."""
    return any(is_async(hook) for hook in event_hooks(actor.cls).values())


def takes_messages(cls: type) -> bool:
    """Whether an actor class can be told and asked while it runs in a topology."""
    return hasattr(cls, "on_message")
