"""What the suite `rlas` computes: plans of the paper's applications on its two servers, by the model and by simulation."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from actorstream.placement.rlas import (
    Dataflow,
    Flow,
    MachineModel,
    Measured,
    OperatorProfile,
    OutputProfile,
    PlannedOperator,
    PlanOptions,
    Profile,
    Socket,
    load_machine_model,
)
from actorstream.placement.rlas.costs import MADE, Costs, costs_of
from actorstream.placement.rlas.instance import Instance, fetched_lines, instance_of
from actorstream.placement.rlas.packing import first_fit, random_places, random_replicas, round_robin
from actorstream.placement.rlas.prediction import Prediction, predicted
from actorstream.placement.rlas.scaling import PlacedGroups, Scaling
from actorstream.placement.rlas.strategies import STRATEGIES
from benchmarks.paper_apps import PaperApp, paper_apps
from benchmarks.rlas_simulator import Simulated, SimulationOptions, simulate

MACHINES = Path(__file__).resolve().parents[1] / "deploy" / "machines"
APPS = {each.name: each for each in paper_apps()}
SIMULATION = SimulationOptions(batches=60_000)


@cache
def server(letter: str, sockets: int = 8) -> MachineModel:
    model = load_machine_model(MACHINES / f"server-{letter}.toml")
    return model if sockets == 8 else model.first(sockets)


def costs(app: PaperApp) -> Costs:
    return costs_of(app.dataflow, app.profile)


@dataclass(frozen=True)
class Outcome:
    """A plan of one strategy, what it took to find, and what the model and the simulator say of it."""

    placed: PlacedGroups
    seconds: float
    """Processor time of the whole optimisation."""
    model: Prediction
    simulated: Simulated

    @property
    def error(self) -> float:
        return abs(self.simulated.throughput - self.model.throughput) / self.simulated.throughput


def outcome(placed: PlacedGroups, seconds: float = 0.0) -> Outcome:
    model = predicted(placed.instance, placed.places)
    return Outcome(placed, seconds, model, simulate(placed.instance, placed.places, SIMULATION))


@cache
def planned(
    letter: str, name: str, strategy: str = "rlas", sockets: int = 8, compression: int = 5
) -> Outcome:
    """The plan of a strategy; first-fit and round-robin place the replicas that RLAS chose (figure 13)."""
    app, machine = APPS[name], server(letter, sockets)
    if strategy in ("first-fit", "round-robin"):
        instance = planned(letter, name).placed.instance
        places = (first_fit if strategy == "first-fit" else round_robin)(instance)
        return outcome(PlacedGroups(instance, places, instance.problem.peak(places)))
    begun = time.process_time()
    start = [each.replicas for each in app.dataflow.operators]
    placed, _, _ = STRATEGIES[strategy](costs(app), machine, PlanOptions(compression=compression), start)
    return outcome(placed, time.process_time() - begun)


def placement_seconds(letter: str, name: str) -> float:
    """Processor time of one placement search of the replicas in RLAS's plan, with all its steps."""
    app = APPS[name]
    scaling = Scaling(costs(app), server(letter), PlanOptions())
    begun = time.process_time()
    scaling.place(planned(letter, name).placed.instance.replicas)
    return time.process_time() - begun


@dataclass
class RandomPlans:
    """Throughputs of random plans by the model, ascending, and the simulated one of the best."""

    throughputs: list[float] = field(default_factory=list)
    best: float = 0.0


@cache
def random_plans(letter: str, name: str, count: int) -> RandomPlans:
    """Figure 14."""
    app, machine, draw = APPS[name], server(letter), random.Random(14)
    found, best = RandomPlans(), None
    known, ones = costs(app), [1] * len(app.dataflow.operators)
    for _ in range(count):
        replicas = random_replicas([True] * len(ones), ones, machine.cores, draw)
        places = [draw.randrange(len(machine.sockets)) for _ in range(sum(replicas))]
        reached = even_throughput(known, machine, replicas, places)
        found.throughputs.append(reached)
        if best is None or reached > best[0]:
            best = reached, replicas, places
    found.throughputs.sort()
    if best is not None:
        instance = instance_of(known, machine, best[1])
        found.best = simulate(instance, best[2], SIMULATION).throughput
    return found


def even_throughput(
    known: Costs, machine: MachineModel, replicas: Sequence[int], places: Sequence[int]
) -> float:
    """What the model says of a placement where all flows are spread evenly, as they are in the paper's applications: the same as
    `predicted`, from numbers of replicas on sockets instead of single ones, so that a thousand random plans take a second.

    `places`: socket of each replica, operator by operator."""
    count = len(machine.sockets)
    edges = np.cumsum([0, *replicas])
    on = np.array([np.bincount(places[a:b], minlength=count) for a, b in pairwise(edges)])
    share = on / np.array(replicas)[:, None]
    latency = np.array(machine.latency_ns) * 1e-9 * (1 - np.eye(count))
    clock = np.array([known.hertz / each.hertz for each in machine.sockets]) * 1e-9
    bandwidth = np.array(machine.bandwidth)
    totals = known.totals(list(replicas))
    cpu, memory, channels, peak = np.zeros(count), np.zeros(count), np.zeros((count, count)), 0.0
    for number, entries in enumerate(known.entries):
        busy = np.zeros(count)
        for flow, rate in known.entering(number, totals):
            busy += rate * entries[flow].execute_ns * clock
            memory += share[number] * rate * entries[flow].memory_bytes
            if flow != MADE:
                source = share[known.flows[flow][0]]
                busy += rate * fetched_lines(known, flow, machine.cache_line) * (latency @ source)
                channels += rate * known.bytes[flow] * np.outer(source, share[number])
        peak = max(peak, float((busy * (on[number] > 0)).max()) / replicas[number])
        cpu += share[number] * busy
    np.fill_diagonal(channels, 0)
    cores = np.array([each.cores for each in machine.sockets])
    peak = max(peak, (cpu / cores).max(), (memory / bandwidth.diagonal()).max(), (channels / bandwidth).max())
    made = sum(sum(rate for _, rate in known.entering(number, totals)) for number in known.sinks())
    return float(made / peak)


