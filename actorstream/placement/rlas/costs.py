"""What one input tuple costs each operator of a dataflow, and how many tuples leave it, from a profile. Pure.

A chain of direct calls is one operator: its members' times are added, and between them nothing is fetched (T^f = 0).
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from actorstream.errors import ConfigurationError, Problem
from actorstream.placement.rlas.dataflow import Dataflow, PlannedOperator
from actorstream.placement.rlas.profile import OperatorProfile, OutputProfile, Profile
from actorstream.topology.suggestions import did_you_mean, listed

UNROUTED = ("forward", "global", "broadcast")
"""Routes that choose no replica for a row."""
MOST_HAND_OVER = 3.0
"""The greatest factor of `hand_over_factor`: more is rather a machine whose speed has changed between two measurements."""
MADE = -1
"""Stands for the number of a flow where a source makes a tuple instead of reading one."""


class EntryCost(msgspec.Struct, frozen=True):
    """The cost of a tuple that enters an operator by one flow."""

    execute_ns: float
    memory_bytes: float
    leaving: dict[int, float] = {}
    """Number of a leaving flow -> tuples on it."""
    beside_ns: float = 0.0
    """More, where another replica of the operator is on the same core."""


class Costs(msgspec.Struct, frozen=True):
    """Costs of a dataflow at one size of jumbo tuples. Operators and flows go by their numbers in the dataflow."""

    dataflow: Dataflow
    entries: list[dict[int, EntryCost]]
    """Of each operator, by entering flow; a source's single one by MADE."""
    flows: list[tuple[int, int]]
    """Producing and consuming operator of each flow; equal inside an operator."""
    bytes: list[float]
    """N of each flow's tuples: what a consumer fetches of them."""
    rows: float
    hertz: float
    routing: list[float] = []
    """Of each flow: nanoseconds that a tuple takes more where it goes to one of several replicas; empty: `entries` have it."""
    hops: list[float] = []
    """Of each flow: nanoseconds that a tuple takes its producer more where the consumer is in another worker."""
    takes: list[float] = []
    """Of each flow: nanoseconds that a tuple takes its consumer more where the producer is in another worker; without T^f."""
    apart: list[float] = []
    """Of each operator: how many times as long as T^e, at most once, it takes with a core to itself; empty: once."""
    halved: list[float] = []
    """Of each operator: nanoseconds that a tuple takes more in the smaller jumbo tuples that each of several replicas gets."""
    aways: list[float] = []
    """Of each flow: nanoseconds that a tuple takes its consumer more where it comes from another core, fetching included."""
    contention: float = 1.0
    """How many times as long as alone a worker takes for its work while another one of its socket works as much."""

    def routed(self, replicas: list[int]) -> Costs:
        """The same where operators have so many replicas, with what it costs to route between them, and to process the smaller
        jumbo tuples that each of them gets: half as large, however many replicas there are, since smaller ones are gathered
        while their consumer works."""
        if not any(self.routing) and not any(self.halved):
            return self
        exchanges = [
            flow.route not in UNROUTED and replicas[consumer] > 1
            for flow, (_, consumer) in zip(self.dataflow.flows, self.flows)
        ]
        extra = [each * flow for each, flow in zip(self.routing or [0.0] * len(self.flows), exchanges)]
        divided, entries = [False] * len(replicas), []
        """Of each operator: whether it gets halves of jumbo tuples."""
        for number, mine in enumerate(self.entries):
            flows = [flow for flow in mine if flow != MADE]
            divided[number] = any(exchanges[flow] or divided[self.flows[flow][0]] for flow in flows)
            smaller = self.halved[number] if self.halved and divided[number] else 0.0
            changed = {}
            for flow, entry in mine.items():
                routing = sum(selectivity * extra[leaving] for leaving, selectivity in entry.leaving.items())
                changed[flow] = replace(entry, execute_ns=entry.execute_ns + routing + smaller)
            entries.append(changed)
        return replace(self, entries=entries, routing=[], halved=[])

    def totals(self, replicas: list[int]) -> list[float]:
        """Tuples per second on each flow, all replicas together, when the sources make one tuple per second in all."""
        dataflow = self.dataflow
        totals = [0.0] * len(dataflow.flows)
        sources = [n for n, entries in enumerate(self.entries) if MADE in entries]
        weight = sum(dataflow.operators[n].weight for n in sources)
        for number, entries in enumerate(self.entries):
            for flow, entry in entries.items():
                if flow == MADE:
                    enters = dataflow.operators[number].weight / weight
                else:
                    copies = replicas[number] if dataflow.flows[flow].route == "broadcast" else 1
                    enters = totals[flow] = totals[flow] * copies
                for leaving, selectivity in entry.leaving.items():
                    totals[leaving] += enters * selectivity
        return totals

    def entering(self, operator: int, totals: list[float]) -> list[tuple[int, float]]:
        """Entering flows of an operator with their tuples per second at a total ingress of one."""
        weight = sum(
            self.dataflow.operators[n].weight for n, entries in enumerate(self.entries) if MADE in entries
        )
        return [
            (flow, self.dataflow.operators[operator].weight / weight if flow == MADE else totals[flow])
            for flow in self.entries[operator]
        ]

    def sinks(self) -> list[int]:
        """Operators that no flow leaves, tables aside."""
        feeding = {producer for producer, consumer in self.flows if producer != consumer}
        return [n for n, each in enumerate(self.dataflow.operators) if n not in feeding and not each.table]


