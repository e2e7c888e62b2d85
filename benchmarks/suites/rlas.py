"""`rlas`: the figures and tables of briskstream-rlas section 6, by our model and by simulation on models of the paper's two
servers, and AIR's YSB* on a model of its cluster. No figure here is measured on such a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from benchmarks.paper_apps import TABLE_4
from benchmarks.rlas_here import HAND, PLANS, STEPS, factor, measured, predicted
from benchmarks.rlas_pictures import distribution, matrices
from benchmarks.rlas_study import (
    APPS,
    fetch_matrix,
    placement_seconds,
    planned,
    random_error,
    random_plans,
    server,
    star_on_a_cluster,
    without_remote_memory,
)
from benchmarks.suite import Case, Curve, Probe, Settings, Suite
from benchmarks.suites.briskstream import APPLICATIONS, TYPES
from benchmarks.yahoo import STAR, native

SERVERS = {"a": "server-a", "b": "server-b"}
SOCKETS = (1, 2, 4, 8)
RATIOS = (1, 3, 5, 10, 15)
PAIRS = ((0, 1), (0, 3), (0, 4), (0, 7))
TUPLES = "tuples/s"


def suite(settings: Settings) -> Suite:
    letters = ("a",) if settings.quick else ("a", "b")
    random_count = 1000
    probes = [*table_3(), figure_8()]
    for letter in letters:
        for name in APPS:
            probes += applications(letter, name, random_count)
    probes += scalability(settings)
    probes += table_7(settings)
    probes += here(settings)
    probes.append(
        Probe(
            (
                Case("air-star-event-ns", "ns"),
                Case("air-star-8x28-model", "events/s"),
                Case("air-star-8x28-simulated", "events/s", "air-star-8x28-model"),
                Case("air-star-8x28-exchanged-simulated", "events/s", "air-star-8x28-model"),
            ),
            partial(star, settings.scale(15, 10)),
            rounds=1,
        )
    )
    return Suite(
        "rlas",
        tuple(probes),
        notes=(
            "SERVER-APP-…: plans for models of the paper's servers (deploy/machines). model: our formulas; simulated: the "
            "discrete-event simulator. Most costs of the applications are assumed (benchmarks/paper_apps.py).",
            "air-star: one event's cost is measured here, the cluster is a model. Counts leave each batch, so cores limit; "
            "exchanged: each event of 136 bytes goes to its key's node, so the links limit. The paper has 269 M events/s.",
            "here: measured on this machine, beside what the model predicts from profiles that saw none of these plans; "
            "two-cores is the deployment that was made by hand. figure-6: relative to WindFlow's figures in docs/benchmarks.md, "
            "which are not of this run, as the paper's systems are not here; figure-7: WC at half of its rate; figure-11: WC by "
            "cores (StreamBox is not here); figure-16: per-event objects, then jumbo tuples, C and placement.",
            "SERVER-APP-simulated-p99: latency of the simulated queues at full load. Table 5 is in the suite briskstream.",
        ),
        curves=partial(curves, settings),
        summary=partial(summary, letters),
        pictures=partial(pictures, letters, random_count),
    )


def once(cases: Sequence[Case], run: Callable[[], Sequence[float]]) -> Probe:
    """The same input gives the same figures, so one round is enough."""
    return Probe(tuple(cases), run, rounds=1)


def table_3() -> list[Probe]:
    """Nanoseconds per tuple of splitter and counter, S0 to another socket."""

    def times(i: int, j: int) -> Sequence[float]:
        machine = server("a")
        return 1612.8 + machine.fetch_ns(384, i, j), 612.3 + machine.fetch_ns(64, i, j)

    return [
        once(
            [Case(f"table-3-splitter-s{i}-s{j}", "ns"), Case(f"table-3-counter-s{i}-s{j}", "ns")],
            partial(times, i, j),
        )
        for i, j in PAIRS
    ]


def figure_8() -> Probe:
    """Nanoseconds per tuple of WC's operators beside their producers, and as far from them as can be."""
    operators = {each.members[0]: each for each in APPS["WC"].dataflow.operators[1:]}
    sizes = {flow.consumer: flow.producer for flow in APPS["WC"].dataflow.flows}
    known = APPS["WC"].profile.operators

    def run() -> Sequence[float]:
        found: list[float] = []
        for name in operators:
            local = known[name].execute_ns(64)
            size = known[sizes[name]].outputs["default"].bytes
            found += [local, local + server("a").fetch_ns(size, 0, 7, rows=64)]
        return found

    return once(
        [
            case
            for name in operators
            for case in (
                Case(f"figure-8-{name}-local", "ns"),
                Case(f"figure-8-{name}-remote", "ns", f"figure-8-{name}-local"),
            )
        ],
        run,
    )


