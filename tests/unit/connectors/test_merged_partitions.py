"""Partitions that become one sequence: what was read and has not gone comes back from a checkpoint."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actorstream.connectors.csv_source import CsvSource
from actorstream.connectors.merged_partitions import MergedPartitions

Rows = list[tuple[int, int]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three partitions of different lengths at different times, with ties, and rows out of order by at most 3."""
    for part, (count, step) in enumerate(((40, 1), (25, 2), (7, 0))):
        rows = [f"{10 + number * step + (number * 5 + part) % 4},{number}" for number in range(count)]
        (tmp_path / f"{part}.csv").write_text("at,n\n" + "\n".join(rows) + "\n")
    return tmp_path


def merged(folder: Path, slack: int | None) -> MergedPartitions:
    def make() -> CsvSource:
        return CsvSource(
            folder,
            schema={"at": "int", "n": "int"},
            event_time="at",
            max_out_of_orderness=None if slack is None else timedelta(milliseconds=slack),
        )

    first = make()
    names = first.partitions()
    source = MergedPartitions(first, make, {name: at for at, name in enumerate(names)}, slack)
    source.open(names)
    return source


def read(source: MergedPartitions, most: int, rows: int) -> tuple[Rows, Rows, bool]:
    """Up to so many reads of so many rows: what came, what was late, and whether that was all."""
    found: Rows = []
    late: Rows = []
    for _ in range(most):
        batch = source.read(rows)
        assert not any(reader.unsorted for reader in source.readers)
        for each, into in ((batch, found), (source.take_late(), late)):
            if each is not None:
                into += zip(each["at"].tolist(), each["n"].tolist())
        if batch is None:
            return found, late, True
    return found, late, False


@pytest.mark.parametrize("slack", [3, 1])
@pytest.mark.parametrize("reads", [0, 1, 2, 5, 9, 14, 30])
def test_a_source_that_is_restored_goes_on_with_the_row_after_the_last_one_that_went(
    folder: Path, slack: int, reads: int
) -> None:
    whole, all_late, _ = read(merged(folder, slack), 10_000, 4)
    assert [at for at, _ in whole] == sorted(at for at, _ in whole)
    assert len(whole) + len(all_late) == 72
    assert bool(all_late) == (slack == 1)

    source = merged(folder, slack)
    went, late, _ = read(source, reads, 4)
    kept: Any = msgspec.msgpack.decode(
        msgspec.msgpack.encode({"positions": source.position(), "state": source.snapshot()})
    )
    again = merged(folder, slack)
    again.seek(kept["positions"])
    again.restore(kept["state"])
    rest, rest_late, ended = read(again, 10_000, 7)
    assert ended
    assert went + rest == whole
    assert sorted(late + rest_late) == sorted(all_late)


def test_the_rate_of_a_source_is_that_of_the_whole_sequence(folder: Path) -> None:
    first = CsvSource(folder, schema={"at": "int", "n": "int"}, event_time="at", rate=250.0)
    assert MergedPartitions(first, lambda: first, {}, None).rate == 250.0
