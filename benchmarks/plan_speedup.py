"""What the suite `dgs` draws from its medians: plans on 1 to 32 cores, by `plan_simulation` with the costs that one and
two workers showed. Measures nothing itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from actorstream.dgs import Tag
from apps.page_view_join.program import PageViewJoin
from apps.rule_fraud.program import RuleFraud
from apps.value_barrier.program import ValueBarrier
from benchmarks.plan_simulation import BATCH, Costs, Load, Simulation
from benchmarks.plots import lines
from benchmarks.suite import Curve

APPS = ("value_barrier", "rule_fraud", "page_view_join")
CORES = (1, 2, 4, 8, 12, 16, 32)
TABLE_1 = 12
KINDS = {"event": 10_000, "batch": 10_000, "batch-100k": 100_000}
"""Kind of a case -> values of each stream between two synchronizing events."""
MADE = 0.35
"""Share of a value's cost that is its making, which does not wait for states (half of it where `update` is called)."""
PERIOD_NS = 200e6
HEARTBEATS = (1, 10, 100, 1000)


def load(app: str, per: int) -> Load:
    if app == "value_barrier":
        return Load(ValueBarrier(), lambda number: Tag("value"), (Tag("barrier"),), per)
    if app == "rule_fraud":
        return Load(RuleFraud(), lambda number: Tag("transaction"), (Tag("rule"),), per)
    updates = tuple(Tag("update", f"page{page}") for page in range(2))
    program = PageViewJoin(pages=["page0", "page1"])
    return Load(program, lambda number: Tag("view", f"page{number % 2}"), updates, per)


def costs(app: str, kind: str, medians: Mapping[str, float]) -> Costs:
    """From the runs on one worker, of slices of two lengths, what a value and what a slice costs; from the time of a join
    between processes, which has a message up and one down, what each costs at either end and until it is noticed."""
    name = app.replace("_", "-")
    short, long = (1e9 / medians[f"{name}-{each}-1"] for each in ("batch", "batch-100k"))
    slice_of = {10_000: 10_000.0, 100_000: 100_000 / (1 + 100_000 / BATCH)}
    per_slice = max(2_000.0, (short - long) / (1 / slice_of[10_000] - 1 / slice_of[100_000]))
    row = max(0.2, long - per_slice / slice_of[100_000])
    made = MADE * row
    if kind == "event":
        row, made = 1e9 / medians[f"{name}-event-1"] - per_slice / 10_000, made / 2
    per_join = 5_000.0
    # up and down: sent, on its way for half as long as sending takes, heard; both slices side by side
    message = max(2_000.0, (medians["join-2"] * 1e3 - per_join - per_slice) / 5)
    return Costs(made, row - made, per_slice, message, message / 2, per_join)


def rates(app: str, kind: str, medians: Mapping[str, float]) -> dict[int, float]:
    """Cores -> events/s."""
    return _rates(app, kind, costs(app, kind, medians))


@cache
def _rates(app: str, kind: str, found: Costs) -> dict[int, float]:
    windows = 24 if KINDS[kind] == 10_000 else 8
    return {cores: Simulation(load(app, KINDS[kind]), cores, found, windows).run().rate for cores in CORES}


def summary(medians: Mapping[str, float]) -> Sequence[str]:
    """The simulated points beside the measured ones, and the speed-up at 12 cores (the paper's Table 1)."""
    found = ["simulated with the engine's optimizer, mailboxes and worker protocols, a stream a core:"]
    for app in APPS:
        for kind in KINDS:
            name = f"{app.replace('_', '-')}-{kind}"
            simulated = rates(app, kind, medians)
            found.append(
                f"  {name}: 2 workers {simulated[2] / 1e6:.1f} M/s, measured {medians[f'{name}-2'] / 1e6:.1f}; "
                + ", ".join(
                    f"{cores} workers {simulated[cores] / simulated[1]:.1f}×" for cores in CORES if cores > 2
                )
            )
    return found


def pictures(medians: Mapping[str, float]) -> Mapping[str, str]:
    """Speed-up over cores, and latency over heartbeats (Figure 10)."""
    speedups = []
    for app in APPS:
        for kind in ("event", "batch-100k"):
            simulated = rates(app, kind, medians)
            points = tuple((float(cores), rate / simulated[1]) for cores, rate in simulated.items())
            speedups.append(Curve(f"{app} {kind}", "cores (simulated)", "speed-up", points))
    return {
        "dgs-speedup": lines("dgs: speed-up", speedups),
        "dgs-synchronization": lines("dgs: from a barrier to its sum, p50", synchronization(medians)),
    }


def synchronization(medians: Mapping[str, float]) -> list[Curve]:
    """p50 in µs over heartbeats of the barriers' stream for each barrier: `update` one by one, 10,000 values a stream and
    barrier, 5 barriers/s."""
    found = []
    spent = costs("value_barrier", "event", medians)
    for cores in (2, 8, 32):
        points = []
        for beats in HEARTBEATS:
            ran = Simulation(
                load("value_barrier", 10_000), cores, spent, 4, period=PERIOD_NS, heartbeats=beats
            ).run()
            points.append((float(beats), float(np.percentile(ran.latencies, 50)) / 1e3))
        found.append(Curve(f"{cores} workers", "heartbeats a barrier (simulated)", "µs", tuple(points)))
    return found
