"""`rlas`: the figures and tables of briskstream-rlas section 6, by our model and by simulation on models of the paper's two
servers. No figure here is measured on such a machine; what is measured on this one is the suite `rlas-here`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from benchmarks.rlas_figures import on_servers
from benchmarks.rlas_pictures import distribution, matrices, selected
from benchmarks.rlas_study import (
    APPS,
    fetch_matrix,
    placement_seconds,
    planned,
    random_error,
    random_plans,
    server,
    without_remote_memory,
)
from benchmarks.suite import Case, Curve, Probe, Settings, Suite

SERVERS = {"a": "server-a", "b": "server-b"}
SOCKETS = (1, 2, 4, 8)
RATIOS = (1, 3, 5, 10, 15)
PAIRS = ((0, 1), (0, 3), (0, 4), (0, 7))
TUPLES = "tuples/s"
PICTURES = (
    ("table-3", "Table 3, by the model: ns a tuple", ("table-3-",)),
    ("table-7", "Table 7: tuples/s and seconds by compression ratio", ("table-7-",)),
    ("figure-8", "Figure 8, by the model: ns a tuple of WC", ("figure-8-",)),
)
BY_STRATEGY = (
    ("table-4", "Table 4: tuples/s", ("-rlas-model", "-rlas-simulated")),
    ("figure-10", "Figure 10, by the model: tuples/s", ("-rlas-model", "-without-rma-model")),
    (
        "figure-12",
        "Figure 12, simulated: tuples/s",
        ("-rlas-simulated", "-fix-l-simulated", "-fix-u-simulated"),
    ),
    (
        "figure-13",
        "Figure 13, simulated: tuples/s",
        ("-rlas-simulated", "-first-fit-simulated", "-round-robin-simulated"),
    ),
)
"""(file, title, what cases' names begin or end with) of pictures as bars."""


def suite(settings: Settings) -> Suite:
    letters = ("a",) if settings.quick else ("a", "b")
    random_count = 1000
    probes = [*table_3(), figure_8()]
    for letter in letters:
        for name in APPS:
            probes += applications(letter, name, random_count)
    probes += scalability(settings)
    probes += table_7(settings)
    return Suite(
        "rlas",
        tuple(probes),
        notes=(
            "SERVER-APP-…: plans for models of the paper's servers (deploy/machines). model: our formulas; simulated: the "
            "discrete-event simulator. Most costs of the applications are assumed (benchmarks/paper_apps.py).",
            "SERVER-APP-simulated-p99: latency of the simulated queues at full load.",
        ),
        curves=partial(curves, settings),
        summary=partial(summary, settings, letters),
        pictures=partial(pictures, letters, random_count),
    )


def ratios_of(settings: Settings) -> tuple[int, ...]:
    """Of compression."""
    return RATIOS if not settings.quick else (1, 5)


def sockets_of(settings: Settings) -> tuple[int, ...]:
    return SOCKETS if not settings.quick else (1, 8)


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
    return [
        once(
            [Case(f"server-a-{name.lower()}-sockets-{count}-simulated", TUPLES)],
            partial(
                lambda name, count: (planned("a", name, "rlas", count).simulated.throughput,), name, count
            ),
        )
        for name in APPS
        for count in sockets_of(settings)
    ]


def table_7(settings: Settings) -> list[Probe]:
    """WC on Server A by compression ratio."""

    def run(ratio: int) -> Sequence[float]:
        done = planned("a", "WC", "rlas", 8, ratio)
        return done.simulated.throughput, done.seconds

    return [
        once(
            [Case(f"table-7-r{ratio}-simulated", TUPLES), Case(f"table-7-r{ratio}-planning", "s")],
            partial(run, ratio),
        )
        for ratio in ratios_of(settings)
    ]


def curves(settings: Settings) -> Sequence[Curve]:
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
                for count in sockets_of(settings)
            ),
        )
        for name in APPS
    ]


def summary(settings: Settings, letters: Sequence[str], medians: Mapping[str, float]) -> list[str]:
    return on_servers(letters, medians, ratios_of(settings), sockets_of(settings))


def pictures(letters: Sequence[str], count: int, medians: Mapping[str, float]) -> Mapping[str, str]:
    drawn = {SERVERS[letter]: fetch_matrix(letter, "WC") for letter in letters}
    shares = {}
    for name in APPS:
        best = medians[f"server-a-{name.lower()}-rlas-model"]
        shares[name] = [each / best for each in random_plans("a", name, count).throughputs]
    found = {"rlas-fetches": matrices(drawn), "rlas-random": distribution(shares)}
    for label, title, starts in PICTURES:
        found[f"rlas-{label}"] = selected(title, medians, *starts)
    for label, title, ends in BY_STRATEGY:
        names = {name: value for name, value in medians.items() if name.endswith(ends)}
        found[f"rlas-{label}"] = selected(title, names, "server-")
    return found
