"""A native chain behind a source gives what the hooks of its members give: rows, dead letters and counters."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorstream.plan.compile import compile_job
from actorstream.runtime.build import build_units
from actorstream.runtime.replica import Replica
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.unit import Status
from actorstream.runtime.worker import Worker
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.unit.runtime.fast_paths.chained import Ran, by_hooks, end_of

ADS = "apps.ysb.operators:Campaigns"
STEPS = (
    ("filter", {"where": "event_type == 'view'"}),
    ("filter", {"where": "user_id > 1000"}),  # no row of any batch
    ("filter", {"where": "100 // (ad_id - 5) >= 0"}),  # fails for one ad of a thousand
    ("map", {"set": {"user_id": "int32(user_id % 7)", "half": "page_id / 2.0"}}),
    ("map", {"set": {"page_id": "int32(1000 // page_id)"}}),  # fails for one page of a hundred
    ("map", {"select": ["event_time", "ad_id", "event_type", "user_id", "page_id"]}),
)
TEXT_STEPS = (
    ("filter", {"where": "event_type == 'view' or user_id < 'a'"}),
    ("filter", {"where": "user_id < page_id"}),
    ("map", {"select": ["page_id", "event_time", "user_id", "ad_id", "event_type"]}),
)
WINDOWS = (
    {"type": "tumbling", "size": "2s"},
    {"type": "sliding", "size": "3s", "slide": "1s"},
    {"type": "sliding", "size": "1s", "slide": "3s"},
)
AGGREGATES = {
    "rows": "count()",
    "total": "sum(user_id * 3)",
    "least": "min(page_id)",
    "mean": "mean(user_id / 4.0)",
    "first": "first(page_id)",
    "users": "count_distinct(user_id % 50)",
}
ENDS = ("windows", "windows", "whole", "reduce")
stages = st.lists(st.sampled_from(STEPS), max_size=3, unique_by=str)


@st.composite
def topologies(draw: st.DrawFn) -> dict[str, Any]:
    ids = draw(st.sampled_from(["int", "int", "bytes136", "uuid"]))
    if ids == "uuid":  # no numbers but the event time
        texts = draw(st.lists(st.sampled_from(TEXT_STEPS), max_size=2, unique_by=str))
    chosen = st.lists(st.sampled_from(list(AGGREGATES)), min_size=1, max_size=3, unique=True)
    return {
        "steps": draw(stages) if ids != "uuid" else texts,
        "join": draw(st.sampled_from([None, "before", "behind"])),
        "end": draw(st.sampled_from(ENDS)),
        "window": draw(st.sampled_from(WINDOWS)),
        "key": draw(st.sampled_from([[], ["user_id"], ["ad_id"], ["event_type", "user_id"]])),
        "aggregates": draw(chosen) if ids != "uuid" else ["rows"],
        "shards": draw(st.integers(1, 3)),
        "ids": ids,
        "on_error": draw(st.sampled_from(["skip", "dead-letter"])),
    }


def topology_of(drawn: dict[str, Any], count: int) -> tuple[Topology, list[Any]]:
    """The topology, and the lists that its rows and dead letters come to."""
    topology = Topology("chain")
    stream = topology.source(
        "generator-source",
        name="events",
        preset="ysb",
        count=count,
        event_rate=1000,
        shards=drawn["shards"],
        ids=drawn["ids"],
    )
    join = drawn["join"] if drawn["ids"] != "bytes136" else None
    on_error, out = drawn["on_error"], []
    if join == "before":
        stream = stream.through(ADS, name="campaigns")
    for number, (kind, keys) in enumerate(drawn["steps"]):
        stream = stream.through(kind, name=f"step{number}", on_error=on_error, **keys)
        if on_error == "dead-letter":
            out.append(stream["dead"].collect())
    if join == "behind":
        stream = stream.through(ADS, name="campaigns")
    chosen = {name: AGGREGATES[name] for name in drawn["aggregates"]}
    return topology, [end_of(stream, drawn, chosen).collect(), *out]


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(topologies(), st.integers(0, 9000), st.sampled_from([1, 7, 100, 512, 4096]))
def test_a_chain_gives_what_the_hooks_of_its_members_give(
    drawn: dict[str, Any], count: int, batch_size: int
) -> None:
    rows = min(count, 300 * batch_size)
    chain = Ran(*topology_of(drawn, rows), batch_size=batch_size)
    hooks = by_hooks(*topology_of(drawn, rows), batch_size=batch_size)
    assert (chain.rows, chain.beside) == (hooks.rows, hooks.beside)
    assert chain.counts == hooks.counts
    assert hooks.taken == 0


CASES = (
    {"views": "event_type == 'view'", "clicks": "event_type == 'click'"},
    {"views": "100 // (ad_id - 5) >= 5", "clicks": "user_id < 50"},  # fails for one ad of a thousand
    {"views": "user_id < 0", "clicks": "event_type != 'view'"},
)


def branched(
    cases: dict[str, str], window: dict[str, Any], reads_rest: bool, count: int
) -> tuple[Topology, list[Any]]:
    """A split with an aggregation behind each of its outputs, and one more of all events."""
    topology = Topology("branched")
    events = topology.source("generator-source", name="events", preset="ysb", count=count, event_rate=1000)
    split = events.through("split", name="kinds", cases=cases, on_error="dead-letter")
    out = [split["dead"].collect()]
    for name in ("views", "clicks", *(["default"] if reads_rest else [])):
        stream, key = split[name], "user_id"
        if name == "clicks":
            stream, key = stream.through(ADS, name="campaigns"), "campaign_id"
        counts = {"rows": "count()", "last": "max(event_time)"}
        made = stream.through("aggregate", name=f"windows-{name}", key=key, window=window, aggregates=counts)
        out.append(made.collect())
    made = events.through(
        "aggregate", name="windows-all", key="user_id", window=WINDOWS[0], aggregates={"n": "count()"}
    )
    return topology, [*out, made.collect()]


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(CASES),
    st.sampled_from(WINDOWS),
    st.booleans(),
    st.integers(0, 9000),
    st.sampled_from([7, 100, 4096]),
)
def test_a_chain_with_branches_gives_what_the_hooks_of_its_members_give(
    cases: dict[str, str], window: dict[str, Any], reads_rest: bool, count: int, batch_size: int
) -> None:
    given_rows = cases, window, reads_rest, min(count, 300 * batch_size)
    chain = Ran(*branched(*given_rows), batch_size=batch_size)
    hooks = by_hooks(*branched(*given_rows), batch_size=batch_size)
    assert (chain.rows, chain.counts) == (hooks.rows, hooks.counts)
    assert hooks.taken == 0


def test_all_rows_of_branches_are_taken_without_python() -> None:
    assert Ran(*branched(CASES[0], WINDOWS[0], True, 20_000), batch_size=100).taken == 20_000


YSB: dict[str, Any] = {
    "steps": [STEPS[0]],
    "join": "behind",
    "end": "windows",
    "window": WINDOWS[0],
    "key": ["campaign_id"],
    "aggregates": ["rows"],
    "shards": 1,
    "ids": "int",
    "on_error": "fail",
}


def test_all_rows_of_the_yahoo_benchmark_are_taken_without_python() -> None:
    assert Ran(*topology_of(YSB, 20_000), batch_size=100).taken == 20_000
    assert Ran(*topology_of(YSB | {"shards": 3}, 20_000), batch_size=100).taken == 20_000
    assert Ran(*topology_of(YSB | {"ids": "uuid"}, 20_000), batch_size=100).taken == 20_000


@pytest.mark.parametrize("end", ["whole", "reduce"])
def test_all_rows_of_an_aggregation_without_windows_are_taken_without_python(end: str) -> None:
    assert Ran(*topology_of(YSB | {"end": end}, 20_000), batch_size=100).taken == 20_000


def test_only_batches_with_a_failed_row_go_through_the_hooks() -> None:
    drawn = YSB | {"steps": [STEPS[2]], "on_error": "dead-letter"}
    ran = Ran(*topology_of(drawn, 20_000), batch_size=100)
    failed = ran.beside[1]
    assert 0 < failed < 60
    assert 20_000 - 100 * failed <= ran.taken < 20_000


# -- turn by turn


def unit_of(drawn: dict[str, Any], count: int, **deploy: Any) -> SourceUnit:
    """The source's unit after its first batch."""
    unit = started(topology_of(drawn, count)[0].spec(), **deploy)
    unit.step()  # after its first batch the operator at the end hears that the windows since 1970 are over
    assert position(unit) == 10
    return unit


