"""`rlas-here`: what the suite `rlas` cannot simulate: the model and the placement on this machine, figures 6, 7, 11 and 16 and
table 5 of briskstream-rlas, and what one event of AIR's YSB* costs. It is asked for with `rlas`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean

from benchmarks.rlas_figures import on_this_machine
from benchmarks.rlas_here import HAND, PLANS, STEPS, factor, measured, predicted, profiled
from benchmarks.rlas_pictures import percentiles, selected
from benchmarks.rlas_study import star_on_a_cluster
from benchmarks.suite import Case, Probe, Settings, Suite
from benchmarks.suites.briskstream import APPLICATIONS, HALF, TYPES, WINDFLOW
from benchmarks.yahoo import STAR, native

RLAS = "two-cores-rlas"
REFERENCE = "reference"
QUICK_PLANS = (REFERENCE, HAND, RLAS)
PARTS = ("p50", "p90", "p99", "p999", "max")
ROUNDS = 4
"""Of each application's profile and plans: two cores of a virtual machine differ by a tenth from one minute to the next."""
WORDS = 42.2
"""Words of a line of the book, on average."""
ROWS = "rows/s"


def suite(settings: Settings) -> Suite:
    names = ("wc",) if settings.quick else tuple(APPLICATIONS)
    plans = QUICK_PLANS if settings.quick else tuple(PLANS)
    seconds = settings.scale(24, 22) / 10
    probes = [of_plans(name, plans, seconds) for name in names]
    if not settings.quick:
        for name in TYPES:
            cases = [Case(f"figure-16-{name}-{step}", ROWS, f"figure-16-{name}-{STEPS[0]}") for step in STEPS]
            probes.append(Probe(tuple(cases), partial(factors, name, seconds), rounds=1))
        for name in names:
            latencies = [Case(f"table-5-{name}-p99", "ms")]
            latencies += [Case(f"figure-7-wc-{part}", "ms") for part in PARTS] if name == "wc" else []
            probes.append(Probe(tuple(latencies), partial(latency, name, seconds), rounds=1))
        cases = [Case(f"figure-11-wc-{cores}", "words/s") for cores in (1, 2)]
        probes.append(Probe(tuple(cases), partial(figure_11, seconds), rounds=1))
    air = (
        Case("air-star-event-ns", "ns"),
        Case("air-star-8x28-model", "events/s"),
        Case("air-star-8x28-simulated", "events/s", "air-star-8x28-model"),
        Case("air-star-8x28-exchanged-simulated", "events/s", "air-star-8x28-model"),
    )
    probes.append(Probe(air, partial(star, settings.scale(15, 10)), rounds=1))
    return Suite(
        "rlas-here",
        tuple(probes),
        notes=(
            "here: rows of the source a second, beside what the model predicts from a profile. Profiles are scaled to runs on "
            "one core with one replica of each actor, the plan `reference`, and with two, nearly the plan one-core; they have "
            "not seen the plans on two cores. two-cores is the deployment made by hand. Each round has a profile of its own, "
            "with two runs of each plan before it and two behind it. error: by how much a prediction is above these four; "
            "repeat: by how much the two on one side of the profile are above the two on the other, which no model can know: "
            "the machine's speed changes.",
            "figure-6: relative to WindFlow's figures in docs/benchmarks.md, which are not of this run; figure-16: per-event "
            "objects, then jumbo tuples, C and placement, each with those before it.",
            "air-star: one event's cost is measured here, the cluster is a model. Counts leave each batch, so cores limit; "
            "exchanged: each event of 136 bytes goes to its key's node, so the links limit.",
        ),
        summary=partial(on_this_machine, names, [plan for plan in plans if plan != REFERENCE]),
        pictures=pictures,
    )


def of_plans(name: str, plans: Sequence[str], seconds: float) -> Probe:
    """An application under plans, and what the model predicts of them."""
    cases = []
    for label in plans:
        head = f"here-{name}-{label}"
        cases += [Case(f"{head}-predicted", ROWS), Case(f"{head}-measured", ROWS, f"{head}-predicted")]
        cases += [Case(f"{head}-error", "%"), Case(f"{head}-repeat", "%")]
    cases.append(Case(f"here-{name}-by-hand", ROWS))
    cases.append(Case(f"here-{name}-rlas", ROWS, f"here-{name}-by-hand", paired=True))
    cases.append(Case(f"figure-6-{name}", "times WindFlow's"))
    return Probe(tuple(cases), partial(compared, name, plans, seconds), rounds=ROUNDS)


