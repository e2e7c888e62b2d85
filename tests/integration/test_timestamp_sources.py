"""Sources before an input in timestamp order: partitions are merged, rows out of order sorted or refused, late ones put
aside."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from actorstream.errors import ActorstreamError, DataError
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Live, Numbers
from tests.integration.timestamp_parts import Row, Ticks, rows_of, ticks

LOCAL = {"workers": 1, "transport": "local"}
SHM = {"workers": 2, "transport": "shm", "batch_size": 16}


def collected(topology: Topology, deployment: dict[str, Any], sink: str = "sink") -> list[Row]:
    return [tuple(row) for row in topology.run(**deployment).collected[sink]]


@pytest.mark.parametrize("deployment", [LOCAL, SHM], ids=["local", "shm"])
@pytest.mark.parametrize("parts", [1, 3])
def test_rows_out_of_order_by_no_more_than_the_slack_are_sorted(
    parts: int, deployment: dict[str, Any]
) -> None:
    topology = Topology("slack")
    slack = timedelta(milliseconds=9)
    source = topology.source(
        Ticks, name="source", who=1, count=400, parts=parts, span=200, shuffled=9, max_out_of_orderness=slack
    )
    source.ordered("timestamp").into(Collect, name="sink")
    assert collected(topology, deployment) == rows_of(1, 400, parts, 200, shuffled=9)


@pytest.mark.parametrize("parts", [1, 2])
def test_rows_below_the_watermark_go_where_late_rows_go(parts: int) -> None:
    topology = Topology("late")
    slack = timedelta(milliseconds=2)
    source = topology.source(
        Ticks, name="source", who=1, count=300, parts=parts, span=200, shuffled=9, max_out_of_orderness=slack
    )
    source.ordered("timestamp").into(Collect, name="sink")
    source.late.into(Collect, name="late")
    expected: list[Row] = []
    for part in range(parts):
        greatest = -(2**60)
        for n, t in enumerate(ticks(1, part, 300, 200, 0, 9).tolist()):
            if t < greatest - 2:
                expected.append((t, 1, part, n, (n * 7919 + part) % 7))
            greatest = max(greatest, t)
    result = topology.run(**SHM)
    late = sorted(tuple(row) for row in result.collected["late"])
    assert late == sorted(expected)
    assert late
    on_time = [tuple(row) for row in result.collected["sink"]]
    assert on_time == sorted(set(rows_of(1, 300, parts, 200, shuffled=9)) - set(late))


@pytest.mark.parametrize("parts", [1, 2])
def test_rows_out_of_order_without_a_slack_are_an_error_that_names_both(parts: int) -> None:
    topology = Topology("unsorted")
    source = topology.source(Ticks, name="source", who=1, count=300, parts=parts, span=200, shuffled=9)
    source.ordered("timestamp").into(Collect, name="sink")
    times = ticks(1, 0, 300, 200, 0, 9).tolist()
    row = next(n for n in range(1, 300) if times[n] < times[n - 1])
    with pytest.raises(ActorstreamError) as caught:
        topology.run(**LOCAL)
    text = str(caught.value)
    assert isinstance(caught.value, DataError)
    assert f"row {row} (Tick(t={times[row]}," in text
    assert f"Tick(t={times[row - 1]}," in text
    assert "max_out_of_orderness" in text


def test_a_live_source_and_a_sorted_one_become_one_sequence() -> None:
    topology = Topology("live")
    live = topology.source(Live, name="live", count=100)
    sorted_one = topology.source(Numbers, name="sorted", count=100)
    live.ordered("timestamp").into(Collect, sorted_one.ordered("timestamp"), name="sink")
    assert collected(topology, SHM) == [(value, value % 101) for value in range(100) for _ in range(2)]


def test_files_of_a_folder_are_merged_by_time_and_a_csv_sink_writes_the_sequence(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for part in range(3):
        lines = [f"{t},{part},{n}" for n, t in enumerate(ticks(1, part, 50, 30).tolist())]
        (folder / f"part{part}.csv").write_text("\n".join(["t,part,n", *lines]) + "\n")
    written = set()
    for number, replicas in enumerate((1, 2, 3)):
        topology = Topology("files")
        keys = {"schema": {"t": "int64", "part": "int64", "n": "int64"}, "event_time": "t"}
        source = topology.source("csv-source", name="source", path=str(folder), replicas=replicas, **keys)
        path = tmp_path / f"out{number}.csv"
        source.to_one().ordered("timestamp").into("csv-sink", name="sink", path=str(path))
        topology.run(**(SHM | {"workers": replicas}))
        written.add(path.read_text())
    expected = sorted(
        (t, part, n) for part in range(3) for n, t in enumerate(ticks(1, part, 50, 30).tolist())
    )
    assert written == {"\n".join(["t,part,n", *(f"{t},{part},{n}" for t, part, n in expected)]) + "\n"}