def started(spec: Any, **deploy: Any) -> SourceUnit:
    """The source's unit, with operators started, of a worker that no loop runs."""
    job = compile_job(spec, load_deploy(None, (), transport="local", workers=1, **deploy))
    worker = Worker(job, 0, None, None)
    worker.turn_ns = 1 << 60  # no turn ends because the machine is busy
    worker.units = build_units(worker)
    for each in worker.replicas():
        each.actor.on_start()
    unit = worker.units[0]
    assert isinstance(unit, SourceUnit)
    return unit


def local(unit: SourceUnit) -> Replica:
    """The first step of the aggregation."""
    return next(each for each in unit.members if each.name == "windows.local")


def position(unit: SourceUnit) -> int:
    return sum(unit.source.position().values())


def test_a_turn_ends_at_its_deadline_but_takes_a_batch() -> None:
    unit = unit_of(YSB, 100_000, batch_size=10)
    unit.worker.turn_ns = 0
    assert unit.step() is Status.READY
    assert position(unit) == 20


def test_a_turn_ends_when_a_window_is_due_and_its_rows_go_out_at_once() -> None:
    unit = unit_of(YSB, 100_000, batch_size=10)
    unit.step()
    assert 2000 <= position(unit) <= 2010
    assert local(unit).promises.frontier == 1_700_000_002_000 + position(unit) - 2000
    assert 90 < local(unit).events_out <= 100, "one row for each campaign"


