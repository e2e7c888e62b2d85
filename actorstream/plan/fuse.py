"""How an actor's class lets it run: whether its forward neighbours may call it directly (pipelining, AIR section 3.4),
whether it takes messages. Pure decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.actors.actor import event_hooks
from actorstream.actors.contract import goes_with_batches
from actorstream.plan.hook_shapes import is_async
from actorstream.topology.plan import LONGEST_CHAIN

if TYPE_CHECKING:
    from collections.abc import Mapping

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


def merges(actor: GraphActor) -> bool:
    """Whether a native chain can go through an actor although it has several inputs: they have no order, and the actor never
    asks which of them a row came by. Built in is `union`."""
    inputs = [edge for edge in actor.inputs if not edge.static]
    return (
        len(inputs) > 1
        and all(edge.order == "none" for edge in inputs)
        and actor.contract.one_stream
        and goes_with_batches(actor.cls, "link")
    )


def merged_calls(graph: Graph, plan: ExecutionPlan, calls: Mapping[int, tuple[int, Edge]]) -> frozenset[int]:
    """The channels to actors as in `merges` whose batches need not wait in them: producer and consumer lie on one worker, and
    the consumer takes a batch at once where nothing waits before it. Marks and promises go by these channels as by all.

    `calls`: the direct calls of the plan. Both kinds of calls together are no deeper than LONGEST_CHAIN. With a schedule there
    are none, since the scheduler decides by what waits in channels."""
    deploy = plan.deploy
    if not deploy.pipelining or deploy.schedule != "none":
        return frozenset()
    edges = {edge.index for edge in graph.edges if _merged(graph, edge)}
    place: dict[int, int] = {}  # replica -> how many direct calls lead to it, with its head
    heads: dict[int, int] = {}
    depth: dict[int, int] = {}  # head -> the longest line of calls that begins with it
    for replica in plan.replicas:
        caller = calls[replica.id][0] if replica.id in calls else None
        place[replica.id] = 1 if caller is None else place[caller] + 1
        head = heads[replica.id] = replica.id if caller is None else heads[caller]
        depth[head] = max(depth.get(head, 0), place[replica.id])
    found = set()
    for channel in sorted(plan.channels, key=lambda each: each.consumer, reverse=True):
        up, down = plan.replicas[channel.producer], plan.replicas[channel.consumer]
        line = place[up.id] + depth.get(down.id, 0)
        if channel.edge in edges and up.worker == down.worker and line <= LONGEST_CHAIN:
            found.add(channel.id)
            depth[heads[up.id]] = max(depth[heads[up.id]], line)
    return frozenset(found)


def _merged(graph: Graph, edge: Edge) -> bool:
    """Whether replicas of an edge's producer may call those of its consumer, which has several inputs, past their channels."""
    producer, consumer = graph.actors[edge.producer], graph.actors[edge.consumer]
    return (
        edge.route == "forward"
        and not edge.static
        and producer.replicas == consumer.replicas
        and producer.contract.fusible
        and merges(consumer)
        and not awaits(consumer)
    )


def awaits(actor: GraphActor) -> bool:
    """Whether an input hook of the actor's class is async."""
    return any(is_async(hook) for hook in event_hooks(actor.cls).values())


def takes_messages(cls: type) -> bool:
    """Whether an actor class can be told and asked while it runs in a topology."""
    return hasattr(cls, "on_message")