def costs_of(dataflow: Dataflow, profile: Profile, *, rows: float = 64, percentile: str = "p50") -> Costs:
    """The costs of a dataflow. ConfigurationError: the profile lacks an actor or the percentile."""
    problems: list[Problem] = []
    known = profile.operators
    for each in dataflow.operators:
        if each.table or each.name in known:
            continue
        for actor in each.members:
            if actor not in known:
                hint = did_you_mean(actor, known) or "measure it with actorstream profile TOPOLOGY"
                problems.append(Problem(f"operators.{actor}", "is not in the profile", listed(known), hint))
    for name, found in known.items():
        if any(percentile not in batch.execute_ns for batch in found.batches):
            shared = listed(found.batches[0].execute_ns)
            problems.append(Problem(f"operators.{name}.execute_ns", f"has no {percentile!r}", shared))
    if problems:
        raise ConfigurationError(problems)
    places = dataflow.operator_of()
    flows = [(places[each.producer], places[each.consumer]) for each in dataflow.flows]
    entries: list[dict[int, EntryCost]] = []
    for number, operator in enumerate(dataflow.operators):
        entering = [n for n, (a, b) in enumerate(flows) if b == number and a != b]
        mine: dict[int, EntryCost] = {}
        if not operator.table:
            for flow in entering or [MADE]:
                mine[flow] = _entry(dataflow, operator, flow, known, rows, percentile)
        entries.append(mine)
    outputs = [_output(dataflow, number, known) for number in range(len(flows))]
    sizes = [each.bytes if flow.fetched else 0.0 for each, flow in zip(outputs, dataflow.flows)]
    routing = [each.route_ns for each in outputs]
    more = {name: hand_over_factor(profile, name, dataflow, rows) for name in known}
    hops, takes = [], []
    for stream, edge, (producer, consumer) in zip(outputs, dataflow.flows, flows):
        sender, taker = dataflow.operators[producer].name, dataflow.operators[consumer].name
        hops.append(profile.hop_ns(stream.bytes, rows) * more.get(sender, more.get(edge.producer, 1.0)))
        takes.append(profile.take_ns(rows) * more.get(taker, more.get(edge.consumer, 1.0)))
    apart = [_apart(each, known, rows) for each in dataflow.operators]
    halved = [_halved(each, known) for each in dataflow.operators]
    aways = []
    for number, (_, consumer) in enumerate(flows):
        entry = entries[consumer].get(number)
        aways.append(max(apart[consumer] - 1, 0.0) * entry.execute_ns if entry is not None else 0.0)
    return Costs(
        dataflow,
        entries,
        flows,
        sizes,
        rows,
        profile.hertz,
        routing=routing,
        hops=hops,
        takes=takes,
        apart=[min(each, 1.0) for each in apart],
        halved=halved,
        aways=aways,
        contention=profile.contention,
    )


