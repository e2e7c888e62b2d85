"""A native chain behind a source that reads batches gives what the hooks of its members give."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar, Literal

import numba
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorstream import Batch, Event, EventTime, Source
from actorstream.operators.functions import numba_signature
from actorstream.topology.builder import Topology
from tests.unit.runtime.fast_paths.chained import Ran, by_hooks, end_of


@numba.cfunc(numba_signature())
def odd(columns: Any, rows: Any, out: Any) -> Any:
    number, kept = numba.carray(columns[0], rows, np.int64), numba.carray(out, rows, np.uint8)
    for row in range(rows):
        kept[row] = 2 * (number[row] & 1)
    return 0


FORMS = ("csv", "jsonl", "parquet", "batches", "events", "rows", "generator")
LATER = ("map", {"set": {"time": "time * 2 + 60000"}})
STEPS = (
    ("filter", {"where": "text != 'text 3'"}),
    ("filter", {"where": "upper(text) + str(number) in ('TEXT 11', 'TEXT 2', 'TEXT 25') or number < 15"}),
    ("map", {"set": {"text": "if(number > 10, text, lower('Ä ' + kind))"}}),
    ("map", {"set": {"text": "coalesce(other, str(number), text)"}}),
    ("map", {"set": {"text": "if(share > 0.5, upper(other), kind) + '!' + text"}}),
    (
        "filter",
        {"where": "coalesce(other, 'none') not in ('a', 'b', 'é', 'd', 'e', 'f', 'g', 'hh', 'i')"},
    ),
    ("filter", {"where": "int(if(other == 'hh', '7', other)) == 7"}),  # fails unless other is null or 'hh'
    (
        "map",
        {
            "native": "tests.unit.operators.natives:numba_value",
            "columns": ["share", "number"],
            "returns": {"share": "float"},
        },
    ),
    (
        "filter",
        {"native": "tests.unit.runtime.fast_paths.test_read_chain:odd", "columns": ["number", "share"]},
    ),
    ("filter", {"where": "number % 3 == 1"}),
    LATER,
    ("filter", {"where": "100 // (number - 5) >= 0"}),  # fails for one number of twenty
    ("filter", {"where": "share is not null and share < 0.8"}),
    ("map", {"set": {"number": "number * 2", "half": "coalesce(share, 1.0) / 2.0"}}),
    ("map", {"select": ["text", "time", "number", "share", "other", "kind"]}),
)
WINDOWS = (
    {"type": "tumbling", "size": "2s"},
    {"type": "sliding", "size": "3s", "slide": "1s"},
)
AGGREGATES = {
    "rows": "count()",
    "least": "min(number)",
    "share": "sum(coalesce(share, 0.5))",
    "mean": "mean(share)",
}


class Reading(Event):
    time: EventTime
    number: int
    share: float | None
    text: str
    other: str | None
    kind: Literal["buy", "sell", "keep"]


def columns_of(rows: int, seed: int, disorder: int) -> dict[str, list[Any]]:
    random = np.random.default_rng(seed)
    times = np.sort(random.integers(0, 9000, rows)) - random.integers(0, disorder + 1, rows)
    share = random.random(rows)
    return {
        "time": np.maximum(times, 0).tolist(),
        "number": random.integers(0, 20, rows).tolist(),
        "share": [None if each < 0.2 else round(each, 3) for each in share.tolist()],
        "text": [f"text {each}" for each in random.integers(0, 5, rows).tolist()],
        "other": [(None, "hh", "é", "no" * 9)[each] for each in random.integers(0, 4, rows).tolist()],
        "kind": [("buy", "sell", "keep")[each] for each in random.integers(0, 3, rows).tolist()],
    }


class Batches(Source):
    """Reads what it was given, in batches of any size."""

    outputs: ClassVar[dict[str, Any]] = {"default": Reading}

    def __init__(self, columns: dict[str, list[Any]], **keys: Any) -> None:
        super().__init__(**keys)
        self.columns, self.at = columns, 0

    def read(self, max_rows: int) -> Batch | None:
        rows = min(max(1, max_rows // 2), len(self.columns["time"]) - self.at)
        if rows <= 0:
            return None
        self.at += rows
        found = {name: each[self.at - rows : self.at] for name, each in self.columns.items()}
        return Batch.of_columns(Reading, found)


class Events(Source):
    def __init__(self, columns: dict[str, list[Any]], **keys: Any) -> None:
        super().__init__(**keys)
        self.columns = columns

    def events(self) -> Iterator[Reading]:
        yield from map(Reading, *self.columns.values())


def source(topology: Topology, form: str, folder: Path, columns: dict[str, list[Any]], **keys: Any) -> Any:
    """A source of the columns. Of a text file every 50th row has a number that does not parse."""
    path, bad = folder / f"rows.{form}", keys.pop("bad")
    numbers = ["none" if bad and row % 50 == 7 else number for row, number in enumerate(columns["number"])]
    lines = [dict(zip(columns, line)) for line in zip(*(columns | {"number": numbers}).values())]
    if form == "csv":
        texts = [",".join("" if each is None else str(each) for each in line.values()) for line in lines]
        path.write_text("\n".join([",".join(columns), *texts, ""]))
    elif form == "jsonl":
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    elif form == "parquet":
        pq.write_table(pa.table({name: pa.array(each) for name, each in columns.items()}), path)
    elif form == "generator":
        fields = {
            "time": "int",
            "number": {"type": "int", "distribution": "uniform", "low": 0, "high": 20},
            "share": {"type": "float?", "distribution": "uniform", "low": 0.0, "high": 1.0, "nulls": 0.2},
            "text": {"type": "str", "distribution": "words", "low": 3, "high": 5, "of": 5},
            "other": {"type": "str?", "distribution": "words", "low": 2, "high": 2, "of": 9, "nulls": 0.3},
            "kind": {"type": "str", "distribution": "choice", "values": ["buy", "sell"]},
        }
        keys |= {"event_time": "time", "time_unit": "ms", "event_rate": 500, "count": len(numbers)}
        return topology.source("generator-source", name="in", schema=fields, **keys)
    if form in ("batches", "events"):
        kind = Batches if form == "batches" else Events
        return topology.source(kind, name="in", columns=columns, time_unit="ms", **keys)
    if form == "rows":
        return topology.source([*map(Reading, *columns.values())], name="in", time_unit="ms", **keys)
    keys |= {"event": Reading, "time_unit": "ms"}
    return topology.source(f"{form}-source", name="in", path=str(path), **keys)


def table(folder: Path, most: int) -> str:
    """A table with up to `most` rows of a number: one of a number that is even, none of 7."""
    path = folder / f"table-{most}.jsonl"
    rows = [
        (number, row) for number in range(20) if number != 7 for row in range(1 + (most - 1) * (number % 2))
    ]
    lines = [{"number": number, "weight": row / 4, "label": f"label {row % 3}"} for number, row in rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return str(path)


@st.composite
def topologies(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "form": draw(st.sampled_from(FORMS)),
        "steps": draw(st.lists(st.sampled_from(STEPS), max_size=3, unique_by=str)),
        "join": draw(st.sampled_from([None, ("inner", 1), ("left", 3), ("inner", 100)])),
        "end": draw(st.sampled_from(["windows", "windows", "whole", "reduce"])),
        "window": draw(st.sampled_from(WINDOWS)),
        "key": draw(st.sampled_from([[], ["number"], ["text"], ["text", "number"]])),
        "aggregates": draw(st.lists(st.sampled_from(list(AGGREGATES)), min_size=1, unique=True)),
        "disorder": draw(st.sampled_from([0, 0, 300])),
        "slack": draw(st.sampled_from([200, 300])),
        "bad": draw(st.booleans()),
    }


def topology_of(drawn: dict[str, Any], folder: Path, rows: int, seed: int) -> tuple[Topology, list[Any]]:
    topology = Topology("chain")
    columns = columns_of(rows, seed, drawn["disorder"])
    keys: dict[str, Any] = {"on_error": "dead-letter", "bad": drawn["bad"]}
    if drawn["disorder"] and drawn["form"] != "generator":
        keys["max_out_of_orderness"] = timedelta(milliseconds=drawn["slack"])
    stream = source(topology, drawn["form"], folder, columns, **keys)
    out = [stream["dead"].collect()]
    for number, (kind, given_keys) in enumerate(drawn["steps"]):
        stream = stream.through(kind, name=f"step{number}", on_error="dead-letter", **given_keys)
        out.append(stream["dead"].collect())
    chosen = {name: AGGREGATES[name] for name in drawn["aggregates"]}
    if drawn["join"] is not None:
        how, most = drawn["join"]
        stream = stream.through("static-join", name="joined", table=table(folder, most), on="number", how=how)
        stream = stream.through("union", name="all")
        chosen |= {"weight": "sum(coalesce(weight, 0.25))", "labels": "max(weight)"}
    made = end_of(stream, drawn, chosen)
    return topology, [made.collect(), made["late"].collect(), *out]


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(topologies(), st.integers(1, 500), st.integers(0, 99), st.sampled_from([1, 7, 100, "auto"]))
def test_a_chain_behind_a_read_batch_gives_what_the_hooks_of_its_members_give(
    tmp_path: Path, drawn: dict[str, Any], rows: int, seed: int, batch_size: Any
) -> None:
    chain = Ran(*topology_of(drawn, tmp_path, rows, seed), batch_size=batch_size)
    hooks = by_hooks(*topology_of(drawn, tmp_path, rows, seed), batch_size=batch_size)
    assert (chain.rows, chain.beside) == (hooks.rows, hooks.beside)
    assert chain.counts == hooks.counts
    assert hooks.taken == 0


PLAIN: dict[str, Any] = {
    "join": None,
    "steps": [STEPS[0], STEPS[-3], STEPS[-2]],
    "end": "windows",
    "window": WINDOWS[0],
    "key": ["text"],
    "aggregates": ["rows", "share"],
    "disorder": 300,
    "slack": 300,
    "bad": False,
}


@pytest.mark.parametrize("form", FORMS)
def test_all_batches_that_a_source_reads_are_taken_in_one_call_each(form: str, tmp_path: Path) -> None:
    ran = Ran(*topology_of(PLAIN | {"form": form}, tmp_path, 5000, 1), batch_size=100)
    assert ran.taken > 4000, "what came before the first windows are over goes through the hooks"


def test_rows_whose_event_time_a_map_changes_are_in_the_windows_of_their_own_time(tmp_path: Path) -> None:
    drawn = PLAIN | {"form": "batches", "steps": [LATER]}
    chain = Ran(*topology_of(drawn, tmp_path, 2000, 1), batch_size=50)
    assert chain.rows == by_hooks(*topology_of(drawn, tmp_path, 2000, 1), batch_size=50).rows
    assert chain.taken == 0


def test_nothing_of_a_sum_of_all_rows_goes_through_the_hooks(tmp_path: Path) -> None:
    ran = Ran(*topology_of(PLAIN | {"form": "csv", "end": "reduce"}, tmp_path, 5000, 1), batch_size=100)
    assert ran.taken == 5000


@pytest.mark.parametrize("step", [0, 1, 3, 4, 5, 7, 8])
def test_text_and_functions_of_users_are_taken_in_one_call(step: int, tmp_path: Path) -> None:
    steps = [STEPS[-4], STEPS[step], STEPS[0]]
    ran = Ran(*topology_of(PLAIN | {"form": "parquet", "steps": steps}, tmp_path, 1000, 1), batch_size=1)
    assert ran.taken > (500 if step in (4,) else 830), (
        "upper() of other letters than those of ASCII goes through the hooks"
    )


def test_only_batches_with_a_row_behind_its_watermark_go_through_the_hooks(tmp_path: Path) -> None:
    drawn = PLAIN | {"form": "csv", "disorder": 260, "slack": 250}
    ran = Ran(*topology_of(drawn, tmp_path, 5000, 1), batch_size=50)
    assert 1000 < ran.taken < 5000


def test_a_batch_that_a_table_makes_too_large_goes_through_the_hooks(tmp_path: Path) -> None:
    drawn = PLAIN | {"form": "csv", "steps": [], "join": ("inner", 100), "disorder": 0}
    ran = Ran(*topology_of(drawn, tmp_path, 1500, 1), batch_size=1)
    assert 300 < ran.taken < 1200, "a row with an odd number, but for 7, has 100 rows of the table"
    ran = Ran(*topology_of(drawn, tmp_path, 1500, 1), batch_size=500)
    assert ran.taken > 1200, "that is half of the rows"
