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
JOINED = 2_000.0
"""ns: of the slice of some values that lies between two joins where these are measured."""
KINDS = {"event": 10_000, "batch": 10_000, "batch-100k": 100_000}
"""Kind of a case -> values of each stream between two synchronizing events."""
WINDOWS = {10_000: 96, 100_000: 32}
"""Values of each stream between two synchronizing events -> of these so many in a simulated run: its start and end, which
the measured runs leave out, are then a small part of it."""
RATE = 50_000
"""Values a second of a stream, where barriers come by the clock."""
RATIOS = (100, 1_000, 10_000)
HEARTBEATS = (1, 10, 100, 1000)
APART_NS = 1e6
"""From one heartbeat to the next, where the number of workers is looked at."""


def load(app: str, per: int) -> Load:
    if app == "value_barrier":
        return Load(ValueBarrier(), lambda number: Tag("value"), (Tag("barrier"),), per)
    if app == "rule_fraud":
        return Load(RuleFraud(), lambda number: Tag("transaction"), (Tag("rule"),), per)
    updates = tuple(Tag("update", f"page{page}") for page in range(2))
    program = PageViewJoin(pages=["page0", "page1"])
    return Load(program, lambda number: Tag("view", f"page{number % 2}"), updates, per)


def costs(app: str, kind: str, medians: Mapping[str, float]) -> Costs:
    """What a value costs to make, and to be worked on while another process works too, is measured in the hooks; what a
    slice costs, by runs with slices of two lengths; what one worker needs beyond that goes with its values. From the time
    of a join between processes, which has a message up and one down: what each costs at either end and until it is
    noticed."""
    name = app.replace("_", "-")
    make, work = medians[f"{name}-batch-100k-1-make"], medians[f"{name}-{kind}-2-work"]
    short, long = (1e9 / medians[f"{name}-{each}-1"] for each in ("batch", "batch-100k"))
    per_slice = max(2_000.0, (short - long) / (1 / _rows(10_000) - 1 / _rows(100_000)))
    whole = 1e9 / medians[f"{name}-{kind}-1"]
    beyond = max(0.0, whole - make - work - per_slice / _rows(KINDS[kind]))
    per_join = 5_000.0
    # up and down: sent, on its way for half as long as sending takes, heard; both slices side by side
    message = max(2_000.0, (medians["join-2"] * 1e3 - per_join - 2 * JOINED) / 5)
    return Costs(make, work + beyond, per_slice, message, message / 2, per_join)


def _rows(per: int) -> float:
    """Of a slice, where so many values lie between two synchronizing events: batches cut them, too."""
    return per / (1 + per / BATCH)


def rates(app: str, kind: str, medians: Mapping[str, float]) -> dict[int, float]:
    """Cores -> events/s."""
    return _rates(app, kind, costs(app, kind, medians))


@cache
def _rates(app: str, kind: str, found: Costs) -> dict[int, float]:
    per = KINDS[kind]
    return {cores: Simulation(load(app, per), cores, found, WINDOWS[per]).run().rate for cores in CORES}


def summary(medians: Mapping[str, float]) -> Sequence[str]:
    """The simulated points beside the measured ones, and the speed-up at 12 cores (the paper's Table 1)."""
    found = ["simulated with the engine's optimizer, mailboxes and worker protocols, a stream a core:"]
    for app in APPS:
        for kind in KINDS:
            name = f"{app.replace('_', '-')}-{kind}"
            simulated = rates(app, kind, medians)
            found.append(
                f"  {name}: 2 workers {simulated[2] / 1e6:.1f} M/s, {simulated[2] / medians[f'{name}-2']:.2f} of "
                f"what was measured, 1 worker {simulated[1] / medians[f'{name}-1']:.2f}; "
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
        "dgs-synchronization": lines(
            "dgs: from a barrier to its sum, p50, by heartbeats", by_heartbeats(medians)
        ),
        "dgs-workers": lines("dgs: from a barrier to its sum, p50, by workers", by_workers(medians)),
    }


def p50(cores: int, ratio: int, beats: int, spent: Costs) -> float:
    """µs from a barrier to its sum: `update` one by one, so many values a stream and barrier at RATE."""
    period = 1e9 * ratio / RATE
    given = load("value_barrier", ratio)
    ran = Simulation(given, cores, spent, 4, period=period, heartbeats=beats).run()
    return float(np.percentile(ran.latencies, 50)) / 1e3


def by_heartbeats(medians: Mapping[str, float]) -> list[Curve]:
    """Figure 10, right: over heartbeats of the barriers' stream for each barrier, 10,000 values a stream and barrier."""
    spent = costs("value_barrier", "event", medians)
    axis = "heartbeats a barrier (simulated)"
    return [
        Curve(
            f"{cores} workers",
            axis,
            "µs",
            tuple((float(beats), p50(cores, RATIOS[-1], beats, spent)) for beats in HEARTBEATS),
        )
        for cores in (2, 8, 32)
    ]


def by_workers(medians: Mapping[str, float]) -> list[Curve]:
    """Figure 10, left: over workers, for each number of values a stream and barrier."""
    spent = costs("value_barrier", "event", medians)
    return [
        Curve(
            f"{ratio:,} values a barrier",
            "workers (simulated)",
            "µs",
            tuple(
                (float(cores), p50(cores, ratio, max(1, round(1e9 * ratio / RATE / APART_NS)), spent))
                for cores in CORES
                if cores > 1
            ),
        )
        for ratio in RATIOS
    ]
