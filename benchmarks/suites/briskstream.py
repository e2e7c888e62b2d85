"""`briskstream`: the four applications of briskstream-rlas §6 on two workers: word count (WC), fraud detection (FD), spike
detection (SD) and Linear Road (LR), their throughput and their latency at half of it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.dataflow import Ran, launch_file
from benchmarks.job import ROOT, JobError
from benchmarks.suite import Case, Probe, Settings, Suite, probe

WORKERS = 2
ENDLESS = 10**15
START_SECONDS = 1.0
"""What a launch takes until rows flow, at most."""
HALF = 0.5
"""The rate at which latency is measured, as a share of the throughput."""


@dataclass(frozen=True, slots=True)
class Application:
    """A topology with a generator, and the deployment beside it, which was made by hand.

    Attributes:
        folder: of the app.
        source: the actor that makes rows.
        unit: what is counted a second.
        counted: the actor whose output is counted instead of the source's rows.
        file: of the topology.
        longer: how many times as long as others its runs take.
    """

    folder: str
    source: str
    unit: str
    counted: str | None = None
    file: str = "bench.toml"
    longer: float = 1.0

    @property
    def topology(self) -> Path:
        return ROOT / "apps" / self.folder / self.file

    def deployment(self) -> dict[str, Any]:
        """The keys of the deployment that was made by hand."""
        return tomllib.loads((self.topology.parent / "deploy.toml").read_text())

    def run(self, seconds: float, rate: float | None = None, **sets: Any) -> Ran:
        """A run of the topology for `seconds` times `longer`, as fast as it can or at `rate` rows of the source a second."""
        deploy = {key: value for key, value in self.deployment().items() if f"deploy.{key}" not in sets}
        keys = {f"actors.{self.source}.count": ENDLESS, **sets}
        if rate is not None:
            keys[f"actors.{self.source}.rate"] = rate
        seconds = seconds * self.longer + START_SECONDS
        ran = launch_file(self.topology, sets=keys, seconds=seconds, **deploy)
        if not ran.report["events_out"][self.source]:
            raise JobError(
                f"{self.folder}: the run was ended before a row came; the machine is too busy: try again"
            )
        return ran


WC = Application("word_count", "lines", "words/s", "split")
FD = Application("card_fraud", "transactions", "events/s")
SD = Application("spike_detection", "readings", "events/s")
LR = Application("linear_road", "reports", "reports/s", longer=4.0)
"""Its rings hold up to two seconds of rows, which its source makes before anybody works on them. And it keeps a state of each
car: the more cars have come, the more a row costs."""
APPLICATIONS = {"wc": WC, "fd": FD, "sd": SD, "lr": LR}
WINDFLOW = {"wc": 10.9e6, "fd": 1.82e6, "sd": 32.8e6, "lr": 1.95e6}
"""Application -> what WindFlow 4.2 counts a second on two cores (PEERS in docs/benchmarks.md): not measured in the same run."""
BRISKSTREAM_P99_MS = {"wc": 21.9, "fd": 12.5, "sd": 13.5, "lr": 204.8}
"""Application -> the 99th percentile of BriskStream's latency (its Table 5), on a machine with eight sockets."""
TYPES = {
    "wc": {
        "event": {"split": "operators:Split", "count": "operators:Count"},
        "batch": {"split": "batch_operators:SplitBatch", "count": "batch_operators:CountBatch"},
    },
    "fd": {
        "event": {"predict": "operators:Predict"},
        "batch": {"predict": "batch_operators:PredictBatch"},
    },
    "sd": {
        "event": {"average": "operators:Average", "detect": "operators:Detect"},
        "batch": {"average": "batch_operators:AverageBatch", "detect": "batch_operators:DetectBatch"},
    },
}
"""Application -> speed -> the operators that take the place of those in C."""


class Pair:
    """The throughput of an application, and its latency at half of what was reached last."""

    def __init__(self, application: Application, seconds: float) -> None:
        self.application, self.seconds = application, seconds
        self.rate = 0.0

    def fast(self) -> float:
        found, self.rate = throughput(self.application, self.seconds)
        return found

    def paced(self) -> tuple[float, float]:
        """Median and 99th percentile, in µs, from a row's entry to the release of its last result."""
        latency = self.application.run(self.seconds, HALF * self.rate).report["latency_ms"]
        return latency["p50"] * 1e3, latency["p99"] * 1e3


def throughput(application: Application, seconds: float, **sets: Any) -> tuple[float, float]:
    """What is counted, and the rows of the source, a second."""
    report = application.run(seconds, **sets).report
    rows, out = report["throughput_eps"], report["events_out"]
    counted = application.counted
    return rows * (out[counted] / out[application.source] if counted else 1.0), rows


def slower(name: str, speed: str, seconds: float) -> float:
    """The throughput with operators of another speed."""
    app = APPLICATIONS[name]
    sets = {f"actors.{actor}.type": f"apps.{app.folder}.{kind}" for actor, kind in TYPES[name][speed].items()}
    return throughput(app, seconds, **sets)[0]


def suite(settings: Settings) -> Suite:
    seconds = 2.2 if settings.quick else 3.0
    probes: list[Probe] = []
    for name, app in APPLICATIONS.items():
        pair = Pair(app, seconds)
        probes.append(probe(f"{name}-2", app.unit, pair.fast))
        halves = tuple(Case(f"{name}-half-load-{part}", "µs") for part in ("p50", "p99"))
        probes.append(Probe(halves, pair.paced, needs=(f"{name}-2",)))
    spikes = partial(throughput, SD, seconds, **{"actors.detect.signals": False})
    probes.append(Probe((Case("sd-spikes-2", SD.unit, "sd-2"),), lambda: spikes()[:1]))
    for name, speeds in TYPES.items():
        for speed in speeds:
            run = partial(slower, name, speed, seconds)
            case = Case(f"{name}-{speed}-2", APPLICATIONS[name].unit, f"{name}-2")
            probes.append(Probe((case,), lambda run=run: (run(),), rounds=1))
    notes = (
        "two workers, generators inside the engine, results counted; operators in C but for NAME-event-2 (one Python call an "
        "event) and NAME-batch-2 (NumPy and Arrow)",
        "sd-2: a signal for each reading, as in the paper; sd-spikes-2: for spikes only",
        f"half-load: at {HALF:g} of the rate that the application had just reached",
    )
    return Suite("briskstream", tuple(probes), notes, summary=summary)


def summary(medians: Mapping[str, float]) -> list[str]:
    """Beside WindFlow's throughput and BriskStream's latency, neither of which was measured here."""
    lines = []
    for name, app in APPLICATIONS.items():
        rate, p99 = medians[f"{name}-2"], medians[f"{name}-half-load-p99"] / 1e3
        lines.append(
            f"{name}: {rate / 1e6:.1f} M {app.unit}, {rate / WINDFLOW[name]:.1f} times WindFlow's {WINDFLOW[name] / 1e6:g} M; "
            f"p99 at half load {p99:.1f} ms, BriskStream's (its Table 5) {BRISKSTREAM_P99_MS[name]:g} ms"
        )
    return lines
