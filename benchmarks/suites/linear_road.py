"""`linear-road`: the operators pos_rep and new_seg under timestamp order, merged in the channel (CL) and by operators of their
own (OL), by injectors and instances (viper-scalegate section 4, figure 4); and the whole app."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from statistics import geometric_mean

from benchmarks import job
from benchmarks.energy import packages
from benchmarks.grids import Panel, grid
from benchmarks.linear_road import COUNTS, LAYERS, SETTINGS, WORKERS, XWAY_REPORTS, XWAYS, app
from benchmarks.suite import Case, Curve, Probe, Settings, Suite, probe

JUMBOS = (1, 1024)
FEW = ((2, 2),)
"""Settings under --quick."""
OPERATORS = ("pos_rep", "new_seg")
PACE = 0.8
"""Of the rate that the whole app reaches: at which its response is measured."""
MEASURES = {"": "tuples/s", "-latency": "µs", "-cpu": "µs", "-energy": "mJ"}
"""Behind a case's name, and its unit: of throughput, mean latency, processor time and energy of a tuple."""


def suite(settings: Settings) -> Suite:
    seconds = 0.15 if settings.quick else 0.25
    deployments = FEW if settings.quick else SETTINGS
    measures = tuple(MEASURES)[: 4 if packages() else 3]
    probes = []
    for operator, jumbo in product(OPERATORS, JUMBOS):
        names = [
            f"{operator}-{layer}-{injectors}x{instances}-{jumbo}"
            for injectors, instances in deployments
            for layer in LAYERS
        ]
        cases = tuple(case(name, measure) for name in names for measure in measures)
        probes.append(Probe(cases, partial(operators, operator, jumbo, seconds, deployments)))
    whole = App(settings.scale(6_000_000, 1_000_000))
    probes += [probe(f"app-{workers}", "reports/s", partial(whole.fast, workers)) for workers in (1, WORKERS)]
    at_rate = ("app-paced", "reports/s"), ("app-paced-p50", "µs"), ("app-paced-p99", "µs")
    probes.append(Probe(tuple(Case(*each) for each in at_rate), whole.paced, needs=(f"app-{WORKERS}",)))
    notes = (
        "OPERATOR-LAYER-INJECTORSxINSTANCES-ROWS: rows in a jumbo tuple; as many sinks as instances; two processes",
        "ol: merge-sort operators before instances and sinks, where there is anything to merge; cl: who "
        "reads the channel merges",
        "1x1 has nothing to merge: cl and ol are the same plan there, and what their figures differ by is the machine",
        "latency: mean, from a row's entry until the sink has it, under full load",
        "cpu: processor time of a tuple in all processes: µs, which are CPU seconds for a million tuples",
        "energy: of the processor packages"
        if packages()
        else "energy is not measured: the kernel lets one read no RAPL counters here",
        "app: apps/linear_road/bench.toml; paced: at eight tenths of the rate that app-2 had just reached",
    )
    return Suite(
        "linear-road",
        tuple(probes),
        notes,
        summary=partial(summary, deployments, whole.reports),
        pictures=partial(pictures, deployments, measures),
    )


def case(name: str, measure: str) -> Case:
    against = name.replace("-cl-", "-ol-") + measure if "-cl-" in name else None
    return Case(name + measure, MEASURES[measure], against)


def operators(operator: str, jumbo: int, seconds: float, deployments: Sequence[Sequence[int]]) -> list[float]:
    ran = job.call(
        "benchmarks.linear_road:play", operator=operator, jumbo=jumbo, seconds=seconds, settings=deployments
    )
    return [value for run in ran for value in run]


class App:
    """Runs of the whole app, each on so many reports."""

    def __init__(self, reports: int) -> None:
        self.reports = reports
        self.reached = 0.0

    def fast(self, workers: int) -> float:
        """Reports a second, as many as it can take."""
        self.reached = app(workers, self.reports).report["throughput_eps"]
        return self.reached

    def paced(self) -> tuple[float, float, float]:
        """Reports a second at PACE of what was reached last; median and 99th percentile of the response, µs."""
        report = app(WORKERS, self.reports, rate=PACE * self.reached).report
        response = report["latency_ms"]
        return report["throughput_eps"], response["p50"] * 1e3, response["p99"] * 1e3


def summary(deployments: Sequence[Sequence[int]], reports: int, medians: Mapping[str, float]) -> list[str]:
    """How CL compares with OL over all settings, and what `reports` of the whole app were driven."""
    lines = []
    for operator, jumbo in product(OPERATORS, JUMBOS):
        for measure, what in (("", "throughput"), ("-cpu", "processor time")):
            ratios = {
                f"{injectors}x{instances}": medians[f"{operator}-cl-{injectors}x{instances}-{jumbo}{measure}"]
                / medians[f"{operator}-ol-{injectors}x{instances}-{jumbo}{measure}"]
                for injectors, instances in deployments
                if (injectors, instances) != (1, 1)
            }
            least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
            lines.append(
                f"{operator}, jumbo tuples of {jumbo:,}: {what} of CL / OL {geometric_mean(ratios.values()):.2f} "
                f"(geometric mean), {ratios[least]:.2f} ({least}) to {ratios[most]:.2f} ({most})"
            )
    rate = medians["app-paced"]
    asked = PACE * medians[f"app-{WORKERS}"]
    seconds = reports / (XWAYS * XWAY_REPORTS)
    lines.append(
        f"app-paced: {rate / 1e6:.2f} M of {asked / 1e6:.2f} M reports/s asked for, p99 of the response "
        f"{medians['app-paced-p99'] / 1e3:,.0f} ms; {seconds:,.0f} s of the traffic of {XWAYS} expressways "
        f"({XWAY_REPORTS:,.0f} reports/s each), {rate / (XWAYS * XWAY_REPORTS):,.0f} times as fast as it happens, with next to "
        "no accident: no rating of the benchmark, which takes three hours in real time"
    )
    return lines


def pictures(
    deployments: Sequence[Sequence[int]], measures: Sequence[str], medians: Mapping[str, float]
) -> dict[str, str]:
    """Figure 4 for each operator and size of jumbo tuples: CL left and OL right; throughput, latency, processor time."""
    drawn = {}
    for operator, jumbo in product(OPERATORS, JUMBOS):
        rows = [
            [
                Panel(layer.upper() + measure.replace("-", " "), tuple(curves))
                for layer in reversed(list(LAYERS))
                for curves in [lines_of(f"{operator}-{layer}", jumbo, measure, deployments, medians)]
            ]
            for measure in measures
        ]
        drawn[f"linear-road-{operator}-{jumbo}"] = grid(
            f"{operator}, jumbo tuples of {jumbo:,} (viper-scalegate, figure 4)", rows
        )
    return drawn


def lines_of(
    prefix: str,
    jumbo: int,
    measure: str,
    deployments: Sequence[Sequence[int]],
    medians: Mapping[str, float],
) -> list[Curve]:
    found = []
    for count in COUNTS:
        instances = [each for injectors, each in deployments if injectors == count]
        points = tuple(
            (float(each), medians[f"{prefix}-{count}x{each}-{jumbo}{measure}"]) for each in instances
        )
        if points:
            name = f"{count} injector" + ("s" if count > 1 else "")
            found.append(Curve(name, "instances", MEASURES[measure], points))
    return found
