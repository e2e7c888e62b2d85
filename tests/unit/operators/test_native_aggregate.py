"""Aggregates in C say what the built-in ones do, in every window, with a merge and without; what is wrong with one is said
before the run."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Event, EventTime, Float32, Int16, Topology
from actorstream.errors import RunError
from actorstream.operators.native_aggregate import NativeAggregate
from tests.unit.operators import natives
from tests.unit.operators.aggregate_model import Row
from tests.unit.operators.test_aggregate import aggregated, all_windows, rows
from tests.unit.operators.trades import problems

MEAN = NativeAggregate(
    natives.cffi_mean_add,
    columns=["price", "number"],
    returns="float",
    merge=natives.cffi_mean_merge,
    begin=natives.cffi_mean_begin,
    result=natives.cffi_mean_result,
    state=20,
)
"""Of price * number, in a state of 20 bytes that begins as 1, 0 and 7."""


def without_merge(given: NativeAggregate) -> NativeAggregate:
    keys = {key: getattr(given, key) for key in ("native", "columns", "returns", "begin", "result", "state")}
    return NativeAggregate(**keys)


BUILT_IN = ["sum(number)", "max(price)", "mean(price * number)"]
TOTAL = {"native": natives.numba_total, "columns": ["number"], "returns": "int"}
MOST = {"native": natives.cffi_most, "columns": ["price"], "returns": "float", "begin": natives.cffi_lowest}
MERGED = [{**TOTAL, "merge": natives.numba_total}, {**MOST, "merge": natives.cffi_most}, MEAN]
WHOLE = [TOTAL, MOST, without_merge(MEAN)]

KINDS: list[dict[str, Any]] = [
    {"window": {"type": "session", "gap": 2}, "allowed_lateness": "3ms"},
    {"window": {"type": "count", "size": 7}},
    {"window": {"type": "count", "size": 7}, "ttl": "3ms"},
    {"window": {"type": "tumbling", "size": 10}, "every": 7},
    {"window": {"type": "sliding", "size": 12, "slide": 4}, "allowed_lateness": "9ms", "emit": "updates"},
    {"ttl": "3ms"},
    {},
]
PARTS = {
    name: [
        Row(
            (at * 7 + shift) % 40 + at,
            "abc"[at % 3],
            at % 2,
            None if at % 5 == 0 else at / 4,
            at * 3 % 7,
            "x",
        )
        for at in range(120)
    ]
    for name, shift in (("0", 0), ("1", 5), ("2", 11))
}


def agree(found: list[tuple[Any, ...]]) -> None:
    """The aggregates in C, which stand last, and those before them."""
    count = len(BUILT_IN)
    for row in found:
        for built_in, own in zip(row[-2 * count : -count], row[-count:]):
            assert own == (built_in if built_in is None else pytest.approx(built_in, rel=1e-12))


@settings(max_examples=80, deadline=None)
@given(
    rows=rows,
    windows=all_windows,
    slack=st.sampled_from([0, 3, 100]),
    key=st.sampled_from([[], ["key"], ["other", "key"]]),
    merges=st.booleans(),
    batch_size=st.sampled_from([1, 3, 1000]),
    two_steps=st.booleans(),
)
def test_random_rows_agree_with_the_built_in_aggregates(
    rows, windows, slack, key, merges, batch_size, two_steps
):
    deploy = {"batch_size": batch_size, "pre_aggregation": two_steps}
    texts = [*BUILT_IN, *(MERGED if merges else WHOLE)]
    found, _, _ = aggregated(
        {"0": [Row(*each) for each in rows]}, key, texts, slack, deploy=deploy, window=windows.table()
    )
    agree(found)


@pytest.mark.parametrize("natively", [MERGED, WHOLE], ids=["merge", "no merge"])
@pytest.mark.parametrize("kind", KINDS)
def test_they_agree_in_every_kind_of_window(kind, natively):
    found, _, _ = aggregated({"0": PARTS["0"]}, ["other"], [*BUILT_IN, *natively], 3, **kind)
    assert found
    agree(found)


@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("shm", 2)])
def test_replicas_agree_and_merge_in_two_steps_only_what_says_how(transport, workers):
    window = {"type": "sliding", "size": 20, "slide": 5, "allowed_lateness": 4}
    deploy = {"transport": transport, "workers": workers, "batch_size": 17}
    options: Any = {"deploy": deploy, "window": window, "sources": 3, "replicas": 2}
    merged, _, report = aggregated(PARTS, ["key"], [*BUILT_IN, *MERGED], 10, **options)
    whole, _, other = aggregated(PARTS, ["key"], [*BUILT_IN, *WHOLE], 10, **options)
    agree(merged)
    agree(whole)
    assert len(merged) == len(whole) > 20
    assert ("aggregate.local" in report["events_in"], "aggregate.local" in other["events_in"]) == (
        True,
        False,
    )


class Typed(Event):
    at: EventTime
    small: Int16
    half: Float32
    yes: bool
    kind: Literal["a", "b", "c"]


def test_columns_arrive_in_their_own_types_also_of_a_selection():
    given = [Typed(at, at % 100 - 50, at / 8, at % 3 == 0, "abc"[at % 3]) for at in range(500)]
    columns = ["small", "half", "yes", "kind", "at"]
    for merge in ({"merge": natives.cffi_typed_merge}, {}):
        typed = {"native": natives.cffi_typed, "columns": columns, "returns": "float", **merge}
        topology = Topology()
        kept = topology.source(given, name="rows").through("filter", where="small != 7")
        window = {"type": "tumbling", "size": 100}
        found = kept.through("aggregate", aggregates={"found": typed}, window=window).collect()
        topology.run(batch_size=30)
        assert [each.found for each in found] == [
            sum(
                row.small + row.half + 1000 * row.yes + 10_000 * "abc".index(row.kind) + row.at
                for row in given[first : first + 100]
                if row.small != 7
            )
            for first in range(0, 500, 100)
        ]


def test_a_state_may_be_as_large_as_a_kilobyte():
    keys = {"columns": ["number"], "returns": "int", "state": 1024}
    sketch = {
        "native": natives.cffi_bins,
        "merge": natives.cffi_bins_merge,
        "result": natives.cffi_bins_taken,
    }
    texts = ["count_distinct(number)", {**keys, **sketch}]
    window = {"type": "sliding", "size": 20, "slide": 5}
    found, _, _ = aggregated(PARTS, ["key"], texts, 10, window=window, sources=3, replicas=2)
    assert len(found) > 20
    assert all(row[-1] == row[-2] for row in found)


@pytest.mark.parametrize(
    "broken",
    [
        {"native": natives.cffi_refuse, "merge": natives.cffi_most},
        {"native": natives.cffi_refuse},
        {"native": natives.cffi_most, "begin": natives.cffi_refuse, "merge": natives.cffi_most},
        {"native": natives.cffi_most, "merge": natives.cffi_refuse},
        {"native": natives.cffi_most, "result": natives.cffi_refuse},
    ],
)
def test_an_answer_other_than_0_ends_the_run(broken):
    with pytest.raises(RunError, match="answered 7"):
        aggregated(
            {"0": PARTS["0"]},
            ["key"],
            [{**broken, "columns": ["number"], "returns": "float"}],
            50,
            window={"type": "sliding", "size": 40, "slide": 5},
        )


GOOD = {"native": natives.cffi_total, "columns": ["quantity"], "returns": "int"}


def what(**keys: Any) -> dict[str, Any]:
    return {key: value for key, value in {**GOOD, **keys}.items() if value is not None}


@pytest.mark.parametrize(
    ("given", "where", "message"),
    [
        (what(native="nowhere:nothing"), ".native", "module 'nowhere' is not found"),
        (what(native="tests.unit.operators.natives:totl"), ".native", "has no 'totl'"),
        (what(native=natives.not_compiled_to_c), ".native", "CPUDispatcher"),
        (what(native=None), ".native", "is missing"),
        (what(merge=natives.another_signature), ".merge", "is a Numba cfunc"),
        (what(begin=len), ".begin", "builtin_function_or_method len"),
        (what(result="tests.unit.operators.natives:wrong_ctypes"), ".result", "takes 1 arguments"),
        (what(columns=None), ".columns", "is missing"),
        (what(columns=["quantty"]), ".columns", "there is no field 'quantty'"),
        (what(columns=["note"]), ".columns", "has no fixed width"),
        (what(columns=[3]), ".columns", "is [3]"),
        (what(returns=None), ".returns", "is missing"),
        (what(returns="strin"), ".returns", "strin"),
        (what(returns="str"), ".returns", "has no fixed width"),
        (what(returns={"n": "int"}), ".returns", "is {'n': 'int'}"),
        (what(state=16), ".state", "is 16 bytes, and the result, int, has 8"),
        (what(state=2000, result=natives.cffi_total), ".state", "is 2000"),
        (what(state="8"), ".state", "is '8'"),
        (what(merges=natives.cffi_total), ".merges", "is no key of a native aggregate"),
        (3, "", "is 3"),
    ],
)
def test_what_is_wrong_is_said_before_the_run(given, where, message):
    ((found, said),) = problems("aggregate", aggregates={"a": given}, key="kind")
    assert found == f"aggregates.a{where}" and message in said


def test_a_name_leads_to_what_a_module_declares():
    module = "tests.unit.operators.natives"
    for each in (
        {"native": f"{module}:declared_total"},
        {
            "native": f"{module}:cffi_total",
            "merge": f"{module}:cffi_total",
            "columns": ["number"],
            "returns": "int",
        },
        {"native": f"{module}:declared_total", "columns": ["number"]},
        {"native": f"{module}:described_total"},
        natives.declared_total,
    ):
        found, _, _ = aggregated({"0": PARTS["0"]}, [], ["sum(number)", each], 0)
        assert found == [(sum(row.number for row in PARTS["0"]),) * 2]
