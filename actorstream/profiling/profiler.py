"""The profiler: measures every operator and chain of a topology alone on a core, and makes a profile of it.

Each is fed with what its upstream operators made of the topology's own input, at several batch sizes (briskstream-rlas
section 3.1).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.control.interrupted import Interrupted, Suspended
from actorstream.errors import ActorstreamError
from actorstream.placement.rlas import (
    Measured,
    OperatorProfile,
    OutputProfile,
    Profile,
    dataflow_of,
    planned_rows,
)
from actorstream.plan.event_time import listeners
from actorstream.plan.fuse import fusible
from actorstream.plan.replanning import measured_selectivities, rows_made, with_selectivities
from actorstream.profiling.changed_keys import changed_keys, endless, has_repeat, quiet
from actorstream.profiling.chunks import PERCENTILES, row_costs
from actorstream.profiling.sample_source import Sample
from actorstream.profiling.sampling import sample_stage
from actorstream.profiling.stages import (
    FEED,
    OUT,
    Stage,
    alone,
    hop,
    inputs_of,
    outputs_of,
    stages_of,
)
from actorstream.profiling.together import (
    WholeRun,
    apart_of,
    at_most,
    behind_exchanges,
    beside_ns,
    both,
    contention_of,
    copy_of,
    costs_together,
    halved_ns,
    hand_over_ns,
    line_through,
    of_head,
    routing_ns,
    rows_of_sources,
    scaled_to,
    took_more,
    with_routing,
)
from actorstream.profiling.watch import Watched, watch, watch_hop
from actorstream.profiling.whole_runs import WholeRuns, parts_apart
from actorstream.topology.graph import Graph
from actorstream.topology.machine import read_machine

if TYPE_CHECKING:
    from actorstream.profiling.sampling import Sampled
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Edge

BATCH_SIZES = (64, 1024, 16384)
ROWS = 200_000
SECONDS = 0.5
NOTHING = Measured(rows=1, execute_ns=dict.fromkeys((*PERCENTILES, "min", "max", "mean"), 0.0))
"""Of an operator that no row reaches: what it costs does not matter."""
WHOLE = 8
"""The run of the whole topology takes so many times as long as the measurement of one operator."""
HOP_SIZES = 16
"""How many times as large the large jumbo tuples are whose way to another worker is measured."""
LEAST_WORK_NS = 200_000
"""The least time that the sink works on each jumbo tuple where taking in is measured."""
LEAST_TAKING_S = 0.25
"""The least time for which taking in is measured: the sink does little else but its known work, and a look may be a whole
millisecond late."""
LEAST_COPIED = 0.5
"""The least part of the rows of a topology that a copy of it beside it must have."""
CHUNKS = 50
"""Into which the time of a measurement is divided, about."""


class Profiler:
    """Profiles one graph.

    Args:
        graph: checked, as it is to be planned. deploy: the deployment's other settings.
        rows: of the sample of each stream. seconds: processor time of each measurement.
        hertz: cycles per second of a core of this machine. tell: is told what is measured next.

    Attributes:
        notes: what could not be measured, in words.
    """

    def __init__(
        self,
        graph: Graph,
        deploy: DeploySpec,
        *,
        hertz: float,
        machine: str = "",
        batch_sizes: Sequence[int] = BATCH_SIZES,
        rows: int = ROWS,
        seconds: float = SECONDS,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.graph, self.deploy, self.hertz, self.machine = quiet(graph), deploy, hertz, machine
        self._topology = graph.profile_fingerprint
        self.batch_sizes = with_planned(batch_sizes, int(planned_rows(deploy.batch_size)))
        self.rows, self.seconds, self.tell = rows, seconds, tell
        self.notes: list[str] = []
        self._samples: dict[str, Sample] = {}
        self._cores = read_machine()

    def profile(self) -> Profile:
        """Measures everything. OperatorError: an operator failed on the topology's own input."""
        found = {}
        with tempfile.TemporaryDirectory(prefix="actorstream-profile-") as folder:
            for stage in stages_of(self.graph):
                if len(stage.members) == 1 or self._fed.keys().isdisjoint(stage.members):
                    found[stage.name] = self._stage(stage, Path(folder))
            found, contention = self._together(found, Path(folder))
        jumbo, byte, take = self._hop()
        return Profile(
            name=self.graph.name,
            topology=self._topology,
            machine=self.machine,
            hertz=self.hertz,
            operators=found,
            jumbo_hop_ns=jumbo,
            byte_hop_ns=byte,
            jumbo_take_ns=take,
            contention=contention,
        )

    def _hop(self) -> tuple[float, float, float]:
        """Measures what the way to another worker costs a producer, for a jumbo tuple and for each byte of it, on the stream of
        most bytes, in small and in large jumbo tuples; and what a consumer takes for one."""
        streams = {edge.source: edge for edge in self.graph.edges if self._sample(edge).rows}
        if not streams or len(self._cores.cores) < 2:
            return 0.0, 0.0, 0.0
        most = max(streams, key=lambda each: self._samples[each].rows * self._samples[each].row_bytes)
        sample = self._samples[most]
        self.tell(f"measuring the way of {most} to another worker")
        small = hop(self.graph, streams[most], sample)
        large = int(min(planned_rows(self.deploy.batch_size), sample.rows))
        sizes = sorted({max(large // HOP_SIZES, 1), large})
        sent = {rows: self._hop_jumbo_ns(small, 2, rows) for rows in sizes}
        points = [
            (rows * sample.row_bytes, ns - self._hop_jumbo_ns(small, 1, rows)) for rows, ns in sent.items()
        ]
        # many small ones fit into the ring, and the sink works for longer than the feed: it never waits
        work = max(int(2 * sent[sizes[0]]), LEAST_WORK_NS)
        taken = self._take_jumbo_ns(hop(self.graph, streams[most], sample, work), sizes[0])
        return *line_through(points), round(max(taken - work, 0.0), 1)

    def _hop_jumbo_ns(self, graph: Graph, workers: int, rows: int) -> float:
        """Nanoseconds of processor time that the feed takes for a jumbo tuple, the median."""
        return rows * self._hop_row_costs(graph, workers, rows, self.seconds, FEED).get("p50", 0.0)

    def _take_jumbo_ns(self, graph: Graph, rows: int) -> float:
        """The same of the sink in another worker, the mean: a look that is late moves only the ends of the measured
        time."""
        seconds = max(self.seconds, LEAST_TAKING_S)
        return rows * self._hop_row_costs(graph, 2, rows, seconds, OUT).get("mean", 0.0)

    def _hop_row_costs(
        self, graph: Graph, workers: int, rows: int, seconds: float, end: str
    ) -> dict[str, float]:
        seen = watch_hop(
            graph, self.deploy, self._cores, workers=workers, batch_size=rows, seconds=seconds, end=end
        )
        return row_costs(seen.looks, int(seconds * 1e9 / CHUNKS))

    def _stage(self, stage: Stage, folder: Path) -> OperatorProfile:
        members = list(stage.members) if len(stage.members) > 1 else []
        flows = [edge for edge in inputs_of(self.graph, stage) if not edge.static]
        fed = [self._sample(edge).rows for edge in flows]
        if flows and not any(fed):
            self.notes.append(f"{stage.name} is not measured: no row of the sample reaches it")
            return OperatorProfile(batches=[NOTHING], members=members)
        self.tell(f"sampling {stage.name}")
        changed = changed_keys(self.graph, stage.members, folder)
        sampled = sample_stage(self.graph, stage, self._samples, self.deploy, changed, self.rows)
        if not members:
            self._samples.update(sampled.samples)
        if not sampled.rows:
            self.notes.append(f"{stage.name} is not measured: it has no rows")
            return OperatorProfile(batches=[NOTHING], members=members)
        seen = {size: self._watched(stage, size, changed) for size in self.batch_sizes}
        counted = all(each.memory_bytes is not None for each in seen.values())
        estimate = self._traffic(stage, sampled)
        batches = []
        for size, each in seen.items():
            if costs := row_costs(each.looks, int(self.seconds * 1e9 / CHUNKS)):
                traffic = (each.memory_bytes or 0) / (each.looks[-1].rows - each.looks[0].rows)
                memory = round(traffic if counted else estimate, 3)
                batches.append(Measured(rows=size, execute_ns=costs, memory_bytes=memory))
        if not batches:
            self.notes.append(f"{stage.name} is not measured: it ended before it could be looked at twice")
        return OperatorProfile(
            batches=batches or [NOTHING],
            outputs=self._outputs(stage, sampled),
            members=members,
            memory="counters" if counted else "estimated",
        )

    def _together(
        self, found: dict[str, OperatorProfile], folder: Path
    ) -> tuple[dict[str, OperatorProfile], float]:
        """The profiles with costs and selectivities as a run of the whole topology on one core has them, and with what it costs
        to route rows between replicas; and how many times as long a row takes while another core has the same work."""
        actors = self.graph.actors.values()
        if any(actor.planning is not None for actor in actors):
            self.notes.append("the topology has a program, so costs are those of operators alone")
            return found, 1.0
        several = {actor.name: 2 for actor in actors if actor.replicas > 1 or actor.auto}
        names = list(self.graph.actors)

        def changed(replicas: Mapping[str, int]) -> dict[str, dict[str, Any]]:
            return endless(self.graph, names, changed_keys(self.graph, names, folder, replicas))

        runs = WholeRuns(self.graph, changed, self._fed, self.deploy, self._cores, WHOLE * self.seconds)
        self.tell("measuring the whole topology on one core")
        # The first run is not counted: it gets memory from the machine, which takes time.
        graph, run = runs.run(several)
        if rows_of_sources(graph, run):
            graph, run = runs.run()
        if not rows_of_sources(graph, run):
            self.notes.append(
                "the run of the whole topology had no rows, so costs are those of operators alone"
            )
            return found, 1.0
        # In this order, so that a machine whose speed changes steadily changes all of them alike.
        crowded = self._contended(graph, runs)
        if several:
            self.tell("measuring it with two replicas of its actors, twice")
            routed, second = runs.run(several)
            second = both(second, runs.run(several)[1])
        again = self._contended(graph, runs) if crowded.actors else crowded
        self.tell("measuring it on one core again")
        latest = runs.run()[1]
        contention = contention_of(graph, [(run, crowded), (latest, again)])
        run = both(run, latest)
        rows = planned_rows(self.deploy.batch_size)
        alone = {name: 0.0 if name in self._fed else each.execute_ns(rows) for name, each in found.items()}
        chains = [each.members for each in dataflow_of(graph, direct=fusible).operators]
        everything = costs_together(alone, chains, run)
        costs = {
            name: cost for name, cost in everything.items() if self._fed.keys().isdisjoint(name.split("+"))
        }
        routing: dict[str, float] = {}
        beside: dict[str, float] = {}
        halved: dict[str, float] = {}
        if several:
            scaled = {
                name: scaled_to(found[name], cost, rows) for name, cost in costs.items() if name in found
            }
            smaller = {
                name: max(each.execute_ns(rows / 2) - each.execute_ns(rows), 0.0)
                for name, each in scaled.items()
            }
            halved = halved_ns(chains, smaller, behind_exchanges(routed), run)
            halved = at_most(halved, took_more(everything, second), second)
            beside = beside_ns(routed, run, second, halved)
            beside = at_most(beside, took_more(everything, second, halved), second)
            routing = routing_ns(routed, everything, second, beside, halved)
        apart: dict[str, tuple[float, float]] = {}
        """How many times as long a row takes a chain with a core to itself, and nanoseconds of its hand-overs there."""
        for part in parts_apart(chains, costs, run) if len(self._cores.cores) > 1 else []:
            name = "+".join(part)
            self.tell(f"measuring {name} in the whole topology, on a core of its own")
            before, away, latest = latest, runs.apart(part, chains, costs, run), runs.run()[1]
            ratio = apart_of(part, costs[name], run, (before, latest), away, contention)
            apart[name] = ratio, hand_over_ns(part, costs[name], run, away, contention)
        seen = {
            name: [{"in": each.rows_in, "out": each.rows_out}]
            for name, each in run.actors.items()
            if each.rows
        }
        made = {}
        for name, each in found.items():
            members = each.members or [name]
            mine = scaled_to(each, costs[name], rows) if name in costs else each
            last, head = members[-1], members[0]
            ratio, handed = apart.get(name, (1.0, 0.0))
            mine = msgspec.structs.replace(
                mine,
                apart=ratio,
                hand_over_ns=handed,
                halved_ns=of_head(members, halved, run),
                beside_ns=of_head(members, beside, run),
            )
            if head not in self._fed:
                selectivities = measured_selectivities(graph, last, head, seen)
                mine = with_selectivities(mine, selectivities, rows_made(graph, last, head, seen))
            made[name] = with_routing(mine, members[-1], routing)
        return made, contention

    def _contended(self, graph: Graph, runs: WholeRuns) -> WholeRun:
        """The run on one core while another core runs a copy. Without actors where there is no other core, or an actor cannot be
        there twice."""
        if len(self._cores.cores) < 2:
            return WholeRun(0, {})
        self.tell("measuring it on each of two cores at the same time")
        try:
            run = runs.run(contended=True)[1]
        except (Interrupted, Suspended):
            raise
        except ActorstreamError as error:
            self.notes.append(f"two cores at the same time are not measured: {error}")
            return WholeRun(0, {})
        copied = rows_of_sources(graph, copy_of(run))
        if copied < LEAST_COPIED * rows_of_sources(graph, run):
            self.notes.append(f"two cores at the same time are not measured: the second had {copied:,} rows")
            return WholeRun(0, {})
        return run

    @cached_property
    def _fed(self) -> dict[str, dict[str, Any]]:
        """Sources in whose place a sample is given in runs of the whole topology, with the keys of that: event time matters to
        their consumers, and would begin again with the source."""
        return {
            name: {"sample": self._samples[name], "passes": 0}
            for name in listeners(self.graph)
            if has_repeat(self.graph.actors[name]) and name in self._samples and self._samples[name].rows
        }

    def _watched(self, stage: Stage, size: int, changed: dict[str, dict[str, Any]]) -> Watched:
        self.tell(f"measuring {stage.name}, {size} rows a batch")
        small = alone(self.graph, stage, self._samples, changed=endless(self.graph, stage.members, changed))
        return watch(small, stage, self.deploy, self._cores, batch_size=size, seconds=self.seconds)

    def _sample(self, edge: Edge) -> Sample:
        return self._samples.setdefault(edge.source, Sample(self.graph.schema(edge), []))

    def _traffic(self, stage: Stage, sampled: Sampled) -> float:
        """M from sizes: every row is read once, and every row that is made is written once."""
        read = [self._sample(edge) for edge in inputs_of(self.graph, stage) if not edge.static]
        rows = sum(each.rows for each in read) or 1
        return sum(each.rows * each.row_bytes for each in read) / rows + sum(
            count * sampled.samples[source].row_bytes / sampled.rows for source, count in sampled.made.items()
        )

    def _outputs(self, stage: Stage, sampled: Sampled) -> dict[str, OutputProfile]:
        last = stage.members[-1]
        return {
            edge.output: OutputProfile(
                selectivity=round(sampled.made[edge.source] / sampled.rows, 6),
                bytes=round(sampled.samples[edge.source].row_bytes, 3),
            )
            for edge in outputs_of(self.graph, stage)
            if edge.producer == last
        }


def with_planned(sizes: Sequence[int], planned: int) -> list[int]:
    """Batch sizes in ascending order, such that what a row costs in `planned` rows and in half as many lies between them."""
    beyond = {planned} if planned > max(sizes) else set()
    below = {planned // 2} if 0 < planned // 2 < min(sizes) else set()
    return sorted({*sizes, *beyond, *below})
