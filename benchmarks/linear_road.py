"""Runs of Linear Road's operators for the suites `linear-road` and `order-price`: injectors, instances of an operator, sinks,
each in one process after the other. No figures are compared here."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from os import getpid
from pathlib import Path
from statistics import fmean
from time import monotonic, monotonic_ns, process_time
from typing import Any, ClassVar

import numpy as np

from actorstream import Actor, Batch, Source, Topology
from apps.linear_road.events import Position, Report
from apps.linear_road.operators import NewSeg, PosRep
from apps.linear_road.traffic import EVERY, FIELDS, REQUESTS, SEGMENTS, Settings, Traffic
from benchmarks.dataflow import Ran, launch_file
from benchmarks.energy import Energy
from benchmarks.job import ROOT, JobError
from benchmarks.merge_sort import merged_before
from benchmarks.meter import note

COUNTS = (1, 2, 4, 6)
"""Of injectors and of instances, in the paper's section 4."""
SETTINGS = tuple(product(COUNTS, COUNTS))
OPERATORS: Mapping[str, type[Actor]] = {"pos_rep": PosRep, "new_seg": NewSeg}
LAYERS = ("ol", "cl")
"""Who merges streams: operators of their own, or who reads the channel."""
LEAST_ROWS = 1024
"""That an injector reads at once where it is asked for more."""
KEPT = 2 * EVERY
"""Seconds of traffic that come again and again."""
WORKERS = 2
BENCH = ROOT / "apps" / "linear_road" / "bench.toml"
SHARDS = 2
"""Of its source."""
XWAYS = 32
"""Expressways whose traffic its source makes."""
LARGE: dict[str, Any] = {"batch_size": 65_536, "edge_bytes": "32MiB"}
"""As in the app's deploy.toml."""
WARM_UP = 0.05
"""Seconds of a run before the first that counts."""
XWAY_REPORTS = Settings().density * 2 * SEGMENTS / EVERY * (1 + 1 / REQUESTS)
"""A second, of one expressway with full traffic."""


class Injector(Source):
    """Reports of one expressway with full traffic, dealt to the injectors one by one, so that their times alternate.

    Args:
        seconds: how long, from the first read on.
        injectors: replicas, each of which has a partition.
        reports: whether rows are as an input has them; else they are position reports.
        rows: at most so many at a time.
        into: the folder that notes are written to.
        rate: rows a second, of all.
    """

    outputs: ClassVar = {"default": Report}

    def __init__(
        self,
        seconds: float,
        into: Path,
        injectors: int = 1,
        reports: bool = True,
        rows: int = 4096,
        rate: float | None = None,
    ) -> None:
        super().__init__(rate=rate)
        self.seconds, self.into = seconds, into
        self.injectors, self.reports, self.rows = injectors, reports, rows
        self.columns: dict[str, np.ndarray] = {}
        self.whole: Batch | None = None
        """The rows of a pass over the columns; what is read is a part of it."""
        self.next_row = self.begun_ns = 0
        self.ends = self.cpu_begun = 0.0

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Any]) -> dict[str, Any]:
        return {"default": Report if keys.get("reports", True) else Position}

    def partitions(self) -> list[str]:
        return [str(number) for number in range(self.injectors)]

    def open(self, partitions: list[str]) -> None:
        if partitions:
            (mine,) = map(int, partitions)
            self.columns = traffic(not self.reports, mine, self.injectors)
            self.origin = mine

    def on_start(self) -> None:
        self.cpu_begun = process_time()

    def read(self, max_rows: int) -> Batch | None:
        now = monotonic()
        if not self.begun_ns:
            self.ends, self.begun_ns = now + self.seconds, monotonic_ns()
        if now >= self.ends:
            note(self, "injector", rows=self.next_row, begun_ns=self.begun_ns, **cpu_since(self.cpu_begun))
            return None
        passes, first = divmod(self.next_row, len(self.columns["time"]))
        if self.whole is None or not first:
            columns = {**self.columns, "time": self.columns["time"] + passes * KEPT}
            self.whole = Batch.of_columns(Report if self.reports else Position, columns)
        rows = min(max_rows, self.rows, self.whole.rows - first)
        self.row = self.next_row
        self.next_row += rows
        return self.whole.slice(first, rows)

    def position(self) -> dict[str, int]:
        return {str(self.origin): self.next_row}


