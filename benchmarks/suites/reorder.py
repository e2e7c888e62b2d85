"""`reorder`: what order costs, and the non-blocking reordering buffer against the lock-based one (ordered-multicore
section 7.3, figures 12 and 13)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median

from benchmarks.ordered import Ran, run
from benchmarks.suite import Case, Curve, Probe, Settings, Suite, probe

COSTS = (1, 10, 100)
THREADS = (1, 2, 4, 8)
PIPELINE_THREADS = (1, 2, 4)
SCHEMES = ("lock-based", "non-blocking")
LIGHT_US = 10.0
HEAVY_US = 100.0
SELECTIVITY = 50
PARTITIONS = 100


def suite(settings: Settings) -> Suite:
    seconds = 0.25 if settings.quick else 0.6
    rates: dict[tuple[str, int], list[float]] = {}

    def unit_cost(cost: int, scheme: str) -> float:
        return run(cost, seconds, scheme=scheme).unit_us

    def light(scheme: str, threads: int) -> Sequence[float]:
        ran = pipelined(scheme, threads, LIGHT_US, seconds, next_us=0.0)
        rate = ran.rate / SELECTIVITY
        rates.setdefault((scheme, threads), []).append(rate)
        return rate, ran.send_p99_us, ran.send_p999_us, ran.cost_us

    def alone(scheme: str, threads: int) -> Sequence[float]:
        ran = run(LIGHT_US, seconds, scheme=scheme, threads=threads, selectivity=SELECTIVITY, timed=True)
        return ran.rate, ran.send_p99_us, ran.send_p999_us

    def pipeline(scheme: str, threads: int) -> Sequence[float]:
        ran = pipelined(scheme, threads, HEAVY_US, 2 * seconds, next_us=HEAVY_US)
        return ran.rate, ran.cost_us

    def curves() -> Sequence[Curve]:
        return [
            Curve(
                scheme,
                "threads",
                "inputs/s",
                tuple((float(threads), median(rates[scheme, threads])) for threads in THREADS),
            )
            for scheme in SCHEMES
        ]

    probes = [
        probe(
            f"{scheme}-{cost}us",
            "µs",
            partial(unit_cost, cost, scheme),
            against=None if scheme == "unordered" else f"unordered-{cost}us",
        )
        for cost in COSTS
        for scheme in ("unordered", "non-blocking", "lock-based")
    ]
    for threads in THREADS:
        for scheme in SCHEMES:
            names = [f"{{}}-light-{threads}{what}" for what in ("", "-send-p99", "-send-p99.9", "-cost")]
            probes.append(Probe(compared(scheme, names, "inputs/s"), partial(light, scheme, threads)))
    for threads in THREADS:
        for scheme in SCHEMES:
            names = [f"{{}}-alone-{threads}{what}" for what in ("", "-send-p99", "-send-p99.9")]
            probes.append(Probe(compared(scheme, names, "inputs/s"), partial(alone, scheme, threads)))
    for threads in PIPELINE_THREADS:
        for scheme in SCHEMES:
            names = [f"{{}}-pipeline-{threads}", f"{{}}-pipeline-{threads}-cost"]
            probes.append(Probe(compared(scheme, names, "tuples/s"), partial(pipeline, scheme, threads)))
    return Suite(
        "reorder",
        tuple(probes),
        notes=(
            "SCHEME-COST: processor time of two threads for one output of an operator of that cost",
            f"light-THREADS: an operator of 10 µs, selectivity {SELECTIVITY}; each output is copied and pushed into a hybrid "
            f"worklist of {PARTITIONS} partitions, which the same threads empty into an operator of 0 µs",
            "alone-THREADS: the same operator with nobody behind it: outputs are copied into queues that nobody reads",
            "send-p99, -p99.9: what a thread spends in a send; cost: in the operator and its send",
            f"pipeline-THREADS: two operators of 100 µs, the first with selectivity {SELECTIVITY}, the second with "
            f"{PARTITIONS} partitions; tuples of the second; cost: of the first",
        ),
        curves=curves,
    )


def pipelined(scheme: str, threads: int, cost_us: float, seconds: float, *, next_us: float) -> Ran:
    """Two operators with a hybrid worklist between them."""
    return run(
        cost_us,
        seconds,
        scheme=scheme,
        threads=threads,
        selectivity=SELECTIVITY,
        kind="hybrid",
        partitions=PARTITIONS,
        timed=True,
        pipeline=True,
        next_us=next_us,
    )


def compared(scheme: str, names: Sequence[str], unit: str) -> tuple[Case, ...]:
    """The cases of one scheme; those of the non-blocking one against the lock-based one's, in the same round too. The first
    is a rate."""
    lock = scheme == "lock-based"
    return tuple(
        Case(
            name.format(scheme),
            unit if name is names[0] else "µs",
            None if lock else name.format("lock-based"),
            paired=not lock and not name.endswith(("-cost", "99.9")),
        )
        for name in names
    )
