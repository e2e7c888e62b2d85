"""Event-based windowing: the program is its reference, on the shipped data and on random streams; its generator."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.dgs.sequential import InputStream
from actorstream.testing import check_program
from apps.value_barrier import generate, reference
from apps.value_barrier.events import Barrier, Value
from apps.value_barrier.program import ValueBarrier
from tests.apps.dependency import (
    APPS,
    Out,
    Row,
    as_csv,
    deployments,
    launch,
    outputs,
    quick,
    read_all,
    rows_of,
    streams,
    write_rows,
)

DATA = APPS / "value_barrier" / "data"


def by_program(values: list[Row], barriers: list[Row], batches: bool) -> list[Out]:
    inputs = streams("barriers", Barrier, barriers) + streams("values", Value, values, "stream")
    return outputs(ValueBarrier(), inputs, batches).get("default", [])


@pytest.mark.parametrize("batches", [False, True])
def test_the_program_gives_the_sums_of_the_reference(batches: bool) -> None:
    values, barriers = rows_of(DATA / "values.csv.gz"), rows_of(DATA / "barriers.csv")
    found = by_program(values, barriers, batches)
    assert found == list(reference.sums(values, barriers))
    assert sum(count for *_, count in found) == 8000
    assert any(row["ts"] in {each["ts"] for each in barriers} for row in values)


times = st.integers(0, 6)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), times, st.integers(-5, 5)), max_size=12),
    st.lists(times, max_size=4),
    st.booleans(),
)
def test_random_streams_with_ties_give_the_sums_of_the_reference(
    values: list[tuple[str, int, int]], barriers: list[int], batches: bool
) -> None:
    rows = [
        {"stream": name, "ts": str(ts), "value": str(value)}
        for name, ts, value in sorted(values, key=lambda value: value[1])
    ]
    asked = [{"ts": str(ts)} for ts in sorted(barriers)]
    assert by_program(rows, asked, batches) == list(reference.sums(rows, asked))


def test_a_value_at_the_time_of_a_barrier_belongs_to_the_next_window() -> None:
    values = [
        {"stream": "a", "ts": str(ts), "value": str(value)} for ts, value in ((1, 1), (2, 10), (3, 100))
    ]
    assert by_program(values, [{"ts": "2"}, {"ts": "2"}, {"ts": "4"}], False) == [
        (2, 1, 1),
        (2, 0, 0),
        (4, 110, 2),
    ]


def test_the_data_of_the_app_is_what_the_command_writes(tmp_path: Path) -> None:
    generate.write(tmp_path, 4, 20, 100, 1)
    for name in ("values.csv.gz", "barriers.csv"):
        assert rows_of(tmp_path / name) == rows_of(DATA / name)


def test_generated_values_do_not_depend_on_how_many_are_read_at_once() -> None:
    few, many = (read_all(generate.Values(count=200_001, shards=3), rows) for rows in (777, 1 << 20))
    assert few == many
    assert [len(events) for events in few.values()] == [66_667, 66_667, 66_667]
    assert len({event.ts for events in few.values() for event in events}) == 200_001


def test_generated_windows_have_as_many_values_of_each_stream_as_asked_for() -> None:
    values = read_all(generate.Values(count=95, shards=3), 7)
    barriers = read_all(generate.Barriers(count=3, shards=3, per_barrier=10), 2)
    inputs = [InputStream("barriers", barriers[0])]
    inputs += [InputStream("values", events) for events in values.values()]
    found = outputs(ValueBarrier(), inputs, True)["default"]
    assert [(ts, count) for ts, _, count in found] == [(30, 30), (60, 30), (90, 30)]


def test_a_source_goes_on_where_it_was() -> None:
    whole = read_all(generate.Values(count=100, shards=2), 9)
    source = generate.Values(count=100, shards=2)
    source.open(source.partitions())
    source.seek({"s0": 20, "s1": 3})
    rest: dict[int, list[Value]] = {0: [], 1: []}
    while (batch := source.read(9)) is not None:
        rest[source.origin] += batch.events()
    assert rest == {0: whole[0][20:], 1: whole[1][3:]}
    assert source.position() == {"s0": 50, "s1": 50}
    assert source.lower_bound(0) == 2**63 - 1


def test_the_program_is_consistent() -> None:
    check_program(ValueBarrier(), {"values": Value, "barriers": Barrier}, examples=40)


def check_launch(folder: Path, *options: str) -> None:
    values, barriers = rows_of(DATA / "values.csv.gz"), rows_of(DATA / "barriers.csv")
    found = launch(APPS / "value_barrier" / "topology.toml", folder, ["sums"], *options)["sums"]
    assert found == as_csv(reference.COLUMNS, reference.sums(values, barriers), ordered=True)


@pytest.mark.parametrize("options", quick("sum"), ids=" ".join)
def test_a_launch_gives_the_sums_in_the_order_of_the_barriers(
    options: tuple[str, ...], tmp_path: Path
) -> None:
    check_launch(tmp_path, *options)


@pytest.mark.slow
@pytest.mark.parametrize("options", deployments("sum"), ids=" ".join)
def test_a_launch_gives_the_same_under_every_deployment(options: tuple[str, ...], tmp_path: Path) -> None:
    check_launch(tmp_path, *options)


def test_streams_may_lie_in_a_file_one_after_the_other(tmp_path: Path) -> None:
    values, barriers = rows_of(DATA / "values.csv.gz"), rows_of(DATA / "barriers.csv")
    path = write_rows(tmp_path / "values.csv", list(values[0]), sorted(values, key=lambda row: row["stream"]))
    options = ("--workers", "2", "--set", f"actors.values.path={path}")
    found = launch(APPS / "value_barrier" / "topology.toml", tmp_path, ["sums"], *options)["sums"]
    assert found == as_csv(reference.COLUMNS, reference.sums(values, barriers), ordered=True)
