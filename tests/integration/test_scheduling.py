"""Whatever decides what runs next, and on however many threads: the output is that of one worker, in its order."""

from __future__ import annotations

import random
from collections import Counter
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from actorstream.errors import OperatorError
from actorstream.operators.filter import Filter
from actorstream.operators.map import Map
from actorstream.operators.reduce import Reduce
from actorstream.operators.split import Split
from actorstream.operators.static_join import StaticJoin
from actorstream.operators.union import Union
from actorstream.scheduling import SCHEDULES
from actorstream.topology.builder import Topology
from apps.tpcx_bb.pairs import Counts
from tests.covering import covering
from tests.integration import test_random_topologies as randomly
from tests.integration import test_recovery_hooks as recovery
from tests.integration.parts import Collect, DoubleBatch, Numbers
from tests.integration.pooled import RunningSum, SumsAtPromises, Times

NAMES = list(SCHEDULES)


@pytest.fixture(autouse=True)
def threads_take_what_does_not_pay(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of these tests are few, so their kernels are short; the loop's thread would do everything."""
    monkeypatch.setattr("actorstream.runtime.schedule.kernel_edge.PAYS_NS", 0)


def chain(count: int) -> Topology:
    """Native operators without and with a state, and a hook in Python between them."""
    topology = Topology("chain")
    stream = topology.source(Numbers, name="numbers", count=count)
    stream = stream.through(Filter, name="some", where="value % 3 != 0")
    stream = stream.through(Map, name="more", set={"value": "value * 2 + 1"})
    stream = stream.through(RunningSum, name="sums")
    stream = stream.through(DoubleBatch, name="python")
    stream.through(Times, name="twice", times=2).into(Collect, name="out")
    return topology


def expected(count: int) -> list[tuple[int, int]]:
    values = accumulate(value * 2 + 1 for value in range(count) if value % 3)
    return [(2 * total, total % 101) for total in values for _ in range(2)]


@covering(
    {
        "schedule": NAMES,
        "threads": [0, 1, 2, 3, 8],
        "window, reordering": [(1, "non-blocking"), (2, "lock-based"), (1024, "non-blocking")],
        "batch_size": [1, 64],
    }
)
def test_a_chain_gives_the_sequence_of_one_worker(
    schedule: str, threads: int, window: int, reordering: str, batch_size: int
) -> None:
    settings = {"reorder_window": window, "batch_size": batch_size, "reordering": reordering}
    result = chain(300).run(schedule=schedule, threads=threads, **settings)
    assert result["out"] == expected(300)


@pytest.mark.parametrize("schedule", NAMES)
@pytest.mark.parametrize("seed", range(3))
def test_delays_change_nothing(schedule: str, seed: int) -> None:
    dice = random.Random(f"{schedule} {seed}")
    deploy: dict[str, Any] = {
        "threads": dice.randint(1, 8),
        "reorder_window": dice.choice([1, 3, 16, 1024]),
        "batch_size": dice.choice([7, 50]),
        "edge_bytes": dice.choice([1, 4096, 4 << 20]),
        "slice": dice.choice(["1us", "2ms"]),
        "ct_window": dice.choice(["1us", "100ms"]),
        "reordering": dice.choice(["non-blocking", "lock-based"]),
        "pipelining": dice.random() < 0.5,
        "testing": {"delay": "2ms", "seed": seed},
    }
    assert chain(1000).run(schedule=schedule, **deploy)["out"] == expected(1000), deploy


@pytest.mark.parametrize("schedule", NAMES)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("times", [0, 50])
def test_one_place_and_one_byte_of_credit_never_stop_a_run(schedule: str, threads: int, times: int) -> None:
    topology = Topology("narrow")
    stream = topology.source(Numbers, name="numbers", count=20)
    stream = stream.through(Map, name="map", set={"value": "value + 0"})
    stream = stream.through(Times, name="first", times=times).through(Times, name="second", times=1)
    stream.through(RunningSum, name="sums").into(Collect, name="out")
    deploy = {"reorder_window": 1, "edge_bytes": 1, "batch_size": 1, "pipelining": False}
    result = topology.run(schedule=schedule, threads=threads, **deploy)
    sums = accumulate(value for value in range(20) for _ in range(times))
    assert [total for total, _ in result["out"]] == list(sums)


@pytest.mark.parametrize("schedule", NAMES)
def test_a_graph_that_forks_and_meets_keeps_the_order_of_each_branch(schedule: str) -> None:
    topology = Topology("diamond")
    cases = {"small": "value < 1000"}
    stream = topology.source(Numbers, name="numbers", count=4000).through(Split, name="split", cases=cases)
    small = stream["small"].through(Times, name="twice", times=2)
    large = stream.through(Map, name="map", set={"value": "value + 1"})
    small.through(Union, large, name="both").into(Collect, name="out")
    values = [value for value, _ in topology.run(schedule=schedule, threads=3, batch_size=64)["out"]]
    assert [value for value in values if value < 1000] == [v for v in range(1000) for _ in range(2)]
    assert [value for value in values if value > 1000] == list(range(1001, 4001))


def in_serial_order(count: int, way: str) -> Topology:
    topology = Topology("serial")
    stream = topology.source(Numbers, name="numbers", count=count)
    stream = stream.through(Map, name="map", set={"value": "value + 1"})
    if way == "partitions":
        keyed = stream.by("group").through(Times, name="twice", times=2, replicas=3)
        stream = keyed.shuffle().through(Map, name="more", set={"value": "value * 2"}, replicas=2)
    elif way == "fork":
        twice = stream.through(Times, name="twice", times=2)
        even = stream.through(Filter, name="even", where="value % 2 == 0")
        stream = twice.ordered("serial").through(Union, even.ordered("serial"), name="both")
    stream.ordered("serial").through(RunningSum, name="sums").into(Collect, name="out")
    return topology


@pytest.mark.parametrize("schedule", NAMES)
@pytest.mark.parametrize("way", ["chain", "fork", "partitions"])
def test_serial_order_is_that_of_one_worker(schedule: str, way: str) -> None:
    sequence = in_serial_order(900, way).run(batch_size=40)["out"]
    for threads, window in ((1, 1), (2, 2), (6, 1024)):
        deploy = {
            "threads": threads,
            "reorder_window": window,
            "testing": {"delay": "300us", "seed": threads},
        }
        result = in_serial_order(900, way).run(schedule=schedule, batch_size=40, **deploy)
        assert result["out"] == sequence, deploy


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("schedule", ["ct", "qst"])
def test_processes_have_threads_each(workers: int, schedule: str) -> None:
    topology = Topology("shared")
    stream = topology.source(Numbers, name="numbers", count=20_000, parts=2, replicas=2)
    stream = stream.through(Filter, name="even", where="value % 2 == 0", replicas=2)
    stream = stream.by("group").through(Map, name="map", set={"value": "value * 3"}, replicas=2)
    stream.to_one().through(Reduce, name="sum", aggregate={"value": "sum(value)", "group": "count()"}).into(
        Collect, name="out"
    )
    result = topology.run(schedule=schedule, threads=2, transport="shm", workers=workers, batch_size=512)
    assert result["out"] == [(3 * sum(range(0, 20_000, 2)), 10_000)]


def test_promises_of_event_time_keep_their_place_among_the_rows() -> None:
    topology = Topology("promises")
    stream = topology.source(Numbers, name="numbers", count=5000)
    stream = stream.through(Times, name="through", times=1).through(Filter, name="all", where="value >= 0")
    stream.through(SumsAtPromises, name="sums").into(Collect, name="out")
    deploy = {"batch_size": 50, "pipelining": False, "testing": {"delay": "500us"}}
    values = [value for value, _ in topology.run(schedule="ct", threads=4, **deploy)["out"]]
    assert values == [*range(5000), sum(range(5000))]


@pytest.mark.parametrize("schedule", NAMES)
def test_a_table_is_read_before_threads_join_with_it(schedule: str, tmp_path: Path) -> None:
    table = tmp_path / "names.csv"
    table.write_text("group,name\n" + "".join(f"{group},g{group}\n" for group in range(0, 101, 2)))
    topology = Topology("table")
    stream = topology.source(Numbers, name="numbers", count=3000)
    stream.through(StaticJoin, name="join", table=table, on="group").into(Collect, name="out")
    result = topology.run(schedule=schedule, threads=4, batch_size=100)
    assert result["out"] == [
        (value, value % 101, f"g{value % 101}") for value in range(3000) if value % 101 % 2 == 0
    ]


@pytest.mark.parametrize("threads", [0, 2])
def test_an_error_on_a_thread_ends_the_run(threads: int) -> None:
    topology = Topology("fails")
    stream = topology.source(Numbers, name="numbers", count=2000)
    stream.through(Map, name="fails", set={"value": "value + 0 * (1 // (value - 500))"}).into(
        Collect, name="out"
    )
    with pytest.raises(OperatorError, match=r"(?s)fails.*zero"):
        topology.run(schedule="lp", threads=threads, batch_size=64)


def test_dead_letters_are_counted_and_the_rest_keeps_its_order() -> None:
    topology = Topology("letters")
    stream = topology.source(Numbers, name="numbers", count=2000)
    made = stream.through(
        Map, name="fails", set={"value": "value + 0 * (1 // (value - 500))"}, on_error="dead-letter"
    )
    made.into(Collect, name="out")
    made["dead"].into(Collect, name="dead")
    result = topology.run(schedule="ct", threads=3, batch_size=64)
    assert [value for value, _ in result["out"]] == [value for value in range(2000) if value != 500]
    assert len(result["dead"]) == result.report["dead"] == 1


def test_the_report_says_what_was_measured() -> None:
    result = chain(20_000).run(schedule="ct", threads=2, batch_size=500, pipelining=False)
    (some,) = result.report["actors"]["some"]
    assert (some["in"], some["out"]) == (20_000, 13_333)
    (twice,) = result.report["actors"]["twice"]
    assert twice["selectivity"] == pytest.approx(2.0)
    for rows in result.report["actors"].values():
        assert rows[0]["turns"] > 0
        assert rows[0]["cost_ns"] > 0
    assert "turns" not in chain(10).run().report["actors"]["some"][0]


@pytest.mark.parametrize("deploy", [{"workers": 1}, {"workers": 2, "edge_bytes": 4096, "batch_size": 50}])
def test_barriers_come_behind_what_threads_work_on(deploy: dict[str, Any], tmp_path: Path) -> None:
    topology = Topology("barriers")
    source = topology.source(
        Numbers, name="source", count=recovery.ENDLESS, parts=3, replicas=2, rate=200_000
    )
    through = source.through(Map, name="through", set={"value": "value + 0"}, replicas=2)
    keyed = through.by("group").through(recovery.Totals, name="keyed", replicas=3)
    both = keyed.shuffle().through(recovery.Totals, through.shuffle(), name="both", replicas=2)
    both.to_one().into(recovery.TwoPhase, name="sink", journal=str(tmp_path / "journal"))
    job = recovery.job_of(topology, schedule="ct", threads=2, **deploy)
    _, launcher = recovery.run_with(job, recovery.barriers_then_drain(3))
    for barrier in (1, 2, 3):
        taken = recovery.states(launcher, barrier)
        rows, total = recovery.read_so_far(taken["source"], 3)
        assert recovery.totals(taken["keyed"]) == (rows, total)
        assert recovery.totals(taken["both"]) == recovery.totals(taken["sink"]) == (2 * rows, 2 * total)


NATIVE: list[tuple[Any, dict[str, Any], Any]] = [
    (Map, {"set": {"value": "value * 2"}}, randomly.doubled),
    (
        Filter,
        {"where": "value % 3 == 0"},
        lambda rows: Counter({k: n for k, n in rows.items() if k[0] % 3 == 0}),
    ),
    (Times, {"times": 3}, lambda rows: Counter({k: 3 * n for k, n in rows.items()})),
    (Union, {}, lambda rows: rows),
]


@pytest.mark.parametrize("seed", range(16))
def test_a_random_topology_gives_the_rows_of_its_model(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(randomly, "OPERATORS", [*randomly.OPERATORS, *2 * NATIVE])
    dice = random.Random(1000 + seed)
    topology, models = randomly.random_topology(dice)
    deploy = randomly.random_deployment(dice) | {
        "workers": dice.choice([1, 2, 3]),
        "batch_size": dice.choice([7, 64]),
        "schedule": dice.choice(NAMES),
        "threads": dice.choice([0, 1, 2, 4, 8]),
        "reorder_window": dice.choice([1, 2, 1024]),
    }
    result = topology.run(**deploy)
    for sink, rows in models.items():
        assert Counter(result[sink]) == rows, f"{sink} under {deploy}"


def counted(count: int, **keys: Any) -> Topology:
    """A chain without a state, one with a state in C, which is keyed by `keys`, and one without behind it."""
    topology = Topology("counted")
    table = topology.source(Numbers, name="table", count=13)
    stream = topology.source(Numbers, name="numbers", count=count)
    stream = stream.through(Filter, name="some", where="value % 3 != 0")
    stream = stream.through(Map, name="rest", set={"value": "value % 17"})
    stream = stream.through(StaticJoin, name="known", table=table, on="value")
    stream = stream.through(Map, name="only", select=["value"])
    if keys:
        stream = stream.by("value")
    stream = stream.through(Counts, name="counts", **keys)
    stream.through(Filter, name="odd", where="cnt % 2 == 1").into(Collect, name="out")
    return topology


def counts_of(count: int) -> list[tuple[int, int]]:
    values = [value % 17 for value in range(count) if value % 3 and value % 17 < 13]
    seen: Counter[int] = Counter()
    found = []
    for value in values:
        seen[value] += 1
        if seen[value] % 2:
            found.append((value, seen[value]))
    return found


@pytest.mark.parametrize("schedule", NAMES)
@pytest.mark.parametrize("seed", range(2))
def test_kernels_with_a_state_give_the_sequence_of_one_worker(schedule: str, seed: int) -> None:
    dice = random.Random(f"{schedule} {seed}")
    for _ in range(2):
        deploy: dict[str, Any] = {
            "threads": dice.randint(1, 4),
            "reorder_window": dice.choice([1, 3, 1024]),
            "batch_size": dice.choice([7, 50]),
            "edge_bytes": dice.choice([1, 4096, 4 << 20]),
            "slice": dice.choice(["1us", "2ms"]),
            "reordering": dice.choice(["non-blocking", "lock-based"]),
            "testing": {"delay": "1ms", "seed": seed},
        }
        assert counted(400).run(schedule=schedule, **deploy)["out"] == counts_of(400), deploy
        found = counted(400, replicas=3).run(schedule=schedule, **deploy)["out"]
        for value in range(13):  # the order of one key
            mine = [row for row in found if row[0] == value]
            assert mine == [row for row in counts_of(400) if row[0] == value], deploy


def test_two_workers_work_on_the_kernels_of_partitions_and_chains() -> None:
    result = counted(20_000, replicas=4).run(schedule="ct", threads=2, batch_size=100)
    assert sorted(result["out"]) == sorted(counts_of(20_000))
    wanted = sum(value % 3 != 0 and value % 17 < 13 for value in range(20_000))
    assert result.report["events_in"]["counts"] == wanted


def test_a_sink_behind_an_operator_that_another_worker_feeds_gets_every_row() -> None:
    """The two are neighbours in one worker, and the threads of the pool run the operator but never the sink."""
    topology = Topology("apart")
    source = topology.source(Numbers, name="first", count=500)
    mapped = source.through(Map, name="map", set={"value": "value + 1"})
    topology.source(Numbers, name="second", count=1).into(Collect, name="other")
    mapped.into(Collect, name="out")
    apart = {"transport": "shm", "workers": 2, "placement": "round-robin", "schedule": "lp", "threads": 1}
    assert topology.run(**apart)["out"] == [(value + 1, value % 101) for value in range(500)]
