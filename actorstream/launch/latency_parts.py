"""Where the time goes between the entry of a batch and its end in an actor without consumers. Reads the counters of a run.

Counters have sums over batches, so what is said are means: how old a batch is where an operator takes it, less how old it
was when it left its producer, is the time in between."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from actorstream.metrics.counters import Counter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from actorstream.plan.job import Job

PARTS = ("read", "hooks", "builder", "ring", "queue")


def latency_parts(job: Job) -> dict[str, float]:
    """Mean milliseconds that a batch has spent in each part of its way to an actor without consumers, and their `sum`.

    read: in its source. hooks: in the hooks of operators and sinks. builder: waiting for more rows, or for room in a channel.
    ring: in a channel, until its consumer's worker has woken up and given the operator a turn. queue: in that turn behind
    other batches."""
    ways = _Ways(job)
    for each in job.plan.replicas:
        ways.parts(ways.head(each.id))  # producers first, so that calls are not as deep as the graph is long
    last = [each.id for each in job.plan.replicas if not job.graph.consumers(each.actor)]
    weighed = [(job.counters.value(each, Counter.JUMBO_IN), ways.parts(ways.head(each))) for each in last]
    mean = _mean(weighed)
    found = {name: round(mean.get(name, 0.0) / 1e6, 6) for name in PARTS}
    return found | {"sum": round(sum(found.values()), 6)}


class _Ways:
    """The ways from sources to sinks, by the heads of units: what is called directly belongs to the unit of its caller."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._members: dict[int, list[int]] = defaultdict(list)
        for each in job.plan.replicas:
            self._members[self.head(each.id)].append(each.id)
        self._producers: dict[int, set[int]] = defaultdict(set)
        for link in job.channels:
            if not link.edge.static:
                self._producers[self.head(link.consumer)].add(self.head(link.producer))
        self._known: dict[int, dict[str, float]] = {}

    def head(self, replica: int) -> int:
        """The head of the unit that a replica belongs to."""
        while replica in self._job.fused:
            replica = self._job.fused[replica][0]
        return replica

    def parts(self, head: int) -> dict[str, float]:
        """Mean ns of each part of the way of a batch until the hooks of a unit have run."""
        if head not in self._known:
            self._known[head] = self._parts(head)
        return self._known[head]

    def _parts(self, head: int) -> dict[str, float]:
        producers = self._producers[head]
        batches = max(self._value(head, Counter.JUMBO_IN if producers else Counter.READS), 1)
        worked = {each: self._value(each, Counter.EXECUTE_NS) / batches for each in self._members[head]}
        if not producers:
            return {"read": worked.pop(head), "hooks": sum(worked.values())}
        before = [(self._value(each, Counter.JUMBO_OUT), self._left(each)) for each in sorted(producers)]
        found = _mean(before)
        age, queue = (self._value(head, each) / batches for each in (Counter.AGE_NS, Counter.QUEUED_NS))
        ring = max(0.0, age - queue - sum(found.values()))
        own = {"hooks": sum(worked.values()), "ring": ring, "queue": queue}
        return {name: found.get(name, 0.0) + own.get(name, 0.0) for name in PARTS}

    def _left(self, head: int) -> dict[str, float]:
        """The same until what the unit has made of a batch was sent."""
        found = self.parts(head)
        waited = self._value(head, Counter.GATHERED_NS) / max(self._value(head, Counter.JUMBO_OUT), 1)
        return {**found, "builder": found.get("builder", 0.0) + waited}

    def _value(self, replica: int, counter: Counter) -> int:
        return self._job.counters.value(replica, counter)


def _mean(weighed: Sequence[tuple[int, Mapping[str, float]]]) -> dict[str, float]:
    """The mean of each part, by weight."""
    total = sum(weight for weight, _ in weighed)
    if not total:
        return {}
    return {name: sum(weight * parts.get(name, 0.0) for weight, parts in weighed) / total for name in PARTS}
