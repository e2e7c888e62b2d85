"""What `ysb`, `ysb-star` and `swa` share: runs of apps/ysb by `actorstream launch`, of the bare C and of the peers.

Every run of ours lasts for a set time and is checked: the counts in its result file must add up to the rows that its
own report says were counted.
"""

from __future__ import annotations

import csv
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, ClassVar, Literal

from actorstream import Batch, Event, EventTime, Int32, Source
from benchmarks import environments, job
from benchmarks.dataflow import Actors, Ran, launch, launch_file
from benchmarks.job import ROOT, JobError
from benchmarks.loops import ysb as bare
from benchmarks.suite import Case, Probe, Settings, probe

LOOPS = "benchmarks.loops.ysb"
KEPT_ROWS = 65_536
"""Rows of the batches in memory that the engine reads; the bare kernels take 16,384 rows at a time, where they are fastest."""
START_SECONDS = 1.0
"""What a launch takes until rows flow, at most."""
ENDLESS = 10**15
EVENTS = "events/s"
WINDFLOW = 5.8e6
"""YSB on WindFlow 4.2, two cores (docs/benchmarks.md): not measured in the same run."""


@dataclass(frozen=True, slots=True)
class Workload:
    """One of the three queries.

    Attributes:
        name: of the suite and of the bare loops.
        file: the topology.
        sink: the actor that writes the results.
        counted: the actors whose rows are counted, and the columns of the results that say how often.
        windows: how many windows a row is in.
    """

    name: str
    file: Path
    sink: str
    counted: tuple[tuple[str, int], ...]
    windows: int = 1


APP = ROOT / "apps" / "ysb"
YSB = Workload("ysb", APP / "bench.toml", "counts", (("campaigns", -1),))
STAR = Workload("ysb-star", APP / "star-bench.toml", "ratios", (("campaigns", 2), ("click_campaigns", 3)))
SWA = Workload("swa", APP / "swa-bench.toml", "counts", (("events", -1),), 10)


def native(workload: Workload, workers: int, seconds: float, ids: str = "int", **deploy: Any) -> float:
    """Events a second of the app's topology; on one worker with one replica of each actor."""
    return native_run(workload, workers, seconds, ids, **deploy).report["throughput_eps"]  # type: ignore[no-any-return]


def half_load(workload: Workload, seconds: float, rate: float, **deploy: Any) -> tuple[float, float]:
    """p50 and p99, in µs, from the entry of the last event that a result counts to the result's release, on two workers
    at half of `rate` events a second."""
    source = {"rate": rate / 2, "event_rate": bare.PER_MS * 1000}
    latency = native_run(workload, 2, seconds, source=source, **deploy).report["latency_ms"]
    return latency["p50"] * 1000, latency["p99"] * 1000


def native_run(
    workload: Workload,
    workers: int,
    seconds: float,
    ids: str = "int",
    source: Mapping[str, Any] | None = None,
    **deploy: Any,
) -> Ran:
    """A run of the app's topology, whose counts were found right. `source` are further keys of its source."""
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        results = Path(folder) / "results.csv"
        sets: dict[str, Any] = {
            "actors.events.ids": ids,
            "actors.events.count": ENDLESS,
            "actors.events.shards": workers,
            f"actors.{workload.sink}.path": results,
        }
        sets |= {f"actors.events.{key}": value for key, value in (source or {}).items()}
        sets |= {f"actors.{actor}.replicas": workers for actor in replicated(workload)}
        settings = {"transport": "shm", "workers": workers} | deploy
        ran = launch_file(workload.file, sets=sets, seconds=seconds + START_SECONDS, **settings)
        check(workload, ran, results)
        return ran


def replicated(workload: Workload) -> list[str]:
    """The actors of the topology that have more than one replica."""
    actors = tomllib.loads(workload.file.read_text())["actors"]
    return [name for name, keys in actors.items() if "replicas" in keys]


def check(workload: Workload, ran: Ran, results: Path) -> None:
    """JobError unless what was counted is what came."""
    with results.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    for actor, column in workload.counted:
        counted = sum(int(row[column]) for row in rows)
        came = ran.report["events_out"][actor] * workload.windows
        if not came:
            raise JobError(
                f"{workload.file.name}: the run was ended before a row of {actor!r} came; the machine is too busy for runs "
                "of this length: try again, or without --quick"
            )
        if counted != came:
            raise JobError(
                f"{workload.file.name}: the {len(rows)} results count {counted} rows of {actor!r}, and {came} came"
            )


class AdEvent(Event):
    """The integer events of the app."""

    user_id: Int32
    page_id: Int32
    ad_id: Int32
    ad_type: Literal["banner", "modal", "sponsored-search", "mail", "mobile"]
    event_type: Literal["view", "click", "purchase"]
    event_time: EventTime
    ip_address: Int32