def hand_over_factor(profile: Profile, name: str, dataflow: Dataflow, rows: float) -> float:
    """How many times as much as the profile's `hop_ns` and `take_ns` it costs an operator to take rows in from another worker and
    to send them to others. From 1 to MOST_HAND_OVER. Those were measured with operators that do nothing, between which memory
    stays in the caches."""
    of = profile.operators[name]
    members = of.members or [name]
    both = profile.take_ns(rows) if any(each.consumer == members[0] for each in dataflow.flows) else 0.0
    for each in dataflow.flows:
        output = of.outputs.get(each.output)
        if output is not None and each.producer == members[-1] and each.consumer not in members:
            both += output.selectivity * profile.hop_ns(output.bytes, rows)
    return min(max(of.hand_over_ns / both, 1.0), MOST_HAND_OVER) if both else 1.0


def _halved(operator: PlannedOperator, known: Mapping[str, OperatorProfile]) -> float:
    """`halved_ns` of an operator; of a chain that was not measured as one that of its head, whose tuples they are."""
    return next(
        (known[name].halved_ns for name in (operator.name, operator.members[0]) if name in known), 0.0
    )


def _apart(operator: PlannedOperator, known: Mapping[str, OperatorProfile], rows: float) -> float:
    names = (
        [operator.name] if operator.name in known else [each for each in operator.members if each in known]
    )
    weights = [known[name].execute_ns(rows) for name in names]
    weighted = sum(known[name].apart * weight for name, weight in zip(names, weights))
    return weighted / sum(weights) if sum(weights) else 1.0


def _entry(
    dataflow: Dataflow,
    operator: PlannedOperator,
    flow: int,
    known: Mapping[str, OperatorProfile],
    rows: float,
    percentile: str,
) -> EntryCost:
    """The cost of a tuple on `flow`, through all members of the operator that it reaches."""
    head = operator.members[0] if flow == MADE else dataflow.flows[flow].consumer
    label = "" if flow == MADE else dataflow.flows[flow].source
    whole = known.get(operator.name) if len(operator.members) > 1 else None
    visits = dict.fromkeys(operator.members, 0.0) | {head: 1.0}
    labels = {head: label}
    execute = memory = beside = 0.0
    leaving: dict[int, float] = {}
    for name in operator.members:
        mine = known.get(name)
        if mine is not None:
            execute += visits[name] * mine.execute_ns(rows, percentile)
            memory += visits[name] * mine.memory_bytes(rows)
            beside += visits[name] * mine.beside_ns
        for number, each in enumerate(dataflow.flows):
            if each.producer != name:
                continue
            source = mine if mine is not None else whole
            assert source is not None  # costs_of has looked
            selectivity = visits[name] * source.selectivity(each.output, labels.get(name, ""))
            if whole is not None and name == operator.members[-1]:
                selectivity = whole.selectivity(each.output, label)
            if each.consumer in visits:
                visits[each.consumer] += selectivity
                labels[each.consumer] = each.source
            else:
                leaving[number] = selectivity
    if whole is not None:
        execute, memory = whole.execute_ns(rows, percentile), whole.memory_bytes(rows)
        beside = whole.beside_ns
    return EntryCost(execute, memory, leaving, beside)


def _output(dataflow: Dataflow, flow: int, known: Mapping[str, OperatorProfile]) -> OutputProfile:
    each = dataflow.flows[flow]
    owner = next(one for one in dataflow.operators if each.producer in one.members)
    for name in (each.producer, owner.name):
        found = known.get(name)
        if found is not None and each.output in found.outputs:
            return found.outputs[each.output]
    return OutputProfile(selectivity=0.0)
