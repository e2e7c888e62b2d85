"""`rlas-here`: what the suite `rlas` cannot simulate: the model and the placement on this machine, figures 6, 7, 11 and 16 and
table 5 of briskstream-rlas, and what one event of AIR's YSB* costs. It is asked for with `rlas`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
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
ROUNDS = 5
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
            "right before its runs, two of each plan. error: by how much a prediction is above the runs of its round; "
            "error-relative: the same after both are divided by what the plan `reference` has in that round, since a machine "
            "whose speed changes behind the profile moves all runs of the round.",
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
        cases.append(Case(f"{head}-error", "%"))
        if label != REFERENCE:
            cases.append(Case(f"{head}-error-relative", "%"))
    cases.append(Case(f"here-{name}-by-hand", ROWS))
    cases.append(Case(f"here-{name}-rlas", ROWS, f"here-{name}-by-hand", paired=True))
    cases.append(Case(f"figure-6-{name}", "times WindFlow's"))
    return Probe(tuple(cases), partial(compared, name, plans, seconds), rounds=ROUNDS)


def compared(name: str, plans: Sequence[str], seconds: float) -> Sequence[float]:
    """A round: a new profile, since the speed of the machine changes in minutes, what the model predicts from it, and the plans
    one after the other, there and back, since it changes in seconds, too.

    Returns of each plan the rows of the source a second, predicted and measured, and by how much the prediction is above, in %;
    of all but `reference` also the same relative to `reference`. Then the rows by hand and by `rlas` again, and the latter
    relative to WindFlow's."""
    profiled(name, again=True)
    predictions = {label: predicted(name, PLANS[label]) for label in plans}
    runs = {label: [measured(name, PLANS[label], seconds)] for label in plans}
    for label in reversed(plans):
        runs[label].append(measured(name, PLANS[label], seconds))
    rows = {label: mean(each) for label, each in runs.items()}
    of_reference = predictions[REFERENCE] / rows[REFERENCE]
    found = []
    for label in plans:
        times = predictions[label] / rows[label]
        found += [predictions[label], rows[label], 100 * (times - 1)]
        if label != REFERENCE:
            found.append(100 * (times / of_reference - 1))
    words = WORDS if APPLICATIONS[name].counted else 1.0
    return *found, rows[HAND], rows[RLAS], rows[RLAS] * words / WINDFLOW[name]


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
