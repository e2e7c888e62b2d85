"""Chains of neighbours, which are one call of C, or one job of a pool (ordered-multicore section 6: to the threads a chain is
one operator): operators without a state, and what takes in their rows if there are no threads. Decides how far a chain goes
and counts what its members have done. It keeps no order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from time import monotonic_ns
from types import MappingProxyType
from typing import TYPE_CHECKING

from actorstream.actors.contract import goes_with_batches
from actorstream.errors import ResourceError
from actorstream.events.fields import WATERMARK
from actorstream.events.representation import known_times
from actorstream.native.panes import UNKNOWN
from actorstream.operators.chain import LinkedRows, Linking, UnlinkedError
from actorstream.runtime.fast_paths.merged_edge import MergedEdge
from actorstream.runtime.output import DirectEdge

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.native.panes import PanesStep
    from actorstream.operators.linked import Linked
    from actorstream.operators.prepared import Prepared
    from actorstream.runtime.output import OutEdge
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.schedule.kernel_edge import KernelEdge


class KernelChain:
    """The replicas behind a kernel edge, up to the last neighbour that can be linked. Batches of `schema` pass all of them at
    once. The inner edges have no jobs of their own; a batch that fails passes through them by calls.

    A chain may lead into the unit of an operator that merges several inputs, such as a union. While that unit cannot take a batch
    at once, the batch goes no further than the chain's own unit.

    Args:
        edges: the edges to its members without a state, in order.
        linked: the steps of the members.
        end: the member behind these, which takes all rows in to its state, and what tells it of a batch's event times.
        gates: the edges by which it leads into other units, by the number of the member behind each.
    """

    def __init__(
        self,
        edges: Sequence[KernelEdge],
        linked: Linked,
        schema: Schema,
        end: tuple[Replica, PanesStep] | None = None,
        gates: Mapping[int, MergedEdge] = MappingProxyType({}),
    ) -> None:
        self.edges, self.members = list(edges), [edge.consumer for edge in edges]
        self._end = end
        if end is not None:
            self.members.append(end[0])
        self.tail = self.members[-1]
        self._linked, self.schema, self.gates = linked, schema, gates
        self._short: KernelChain | None = None
        """The chain up to the first gate; None: there is no gate, or one member before it."""
        self._rows = [0] * len(self.members)
        """Rows that have come to each member by `run`, and batches, since `count`."""
        self._batches = self._rows.copy()

    @classmethod
    def behind(cls, edge: KernelEdge, batch: Batch) -> KernelChain | None:
        """The longest chain that begins with an edge, for batches like this one; None: its consumer is no link."""
        edges, gates = _way(edge)
        found = cls._of(edges, batch, gates)
        if found is not None and found.gates:
            found._short = cls._of(edges[: min(gates)], batch, {})
        return found

    @classmethod
    def _of(
        cls, edges: Sequence[KernelEdge], batch: Batch, gates: Mapping[int, MergedEdge]
    ) -> KernelChain | None:
        """The longest chain of the first of these edges. None: none can be linked."""
        edges, schema, alone = list(edges), batch.schema, edges[0].pool is None
        end = _end(edges[-1].consumer) if alone else None
        if end is not None and (schema.event_time is not None or "_time" not in batch.system):
            try:
                linked, schema, state = _ended([each.consumer for each in edges], end, schema)
                return cls(edges, linked, schema, state, gates)
            except Exception:  # as below
                pass
        while len(edges) > alone:  # one alone costs less by its hook than as a chain
            try:
                linked = _linked([each.consumer for each in edges], schema)
                behind = {place: gate for place, gate in gates.items() if place < len(edges)}
                return cls(edges, linked, schema, None, behind)
            except Exception:  # if something is wrong with an operator, its own hook raises a better error
                edges.pop()
        return None

    @property
    def own(self) -> list[KernelEdge]:
        """The edges within the unit of the first."""
        return self.edges[: min(self.gates, default=len(self.edges))]

    def fits(self, batch: Batch) -> bool:
        """Whether a batch is of the schema of the chain, or of an equal one, as rows that came by another way have."""
        schema = batch.schema
        if schema is not self.schema and schema == self.schema:
            self.schema = schema
        return schema is self.schema

    def run(self, batch: Batch) -> bool:
        """Runs the chain here and now and sends on what comes out. False: a row has failed or is late, and the hooks are to be
        called. ResourceError: there was no memory for the state at the end."""
        end = self._end
        for gate in self.gates.values():
            if not gate.is_open(batch.rows):
                short = self._short
                return short is not None and short.fits(batch) and short.run(batch)
        try:
            if end is not None and not _admitted(*end, batch):
                return False
            found = self._linked.run(batch)
        except ResourceError:
            raise
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
        for place, gate in self.gates.items():
            if left[place - 1]:
                gate.passed(left[place - 1], batch.entry_max)
        if made is not None or (end is not None and rows):
            tail = self.tail
            tail.entry_min, tail.entry_max = batch.entry_min, batch.entry_max
            tail.began = batch.began or monotonic_ns()
            if made is not None:
                tail.forward(made)
            else:
                counts[-1] += rows
                batches[-1] += 1
                tail.has_run = True
                tail.actor.took(rows)  # type: ignore[attr-defined]
        return True

    def count(self) -> None:
        """Counts what the members have taken by `run`, and sent; what the tail sends is counted when it does."""
        rows, batches = self._rows, self._batches
        if self._short is not None:
            self._short.count()
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


def is_ready(edge: KernelEdge) -> bool:
    """Whether the tables of all units that a chain behind an edge may lead into are complete."""
    return all(gate.taker.static is None for gate in _way(edge)[1].values())


def _way(edge: KernelEdge) -> tuple[list[KernelEdge], dict[int, MergedEdge]]:
    """The edges of the longest line of operators that begins with an edge, and those that lead into other units."""
    edges, gates = [edge], dict[int, "MergedEdge"]()
    while True:
        if (gate := _gate(edges[-1].consumer)) is not None:
            gates[len(edges)] = gate
        after = _next(edges[-1].consumer) if gate is None else gate.taker.at_head
        if after is None:
            return edges, gates
        edges.append(after)


def _only(consumer: Replica) -> OutEdge | None:
    """The only edge of a replica; else None."""
    edges = consumer.edges.get("default", [])
    return edges[0] if len(edges) == 1 else None


def _gate(consumer: Replica) -> MergedEdge | None:
    """The only edge of a replica, if a chain can go on behind it in another unit; else None."""
    only = _only(consumer)
    return only if isinstance(only, MergedEdge) and not only.marks_rows else None


def _next(consumer: Replica) -> KernelEdge | None:
    """The only edge of a replica, if it is a kernel edge to a replica without a state; else None."""
    from actorstream.runtime.schedule.kernel_edge import KernelEdge

    only = _only(consumer)
    return only if isinstance(only, KernelEdge) and not only.exclusive else None


def _end(consumer: Replica) -> Replica | None:
    """The only neighbour that a replica calls, if it may take in the rows of a chain; else None."""
    only = _only(consumer)
    if type(only) is not DirectEdge or not goes_with_batches(type(only.consumer.actor), "link_end"):
        return None
    end = only.consumer
    return end if end.stamp is None and end.descent is None else None


def _admitted(end: Replica, state: PanesStep, batch: Batch) -> bool:
    """Whether a state takes a batch, which it is told the event times of. False: the batch is to go through the hooks."""
    admission = end.actor.admits()  # type: ignore[attr-defined]
    if admission.room <= 0 or end.paused or WATERMARK in batch.carried():
        return False
    state.late_below(admission.low)
    state.bounds[0], state.bounds[1] = known_times(batch) or UNKNOWN
    return True


def _ended(
    members: Sequence[Replica], end: Replica, schema: Schema
) -> tuple[Linked, Schema, tuple[Replica, PanesStep]]:
    """The steps of members in order, and of the one behind them that takes their rows in. UnlinkedError as for `_linked`."""
    linking = Linking(schema, grows=True)
    rows, ends = _steps(linking, members, at_end=False)
    linking.member = len(members)
    state = end.actor.link_end(linking, rows)  # type: ignore[attr-defined]
    return linking.taken_in(ends), schema, (end, state)


def _linked(members: Sequence[Replica], schema: Schema) -> Linked:
    """The steps of members in order. UnlinkedError: one of them cannot be linked."""
    linking = Linking(schema)
    return linking.finished(*_steps(linking, members, at_end=True))


def _steps(linking: Linking, members: Sequence[Replica], *, at_end: bool) -> tuple[LinkedRows, list[int]]:
    """Adds the steps of members. Returns the rows that these leave in the end, and the set that each leaves. `at_end`: whether
    the last one sends its rows itself."""
    rows, ends = linking.rows, []
    for number, member in enumerate(members):
        sends = at_end and number + 1 == len(members)
        if member.stamp is not None and member.stamp.places_rows and not sends:
            raise UnlinkedError  # the rows that it sends need their place in an order
        linking.member = number
        rows = member.actor.link(linking, rows)  # type: ignore[attr-defined]
        if rows.schema != member.schemas["default"].user:
            raise UnlinkedError
        ends.append(rows.number)
    return rows, ends