_TRAFFIC: dict[bool, dict[str, np.ndarray]] = {}


def traffic(positions: bool, first: int = 0, step: int = 1) -> dict[str, np.ndarray]:
    """Columns of every `step`-th row of KEPT seconds; made once a process."""
    if positions not in _TRAFFIC:
        cars = Traffic(Settings(ramp=0))
        made = [cars.second() for _ in range(EVERY + KEPT)][EVERY:]
        rows = {name: np.concatenate([each[name] for each in made]) for name in FIELDS}
        rows["time"] -= EVERY
        kept = rows["type"] == 0 if positions else slice(None)
        names = Position.__struct_fields__ if positions else FIELDS
        _TRAFFIC[positions] = {name: rows[name][kept] for name in names}
    return {name: values[first::step].copy() for name, values in _TRAFFIC[positions].items()}


class Seen(Actor):
    """Counts rows, and notes at the end when the last one came and how old they were then: mean and 99th percentile, ns.

    Args:
        into: the folder that the note is written to.
    """

    def __init__(self, into: Path) -> None:
        self.into, self.ended_ns = into, 0
        self.rows: list[int] = []
        self.ages: list[int] = []

    def on_start(self) -> None:
        self.cpu_begun = process_time()

    def on_batch(self, batch: Batch) -> None:
        self.ended_ns = monotonic_ns()
        self.rows.append(batch.rows)
        self.ages.append(self.ended_ns - (batch.entry_min + batch.entry_max) // 2)

    def on_end(self) -> None:
        rows, ages = np.array(self.rows), np.array(self.ages)
        mean = p99 = 0.0
        if len(rows):
            order = np.argsort(ages)
            came = np.cumsum(rows[order])
            mean = float(np.average(ages, weights=rows))
            p99 = float(ages[order][np.searchsorted(came, 0.99 * came[-1])])
        cpu = cpu_since(self.cpu_begun)
        note(self, "seen", rows=sum(self.rows), mean_ns=mean, p99_ns=p99, ended_ns=self.ended_ns, **cpu)


def cpu_since(begun: float) -> dict[str, float]:
    """Processor time of this process when one of its actors began, and now."""
    return {"process": getpid(), "cpu_begun": begun, "cpu_ended": process_time()}


def topology(
    operator: str, layer: str, injectors: int, instances: int, seconds: float, rows: int, into: Path
) -> Topology:
    """The paper's deployment of one operator: so many injectors, instances, and sinks for each instance's share. Under OL
    merge-sort operators stand before instances and sinks, where there is anything to merge."""
    made = Topology(operator)
    reports = operator == "pos_rep"
    made.actor(
        "inject",
        Injector,
        seconds=seconds,
        into=into,
        injectors=injectors,
        replicas=injectors,
        reports=reports,
        rows=max(rows, LEAST_ROWS),
    )
    route = {"route": "shuffle"} if reports else {"route": "key", "key": "vid"}
    given = {"from": "inject", "order": "timestamp", **route}
    if layer == "ol" and injectors > 1:
        given = merged_before(made, "operator", given, replicas=instances)
    made.actor("operator", OPERATORS[operator], inputs=[given], replicas=instances)
    spread = {"from": "operator", "order": "timestamp", "route": "shuffle"}
    if layer == "ol" and instances > 1:
        spread = merged_before(made, "seen", spread, replicas=instances)
    made.actor("seen", Seen, inputs=[spread], replicas=instances, into=into)
    return made


def play(operator: str, jumbo: int, seconds: float, settings: Sequence[Sequence[int]]) -> list[list[float]]:
    """Runs each of `settings` (injectors, instances) under OL and CL in turns, once in each order, in jumbo tuples of
    `jumbo` rows.

    Answers, for each setting and layer, means of: tuples a second, latency in µs, processor time of a tuple in µs, and
    energy of one in mJ where that can be read."""
    traffic(operator != "pos_rep")
    measured(operator, "ol", 1, 1, jumbo=jumbo, seconds=WARM_UP)
    found = []
    for setting in settings:
        runs: dict[str, list[list[float]]] = {layer: [] for layer in LAYERS}
        for layer in (*LAYERS, *reversed(LAYERS)):
            runs[layer].append(measured(operator, layer, *setting, jumbo=jumbo, seconds=seconds))
        found += [[fmean(values) for values in zip(*runs[layer])] for layer in LAYERS]
    return found


def measured(
    operator: str, layer: str, injectors: int, instances: int, *, jumbo: int, seconds: float
) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        into = Path(folder)
        made = topology(operator, layer, injectors, instances, seconds, jumbo, into)
        energy = Energy()
        made.run(transport="shm", workers=WORKERS, batch_size=jumbo)
        joules = energy.joules()
        found = figures([json.loads(path.read_text()) for path in into.iterdir()])
    values = [found.rate, found.mean_us, found.cpu_us]
    return values if joules is None else [*values, joules * 1e3 / found.rows]


def read_in_order(
    route: str, merge: str, injectors: int, readers: int, seconds: float, threads: int | None = None
) -> float:
    """Position reports a second that some readers in one process got in order, in jumbo tuples of 1,024 rows: each all of
    them (route "broadcast"), or all together (route "key", by vehicle).

    merge: "channel", each reader merges; "gate", one ScaleGate for all to which rows are broadcast, or one for each;
    "shared", one merge-sort operator for all. threads: of a pool that runs the readers; None: there is none."""
    pool = {} if threads is None else {"schedule": "ct", "threads": threads}
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        into = Path(folder)
        made = Topology(route)
        counts = {"injectors": injectors, "replicas": injectors, "rows": LEAST_ROWS}
        made.actor("inject", Injector, seconds=seconds, into=into, reports=False, **counts)
        by = {"key": "vid"} if route == "key" else {}
        given = {"from": "inject", "route": route, "order": "timestamp", **by}
        if merge == "shared":
            given = merged_before(made, "seen", given, replicas=1)
        made.actor("seen", Seen, inputs=[given], replicas=readers, into=into)
        who = "gate" if merge == "gate" else "channel"
        made.run(transport="local", workers=1, batch_size=LEAST_ROWS, merge=who, **pool)
        notes = [json.loads(path.read_text()) for path in into.iterdir()]
    found = figures(notes)
    came = [each["rows"] for each in notes if each["kind"] == "seen"]
    if sum(came) != found.rows * (1 if route == "key" else readers) or len(came) != readers:
        raise JobError(f"readers got {came} of {found.rows} rows")
    return found.rate


@dataclass(frozen=True, slots=True)
class Figures:
    """Of a run: rows of all injectors, and how many a second; mean age of those that the sinks saw, and the greatest 99th
    percentile of a sink; processor time of a row, from the start of the first actor in each process on."""

    rows: int
    rate: float
    mean_us: float
    p99_us: float
    cpu_us: float


def figures(notes: Sequence[Mapping[str, Any]]) -> Figures:
    """From the notes of a run; JobError if no row came to a sink."""
    injected, seen = ([each for each in notes if each["kind"] == kind] for kind in ("injector", "seen"))
    came = sum(each["rows"] for each in seen)
    if not came:
        raise JobError("no row came to a sink: the run was too short")
    span = max(each["ended_ns"] for each in seen) - min(each["begun_ns"] for each in injected)
    rows = sum(each["rows"] for each in injected)
    mean = sum(each["mean_ns"] * each["rows"] for each in seen) / came
    p99 = max(each["p99_ns"] for each in seen)
    return Figures(rows, rows / span * 1e9, mean / 1e3, p99 / 1e3, cpu_of(notes) * 1e6 / rows)


def cpu_of(notes: Sequence[Mapping[str, Any]]) -> float:
    """Seconds of processor time of all processes that left notes."""
    processes = {each["process"] for each in notes}
    return sum(
        max(each["cpu_ended"] for each in notes if each["process"] == process)
        - min(each["cpu_begun"] for each in notes if each["process"] == process)
        for process in processes
    )


def app(workers: int, reports: int, rate: float | None = None) -> Ran:
    """The whole app on so many reports, as fast as it can or at `rate` reports a second."""
    sets: dict[str, Any] = {"actors.reports.count": reports // SHARDS, "actors.reports.xways": XWAYS}
    if rate is not None:
        sets["actors.reports.rate"] = rate
    return launch_file(BENCH, sets=sets, workers=workers, **LARGE)
