"""Chains of neighbours without a state, which are one call of C, or one job of a pool (ordered-multicore section 6: to the
threads a chain is one operator). Decides how far a chain goes and counts what its members have done. It keeps no order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import monotonic_ns
from typing import TYPE_CHECKING

from actorstream.operators.chain import Linking, UnlinkedError

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.operators.linked import Linked
    from actorstream.operators.prepared import Prepared
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.schedule.kernel_edge import KernelEdge


class KernelChain:
    """The replicas behind a kernel edge, up to the last neighbour that can be linked. Batches of `schema` pass all of them at
    once. The inner edges have no jobs of their own; a batch that fails passes through them by calls.

    Args:
        edges: the edges to its members, in order.
        linked: the steps of the members.
    """

    __slots__ = ("_batches", "_linked", "_rows", "edges", "members", "schema", "tail")

    def __init__(self, edges: Sequence[KernelEdge], linked: Linked, schema: Schema) -> None:
        self.edges, self.members = list(edges), [edge.consumer for edge in edges]
        self.tail = self.members[-1]
        self._linked, self.schema = linked, schema
        self._rows = [0] * len(self.members)
        """Rows that have come to each member by `run`, and batches, since `count`."""
        self._batches = self._rows.copy()

    @classmethod
    def behind(cls, edge: KernelEdge, schema: Schema) -> KernelChain | None:
        """The longest chain that begins with an edge, for batches of `schema`; None: its consumer is no link."""
        edges = [edge]
        while (after := _next(edges[-1].consumer)) is not None:
            edges.append(after)
        while len(edges) > (edge.pool is None):  # one alone costs less by its hook than as a chain
            try:
                return cls(edges, _linked([each.consumer for each in edges], schema), schema)
            except Exception:  # if something is wrong with an operator, its own hook raises a better error
                edges.pop()
        return None

    def run(self, batch: Batch) -> bool:
        """Runs the chain here and now and sends on what comes out. False: a row has failed, and the hooks are to be called."""
        try:
            found = self._linked.run(batch)
        except Exception:
            return False  # the hook will raise the error
        if found is None:
            return False
        made, left = found
        rows, counts, batches = batch.rows, self._rows, self._batches
        for member, after in enumerate(left):
            if not rows:
                break
            counts[member] += rows
            batches[member] += 1
            rows = after
        if made is not None:
            tail = self.tail
            tail.entry_min, tail.entry_max = batch.entry_min, batch.entry_max
            tail.began = batch.began or monotonic_ns()
            tail.forward(made)
        return True

    def count(self) -> None:
        """Counts what the members have taken by `run`, and sent; what the tail sends is counted when it does."""
        rows, batches = self._rows, self._batches
        if not rows[0]:
            return
        self._rows, self._batches = [0] * len(rows), [0] * len(rows)
        sent: Replica | None = None
        for member, taken, count, took in zip(self.members, rows, batches, self._linked.took_ns()):
            if sent is not None:
                sent.events_out += taken
            member.has_run = member.has_run or count > 0
            member.events_in += taken
            member.jumbo_in += count
            member.execute_ns += took
            sent = member

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
        if member.stamp is not None and member.stamp.places_rows and member is not members[-1]:
            raise UnlinkedError  # the rows that it sends need their place in an order
        linking.member = number
        rows = member.actor.link(linking, rows)  # type: ignore[attr-defined]
        if rows.schema != member.schemas["default"].user:
            raise UnlinkedError
        ends.append(rows.number)
    return linking.finished(rows, ends)