def without_remote_memory(letter: str, name: str) -> float:
    """The throughput of RLAS's plan where no fetch costs anything (figure 10)."""
    placed = planned(letter, name).placed
    count = len(placed.instance.machine.sockets)
    free = [[0.0] * count for _ in range(count)]
    found = placed.instance
    local = instance_of(found.costs, found.machine, found.replicas, latency=free)
    return predicted(local, placed.places).throughput


def fetch_matrix(letter: str, name: str) -> list[list[float]]:
    """Seconds of fetches per second, by producers' and consumers' socket (figure 15)."""
    done = planned(letter, name)
    instance, places, count = done.placed.instance, done.placed.places, len(server(letter).sockets)
    found = [[0.0] * count for _ in range(count)]
    for consumer, links in enumerate(instance.entering):
        for link in links:
            i, j = places[link.group], places[consumer]
            found[i][j] += link.lines * instance.latency[j][i] * done.model.ingress
    return found


def random_error(letter: str, name: str, seeds: Sequence[int]) -> float:
    """The greatest error of the model on random placements of RLAS's replicas."""
    instance = planned(letter, name).placed.instance
    worst = 0.0
    for seed in seeds:
        places = random_places(instance, random.Random(seed))
        worst = max(worst, outcome(PlacedGroups(instance, places, 0.0)).error)
    return worst


NODES, CORES = 8, 28
LINK_BYTES = 12.5e9
"""Of a node: InfiniBand EDR, 100 Gbit/s (AIR section 5)."""
LINE_NS = 17.3
"""Nanoseconds for 64 bytes between nodes: at the 3.7 GB/s that one rank sends to another by MPI, measured on one machine."""
GROUPED = 200
"""Rows that leave a batch after counting in two branches: at most one for each of the generator's 100 campaigns."""
BATCH = 16_384
ROW_BYTES = 40.0
MERGE_NS = 50.0
"""Assumed: nanoseconds to merge a row of counts."""
EVENT_BYTES = 136
"""Of an event of the paper's YSB*."""


def cluster() -> MachineModel:
    """Eight nodes of 28 cores, each a socket of the model; a node shares its link with the seven others."""
    share = LINK_BYTES / (NODES - 1)
    each = range(NODES)
    return MachineModel(
        name="AIR's cluster",
        sockets=[Socket(cores=CORES, hertz=2.6e9, host=f"node{number}") for number in each],
        latency_ns=[[0.1 if i == j else LINE_NS for j in each] for i in each],
        bandwidth=[[60e9 if i == j else share for j in each] for i in each],
    )


STEADY = 2_000_000
"""Jumbo tuples that are simulated where counts leave each batch: a merger gets a jumbo tuple of a counter only once in hundreds
of thousands of them, so a run must be long for mergers that are too few to show."""


def star_plan(event_ns: float, exchanged: bool, mergers: int) -> tuple[Instance, list[int]]:
    """The replicas of YSB*, so many of them for merging, and the node of each."""
    flow = Dataflow(
        name="ysb-star",
        operators=[
            PlannedOperator(members=["events"], replicas=NODES * CORES - mergers),
            PlannedOperator(members=["windows"], replicas=mergers),
        ],
        flows=[Flow(producer="events", consumer="windows", route="key")],
    )
    leaving = OutputProfile(
        selectivity=1.0 if exchanged else GROUPED / BATCH,
        bytes=float(EVENT_BYTES) if exchanged else ROW_BYTES,
    )
    work = {
        "events": OperatorProfile(
            batches=[Measured(rows=BATCH, execute_ns={"p50": event_ns})], outputs={"default": leaving}
        ),
        "windows": OperatorProfile(
            batches=[Measured(rows=BATCH, execute_ns={"p50": event_ns if exchanged else MERGE_NS})]
        ),
    }
    known = costs_of(flow, Profile(name="ysb-star", hertz=2.6e9, operators=work))
    instance = instance_of(known, cluster(), [each.replicas for each in flow.operators])
    return instance, [group.first % NODES for group in instance.groups]


def star_on_a_cluster(event_ns: float, exchanged: bool) -> Outcome:
    """YSB* on the cluster, its replicas dealt evenly to the nodes, with as many of them for merging as the model finds best.
    `event_ns`: what one event costs one core here.
    `exchanged`: every event of 136 bytes goes to the replica of its key, instead of the counts of a batch."""
    half = NODES * CORES // 2
    plans = [
        star_plan(event_ns, exchanged, n) for n in ((half,) if exchanged else range(NODES, half + 1, NODES))
    ]
    instance, places = max(plans, key=lambda each: predicted(*each).ingress)
    model = predicted(instance, places)
    options = replace(SIMULATION, slots=1, batches=120_000 if exchanged else STEADY)
    return Outcome(
        PlacedGroups(instance, places, 1 / model.ingress), 0.0, model, simulate(instance, places, options)
    )
