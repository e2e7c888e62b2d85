"""Chains of neighbours without a state, whose kernels are one job (ordered-multicore section 6: to the threads a chain is one
operator). Decides how far a chain goes and counts what its members have done. It runs nothing and keeps no order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import monotonic_ns
from typing import TYPE_CHECKING

from actorstream.operators.chain import Linking, UnlinkedError
from actorstream.operators.linked import Linked

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.operators.prepared import Prepared
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.schedule.kernel_edge import KernelEdge


class KernelChain:
    """The replicas behind a kernel edge, up to the last neighbour that can be linked. Batches of `schema` pass all of them in
    one job. The inner edges have no jobs of their own; a batch that fails passes through them by calls.

    Args:
        edges: the edges to its members, in order.
        linked: the steps of the members.
    """

    __slots__ = ("_linked", "edges", "members", "schema", "tail")

    def __init__(self, edges: Sequence[KernelEdge], linked: Linked, schema: Schema) -> None:
        self.edges, self.members = list(edges), [edge.consumer for edge in edges]
        self.tail = self.members[-1]
        self._linked, self.schema = linked, schema

    @classmethod
    def behind(cls, edge: KernelEdge, schema: Schema) -> KernelChain | None:
        """The longest chain that begins with an edge, for batches of `schema`; None: its consumer is no link."""
        edges = [edge]
        while (after := _next(edges[-1].consumer)) is not None:
            edges.append(after)
        while edges:
            try:
                return cls(edges, _linked([each.consumer for each in edges], schema), schema)
            except Exception:  # if something is wrong with an operator, its own hook raises a better error
                edges.pop()
        return None

    def prepare(self, batch: Batch) -> Prepared:
        """The whole chain as a job. Its `finish` counts what the members have done and returns what the tail is to send on."""
        return self._linked.prepare(batch, partial(self._count, batch))

    def _count(self, batch: Batch, rows: list[int], took_ns: list[int]) -> None:
        """Counts what each member has taken and sent; what the tail sends is counted when it does."""
        began = batch.began or monotonic_ns()
        for number, member in enumerate(self.members):
            if not rows[number]:
                return
            member.count_input(rows[number], batch.entry_min, batch.entry_max, began)
            member.execute_ns += took_ns[number]
            if member is not self.tail:
                member.events_out += rows[number + 1]


def _next(consumer: Replica) -> KernelEdge | None:
    """The only edge of a replica, if it is a kernel edge to a replica without a state; else None."""
    from actorstream.runtime.schedule.kernel_edge import KernelEdge

    edges = consumer.edges.get("default", [])
    only = edges[0] if len(edges) == 1 else None
    return only if isinstance(only, KernelEdge) and not only.exclusive else None


def _linked(members: Sequence[Replica], schema: Schema) -> Linked:
    """The steps of members in order. UnlinkedError: one of them cannot be linked."""
    linking = Linking(schema)
    rows, ends = linking.rows, []
    for number, member in enumerate(members):
        if not member.hands_on or member.stamp is not None:
            raise UnlinkedError  # the rows that it sends need their lineage, or their place in an order
        linking.member = number
        rows = member.actor.link(linking, rows)  # type: ignore[attr-defined]
        if rows.schema != member.schemas["default"].user:
            raise UnlinkedError
        ends.append(rows.number)
    return linking.finished(rows, ends)
