"""`order-price`: one topology under each order: new segments of Linear Road from one source, over two replicas of an operator,
to one sink in that order."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from benchmarks import linear_road, new_segments
from benchmarks.dataflow import INTO, Actors, launch
from benchmarks.linear_road import WORKERS, Figures, figures
from benchmarks.suite import Case, Probe, Settings, Suite

ORDERS = ("none", "serial", "timestamp", "dependency")
BATCHES = (4096, 64)
"""Rows of a jumbo tuple."""
HALF = 0.5
"""Of the rate that an order has just reached: at which its latency is measured too."""


def suite(settings: Settings) -> Suite:
    seconds = 0.6 if settings.quick else 1.0
    probes = []
    for batch, order in product(BATCHES[:1] if settings.quick else BATCHES, ORDERS):
        name = order if batch == BATCHES[0] else f"{order}-{batch}"
        none = name.replace(order, "none") if order != "none" else None
        measures = ("", "-mean", "-p99", "-half-load-mean", "-half-load-p99")
        cases = tuple(
            Case(name + each, "µs" if each else "tuples/s", none and none + each) for each in measures
        )
        probes.append(Probe(cases, Price(order, batch, seconds).measure))
    notes = (
        "position reports (1) -> by car -> new_seg (2) -> sink (1), two processes; serial, timestamp: at the sink, and so "
        "before new_seg too; dependency: of the reports of one of two classes of cars, as a program on two workers",
        f"jumbo tuples of {BATCHES[0]:,} rows; NAME-{BATCHES[1]}: of {BATCHES[1]}",
        "mean, p99: latency from a row's entry until the sink has it, under full load; half-load: at half of the rate that "
        "the case had just reached",
    )
    return Suite("order-price", tuple(probes), notes, summary=summary)


class Price:
    """Runs of the topology under one order."""

    def __init__(self, order: str, batch: int, seconds: float) -> None:
        self.order, self.batch, self.seconds = order, batch, seconds

    def measure(self) -> tuple[float, ...]:
        """Tuples a second, mean and p99 of the latency; both at half of that rate."""
        full = self.run()
        half = self.run(HALF * full.rate)
        return full.rate, full.mean_us, full.p99_us, half.mean_us, half.p99_us

    def run(self, rate: float | None = None) -> Figures:
        made = actors(self.order, self.seconds, rate)
        return figures(
            launch("order-price", made, transport="shm", workers=WORKERS, batch_size=self.batch).notes
        )


def actors(order: str, seconds: float, rate: float | None = None) -> Actors:
    source = {"type": f"{linear_road.__name__}:Injector", "seconds": seconds, "into": INTO, "reports": False}
    program = order == "dependency"
    operator = {
        "type": f"{new_segments.__name__}:NewSegments",
        "inputs": [{"from": "inject", "key": "vid"}],
        "replicas": new_segments.CLASSES,
    }
    as_program = {
        "type": f"{new_segments.__name__}:NewSegmentsProgram",
        "inputs": [{"from": "inject", "order": order}],
        "plan_workers": new_segments.CLASSES,
    }
    return {
        "inject": source if rate is None else source | {"rate": rate},
        "new_seg": as_program if program else operator,
        "seen": {
            "type": f"{linear_road.__name__}:Seen",
            "inputs": [{"from": "new_seg", "order": "none" if program else order}],
            "into": INTO,
        },
    }


def summary(medians: Mapping[str, float]) -> list[str]:
    return [
        f"{order}: {medians[order] / medians['none']:.2f} times the throughput of none, "
        f"{medians[f'{order}-half-load-mean'] / medians['none-half-load-mean']:.2f} times its latency at half load"
        for order in ORDERS[1:]
    ]
