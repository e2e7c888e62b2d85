"""Neighbours without a state whose kernels are one job (ordered-multicore section 6: a chain is one operator to the
threads). Decides how far a chain goes and counts what its members have done; runs nothing, and keeps no order."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING

from actorstream.operators.chain import Linked, Linking, UnlinkedError

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.operators.prepared import Prepared
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.schedule.kernel_edge import KernelEdge


class KernelChain:
    """What stands behind a kernel edge, up to the last neighbour that can be linked: batches of `schema` pass through all
    of it in one job. Its inner edges have no jobs of their own; a batch that fails is called through them.

    Args:
        edges: to its members, in order.
        linked: their steps.
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
            except Exception:  # if anything is wrong with an operator, its own hook says it better
                edges.pop()
        return None

    def prepare(self, batch: Batch) -> Prepared:
        """All of it as a job; its `finish` answers what the tail is to send on, and has counted the rest."""
        return self._linked.prepare(batch, self._count)

    def begin(self, batch: Batch) -> None:
        """Before the tail sends on what has come of a batch."""
        tail = self.tail
        tail.entry_min, tail.entry_max = batch.entry_min, batch.entry_max
        tail.began = batch.began or monotonic_ns()

    def _count(self, rows: list[int], took_ns: list[int]) -> None:
        """What each member has taken and sent: the last sends for itself."""
        for number, member in enumerate(self.members):
            if not rows[number]:
                return
            member.events_in += rows[number]
            member.jumbo_in += 1
            member.execute_ns += took_ns[number]
            if member is not self.tail:
                member.events_out += rows[number + 1]


def _next(consumer: Replica) -> KernelEdge | None:
    """The kernel edge that is all that is behind a replica, to another without a state; None: there is none."""
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
            raise UnlinkedError  # what it sends is given its lineage, or its place
        linking.member = number
        rows = member.actor.link(linking, rows)  # type: ignore[attr-defined]
        if rows.schema != member.schemas["default"].user:
            raise UnlinkedError
        ends.append(rows.number)
    return linking.finished(rows, ends)