def test_a_schedule_says_how_many_rows_a_turn_takes() -> None:
    unit = unit_of(YSB, 100_000, batch_size=10)
    unit.most_rows = 200
    unit.step()
    assert position(unit) == 210
    assert [each.jumbo_in for each in unit.members[:2]] == [0, 21]


def test_a_barrier_comes_between_two_calls_and_finds_all_rows_before_it() -> None:
    unit = unit_of(YSB, 100_000, batch_size=10)
    unit.most_rows = 200
    kept: list[tuple[int, int, int]] = []
    unit.pass_barrier = lambda barrier: kept.append(  # type: ignore[method-assign,assignment]
        (barrier, position(unit), local(unit).events_in)
    )
    unit.step()
    unit.start_barrier(7)
    unit.step()
    before = local(unit).events_in
    assert kept[0][:2] == (7, 210)
    assert 0 < kept[0][2] < before


def test_a_larger_batch_than_before_gets_room() -> None:
    unit = unit_of(YSB, 100_000, batch_size=10)
    unit.sizing.size.rows = unit.most_rows = 1500
    unit.step()
    assert position(unit) == 1510
    assert unit.members[1].jumbo_in == 2


def test_a_chain_notes_the_event_time_of_rows_without_windows() -> None:
    def latest(chained: bool) -> int:
        spec = topology_of(YSB | {"end": "whole"}, 100_000)[0].spec()
        unit = started(spec, batch_size=10)
        unit.chain = unit.chain if chained else None
        unit.most_rows = 210
        unit.step()
        assert position(unit) == 210
        actor = next(each.actor for each in unit.members if each.name == "total")
        return int(actor.snapshot()["groups"]["places"][3])

    assert latest(True) == latest(False)
    assert 1_700_000_000_100 < latest(True) < 1_700_000_000_210