def applications(letter: str, name: str, random_count: int) -> list[Probe]:
    """Table 4, figures 10, 12, 13 and 14, and how long planning takes."""
    head = f"{SERVERS[letter]}-{name}".lower()
    simulated = f"{head}-rlas-simulated"

    def rlas() -> Sequence[float]:
        done = planned(letter, name)
        latency = done.simulated.percentile(0.99) * 1e3
        return done.model.throughput, done.simulated.throughput, done.error * 100, latency, done.seconds

    def other(strategy: str) -> Sequence[float]:
        done = planned(letter, name, strategy)
        return done.model.throughput, done.simulated.throughput

    found = [
        once(
            [
                Case(f"{head}-rlas-model", TUPLES),
                Case(simulated, TUPLES, f"{head}-rlas-model"),
                Case(f"{head}-error", "%"),
                Case(f"{head}-simulated-p99", "ms"),
                Case(f"{head}-planning", "s"),
            ],
            rlas,
        ),
        once([Case(f"{head}-placement", "s")], lambda: (placement_seconds(letter, name),)),
    ]
    for strategy in ("fix-l", "fix-u", "first-fit", "round-robin"):
        cases = [
            Case(f"{head}-{strategy}-model", TUPLES, f"{head}-rlas-model"),
            Case(f"{head}-{strategy}-simulated", TUPLES, simulated),
        ]
        found.append(once(cases, partial(other, strategy)))

    def drawn() -> Sequence[float]:
        plans = random_plans(letter, name, random_count)
        return plans.throughputs[-1], plans.throughputs[len(plans.throughputs) // 2], plans.best

    found.append(
        once(
            [
                Case(f"{head}-random-best-model", TUPLES, f"{head}-rlas-model"),
                Case(f"{head}-random-median-model", TUPLES, f"{head}-rlas-model"),
                Case(f"{head}-random-best-simulated", TUPLES, simulated),
            ],
            drawn,
        )
    )
    found.append(
        once(
            [Case(f"{head}-without-rma-model", TUPLES, f"{head}-rlas-model")],
            lambda: (without_remote_memory(letter, name),),
        )
    )
    found.append(
        once([Case(f"{head}-error-random", "%")], lambda: (random_error(letter, name, range(3)) * 100,))
    )
    return found


def scalability(settings: Settings) -> list[Probe]:
    """Figure 9b: Server A with its first sockets."""
    sockets = SOCKETS if not settings.quick else (1, 8)
    return [
        once(
            [Case(f"server-a-{name.lower()}-sockets-{count}-simulated", TUPLES)],
            partial(
                lambda name, count: (planned("a", name, "rlas", count).simulated.throughput,), name, count
            ),
        )
        for name in APPS
        for count in sockets
    ]


def table_7(settings: Settings) -> list[Probe]:
    """WC on Server A by compression ratio."""

    def run(ratio: int) -> Sequence[float]:
        done = planned("a", "WC", "rlas", 8, ratio)
        return done.simulated.throughput, done.seconds

    ratios = RATIOS if not settings.quick else (1, 5)
    return [
        once(
            [Case(f"table-7-r{ratio}-simulated", TUPLES), Case(f"table-7-r{ratio}-planning", "s")],
            partial(run, ratio),
        )
        for ratio in ratios
    ]


def here(settings: Settings) -> list[Probe]:
    """The model against real runs, RLAS against the deployment made by hand, and figures 6, 7, 11 and 16 on this machine."""
    names = ("wc",) if settings.quick else tuple(APPLICATIONS)
    plans = {"two-cores", "two-cores-rlas"} if settings.quick else set(PLANS)
    seconds, rounds = settings.scale(26, 22) / 10, settings.scale(3, 1)
    found = []
    for name in names:
        for label, plan in PLANS.items():
            if label not in plans:
                continue
            head = f"here-{name}-{label}"
            predicted_case = Case(f"{head}-predicted", TUPLES)
            found.append(once([predicted_case], lambda name=name, plan=plan: (predicted(name, plan),)))
            cases = [Case(f"{head}-measured", TUPLES, f"{head}-predicted")]
            if label == "two-cores-rlas":
                cases.append(Case(f"here-{name}-rlas", TUPLES, f"here-{name}-by-hand", paired=True))
                cases.append(Case(f"figure-6-{name}", "times WindFlow's"))
            if label == HAND:
                cases.append(Case(f"here-{name}-by-hand", TUPLES))
            run = partial(run_here, name, label, seconds, len(cases))
            found.append(Probe(tuple(cases), run, rounds=rounds))
    for name in TYPES if not settings.quick else ():
        cases = [Case(f"figure-16-{name}-{step}", TUPLES, f"figure-16-{name}-{STEPS[0]}") for step in STEPS]
        found.append(
            once(cases, lambda name=name: [factor(name, step, seconds) for step in STEPS])  # type: ignore[misc]
        )
    if not settings.quick:
        found.append(once([Case(f"figure-7-wc-{part}", "ms") for part in PARTS], partial(figure_7, seconds)))
        found.append(
            once([Case(f"figure-11-wc-{n}", "words/s") for n in (1, 2)], partial(figure_11, seconds))
        )
    return found


def run_here(name: str, label: str, seconds: float, count: int) -> Sequence[float]:
    """Rows of the source a second, as often as there are cases for it, and last how many times WindFlow's where that is one."""
    rows = measured(name, PLANS[label], seconds)
    app = APPLICATIONS[name]
    times = rows * (WORDS if app.counted else 1.0) / app.windflow
    return ([rows] * 2 + [times])[:count]


WORDS = 42.2
"""Words of a line of the book, on average."""
PARTS = ("p50", "p90", "p99", "p999", "max")


def figure_7(seconds: float) -> Sequence[float]:
    """Latencies of WC from a line's entry to the count of its last word, at half of the rate of the deployment made by hand."""
    rows = measured("wc", PLANS[HAND], seconds)
    latency = APPLICATIONS["wc"].run(seconds, rows / 2).report["latency_ms"]
    return [latency[part] for part in PARTS]


def figure_11(seconds: float) -> Sequence[float]:
    """Words a second of the plans of RLAS for one core and for two."""
    plans = (replace(PLANS["two-cores-rlas"], cores=cores, workers=cores) for cores in (1, 2))
    return [measured("wc", plan, seconds) * WORDS for plan in plans]


def star(seconds: float) -> Sequence[float]:
    """What one core does here is measured; what 224 cores do is the model's and the simulator's."""
    event_ns = 1e9 / native(STAR, 1, seconds)
    done = star_on_a_cluster(event_ns, exchanged=False)
    made = done.model.ingress, done.simulated.ingress
    return event_ns, *made, star_on_a_cluster(event_ns, exchanged=True).simulated.ingress


def curves(settings: Settings) -> Sequence[Curve]:
    sockets = SOCKETS if not settings.quick else (1, 8)
    return [
        Curve(
            name,
            "sockets of server A (simulated)",
            "relative to one socket",
            tuple(
                (
                    float(count),
                    planned("a", name, "rlas", count).simulated.throughput
                    / planned("a", name, "rlas", 1).simulated.throughput,
                )
                for count in sockets
            ),
        )
        for name in APPS
    ]


def summary(letters: Sequence[str], medians: Mapping[str, float]) -> list[str]:
    lines = ["server    app  model K/s  simulated K/s  error  paper's measured K/s"]
    for letter in letters:
        for name in APPS:
            head = f"{SERVERS[letter]}-{name}".lower()
            figures = (medians[f"{head}-rlas-model"] / 1e3, medians[f"{head}-rlas-simulated"] / 1e3)
            paper = f"{TABLE_4[name] / 1e3:>20,.1f}" if letter == "a" else ""
            error = f"{medians[f'{head}-error']:>4.1f}%"
            lines.append(
                f"{SERVERS[letter]}  {name:3}  {figures[0]:>9,.0f}  {figures[1]:>13,.0f}  {error}  {paper}"
            )
    return lines


def pictures(letters: Sequence[str], count: int, medians: Mapping[str, float]) -> Mapping[str, str]:
    drawn = {SERVERS[letter]: fetch_matrix(letter, "WC") for letter in letters}
    shares = {}
    for name in APPS:
        best = medians[f"server-a-{name.lower()}-rlas-model"]
        shares[name] = [each / best for each in random_plans("a", name, count).throughputs]
    return {"rlas-fetches": matrices(drawn), "rlas-random": distribution(shares)}