def compared(name: str, plans: Sequence[str], seconds: float) -> Sequence[float]:
    """A round: the plans one after the other, there and back, a new profile and what the model predicts from it, and the plans
    again. So the profile lies in the middle of the runs, and a speed of the machine that changes steadily makes no difference.
    `rlas` makes its plan from the profile of the round before.

    Returns of each plan the rows of the source a second, predicted and measured, by how much the prediction is above, in %, and
    by how much the faster runs are above the slower ones of those before and behind the profile. Then the rows by hand and by
    `rlas` again, and the latter relative to WindFlow's."""
    planned_by = profiled(name)
    before = there_and_back(name, plans, seconds, planned_by)
    profile = profiled(name, again=True)
    predictions = [predicted(name, PLANS[label], planned_by, profile) for label in plans]
    behind = there_and_back(name, plans, seconds, planned_by)
    rows = dict(zip(plans, map(mean, zip(before, behind))))
    found = []
    for prediction, measured_rows, pair in zip(predictions, rows.values(), zip(before, behind)):
        error, repeat = prediction / measured_rows, max(pair) / min(pair)
        found += [prediction, measured_rows, 100 * (error - 1), 100 * (repeat - 1)]
    words = WORDS if APPLICATIONS[name].counted else 1.0
    return *found, rows[HAND], rows[RLAS], rows[RLAS] * words / WINDFLOW[name]


def there_and_back(name: str, plans: Sequence[str], seconds: float, planned_by: Path) -> list[float]:
    """Rows of the source a second of each plan, the mean of two runs, since the speed of the machine changes in seconds."""
    there = [measured(name, PLANS[label], seconds, planned_by) for label in plans]
    back = [measured(name, PLANS[label], seconds, planned_by) for label in reversed(plans)]
    return list(map(mean, zip(there, reversed(back))))


def factors(name: str, seconds: float) -> Sequence[float]:
    """Figure 16."""
    return [factor(name, step, seconds) for step in STEPS]


def latency(name: str, seconds: float) -> Sequence[float]:
    """The 99th percentile, in ms, of the deployment made by hand at half of its rate; of WC then those of figure 7."""
    rows = measured(name, PLANS[HAND], seconds)
    found = APPLICATIONS[name].run(seconds, HALF * rows).report["latency_ms"]
    return [found["p99"], *(found[part] for part in PARTS if name == "wc")]


def figure_11(seconds: float) -> Sequence[float]:
    """Words a second of the plans of RLAS for one core and for two."""
    plans = (replace(PLANS[RLAS], cores=cores, workers=cores) for cores in (1, 2))
    return [measured("wc", plan, seconds) * WORDS for plan in plans]


def star(seconds: float) -> Sequence[float]:
    """One core is measured here. The 224 cores are predicted by the model and by the simulator."""
    event_ns = 1e9 / native(STAR, 1, seconds)
    done = star_on_a_cluster(event_ns, exchanged=False)
    made = done.model.ingress, done.simulated.ingress
    return event_ns, *made, star_on_a_cluster(event_ns, exchanged=True).simulated.ingress


def pictures(medians: Mapping[str, float]) -> Mapping[str, str]:
    found = {
        f"rlas-{label}": selected(f"{title}, measured here", medians, start)
        for label, title, start in (
            ("figure-6", "Figure 6: throughput relative to WindFlow's recorded one", "figure-6-"),
            ("figure-11", "Figure 11: WC by cores, words/s", "figure-11-"),
            ("figure-16", "Figure 16: rows/s of the source, step by step", "figure-16-"),
            ("table-5", "Table 5: p99 latency in ms at half of the throughput", "table-5-"),
        )
        if any(name.startswith(start) for name in medians)
    }
    if "figure-7-wc-p50" in medians:
        found["rlas-figure-7"] = percentiles(
            "Figure 7: latency of WC at half of its throughput, measured here",
            {part: medians[f"figure-7-wc-{part}"] for part in PARTS},
        )
    return found