class Kept(Source):
    """As many batches as the bare kernels keep (of the engine's size), again and again for `seconds`, all of one event
    time."""

    outputs: ClassVar = {"default": AdEvent}
    ordered = True
    """So that the runtime need not look at event times, as at those of the generator."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.batches: list[Batch] = []
        self.number, self.ends = 0, 0.0

    def read(self, max_rows: int) -> Batch | None:
        if not self.batches:
            self.batches = [self.make(number, max_rows) for number in range(bare.KEPT_BATCHES)]
            self.ends = monotonic() + self.seconds
        if monotonic() >= self.ends:
            return None
        self.number += 1
        return self.batches[self.number % bare.KEPT_BATCHES]

    def make(self, number: int, rows: int) -> Batch:
        state = bare.Bare("ysb")
        arrays, struct = state.columns(rows)
        state.module.lib.generate(state.numbering, number * rows, rows, struct)
        arrays["time"][:] = bare.START_MS
        return Batch.of(dict(zip(AdEvent.__struct_fields__, arrays.values())), event=AdEvent)


def columns_source(seconds: float) -> dict[str, Any]:
    return {"type": "benchmarks.yahoo:Kept", "seconds": seconds}


def from_columns(workload: Workload, seconds: float) -> float:
    """Events a second of the app's operators on one worker, over batches in memory."""
    actors = tomllib.loads(workload.file.read_text())["actors"]
    tables: dict[str, Mapping[str, Any]] = {
        name: {key: value for key, value in keys.items() if key != "replicas"}
        for name, keys in actors.items()
    }
    tables["events"] = columns_source(seconds)
    with tempfile.TemporaryDirectory(prefix="actorstream-benchmark-") as folder:
        results = Path(folder) / "results.csv"
        tables[workload.sink] = {**tables[workload.sink], "path": str(results)}
        of_file: Actors = tables
        ran = launch(workload.name, of_file, transport="local", workers=1, batch_size=KEPT_ROWS)
        check(workload, ran, results)
        return float(ran.report["throughput_eps"])


def kernels(workload: Workload, generated: bool, processes: int, seconds: float) -> float:
    keys = {"workload": workload.name, "generated": generated, "processes": processes, "seconds": seconds}
    return float(job.call(f"{LOOPS}:kernels", **keys))


def our_probes(workload: Workload, settings: Settings) -> list[Probe]:
    """The engine and the bare C, compared ones side by side, and the engine's latency at half of the rate just found."""
    seconds = 2.2 if settings.quick else 3.0
    loop_seconds = 0.7 if settings.quick else 1.5
    fused = partial(job.call, f"{LOOPS}:fused", workload=workload.name, seconds=loop_seconds)
    made, rates = [], []

    def run(cores: int) -> float:
        rates.append(native(workload, cores, seconds))
        return rates[-1]

    for cores in (1, 2):
        case = f"kernels-generated-{cores}"
        against = "kernels-generated-1" if cores == 2 else None
        made.append(
            probe(case, EVENTS, partial(kernels, workload, True, cores, loop_seconds), against=against)
        )
        made.append(probe(f"native-{cores}", EVENTS, partial(run, cores), against=case))
    latencies = (Case("half-load-p50", "µs"), Case("half-load-p99", "µs"))
    at_half = Probe(latencies, lambda: half_load(workload, seconds, rates[-1]), needs=("native-2",))
    made.append(at_half)
    of_columns = partial(from_columns, workload, seconds)
    made += [
        probe("kernels-columns-1", EVENTS, partial(kernels, workload, False, 1, loop_seconds)),
        probe("native-columns-1", EVENTS, of_columns, against="kernels-columns-1"),
        probe("c-loop-1", EVENTS, fused, against="kernels-generated-1"),
    ]
    return made


@dataclass(frozen=True, slots=True)
class PeerRun:
    """One case of a peer: its program and arguments; `size` is the events of a run in full and under --quick."""

    case: str
    peer: str
    program: str
    before: tuple[str, ...]
    size: tuple[int, int]
    after: tuple[str, ...] = ()
    against: str = "native-2"


def peer_probes(runs: Sequence[PeerRun], settings: Settings) -> list[Probe]:
    """Those of the peers that were named."""

    def measured(run: PeerRun) -> Callable[[], float]:
        size = str(settings.scale(*run.size))
        return lambda: float(environments.run(run.peer, run.program, *run.before, size, *run.after)["value"])

    return [
        probe(run.case, EVENTS, measured(run), against=run.against, peer=run.peer)
        for run in runs
        if run.peer in settings.peers
    ]


def summary(medians: Mapping[str, float]) -> list[str]:
    """How many times as fast as each peer, and how it scales beside the bare kernels."""
    ours, bare_two = medians["native-2"], medians["kernels-generated-2"]
    scaling, bare_scaling = ours / medians["native-1"], bare_two / medians["kernels-generated-1"]
    share = scaling / bare_scaling
    lines = [f"one core to two: native {scaling:.2f}, bare kernels {bare_scaling:.2f}: {share:.2f} of theirs"]
    peers = {"flink", "spark", "bytewax", "pathway"}
    lines += [
        f"native-2 is {ours / value:,.1f} times {case}"
        for case, value in medians.items()
        if case.split("-")[0] in peers and "strings" not in case
    ]
    return lines
