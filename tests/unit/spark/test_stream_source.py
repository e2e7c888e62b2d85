"""spark-stream-source without Spark: which rows of which batches it returns, and how far it has read."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from actorstream.connectors.source import batch_of
from actorstream.errors import DataError
from actorstream.spark.stream_source import SparkStreamSource, batch_folder

SCHEMA = {"number": "int", "town": "str"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Three batches of a query: four rows, none, and three of which the second has no number."""
    for batch, numbers in enumerate(([0, 1, 2, 3], [], [4, None, 5])):
        batch_folder(tmp_path, batch).mkdir()
        columns = {
            "number": pa.array(numbers, pa.int64()),
            "town": pa.array(["Rom"] * len(numbers), pa.string()),
        }
        pq.write_table(pa.table(columns), batch_folder(tmp_path, batch) / "part-0.parquet")
    return tmp_path


def opened(path: Path, kept: Any = None, **keys: Any) -> SparkStreamSource:
    """A source in a new process; one that goes on if there is a position that a checkpoint kept."""
    made = SparkStreamSource(path, schema=SCHEMA, **keys)
    made.on_bad_row = "skip"
    made.open(made.partitions())
    if kept is not None:
        made.take_back(json.loads(json.dumps(kept)))
    return made


def read(source: SparkStreamSource, most: int) -> list[int] | None:
    """The numbers of the rows that one `read` returns, sent at once."""
    source.hold_position(held=True)
    found = batch_of(source, asyncio.run(source.read(most)))
    source.hold_position(held=False)
    return None if found is None else [int(number) for number in found["number"]]


def test_rows_come_in_the_order_of_the_batches_until_there_are_enough(path: Path) -> None:
    source, rows = opened(path, count=6), []
    while (found := read(source, 3)) is not None:
        assert source.row == len(rows)
        rows += found
    assert rows == [0, 1, 2, 3, 4]  # the sixth has no number
    assert source.bad_rows == 1


@pytest.mark.parametrize("before", range(1, 5))
def test_a_run_that_goes_on_reads_each_row_once(path: Path, before: int) -> None:
    first = opened(path, count=7)
    rows = [row for _ in range(before) for row in read(first, 2) or []]
    again = opened(path, first.kept_position(), count=7)
    while (found := read(again, 2)) is not None:
        assert again.row == len(rows)
        rows += found
    assert rows == [0, 1, 2, 3, 4, 5]


def test_rows_that_were_read_and_not_sent_are_not_counted_as_read(path: Path) -> None:
    source = opened(path)
    assert read(source, 2) == [0, 1]
    source.hold_position(held=True)
    asyncio.run(source.read(2))
    again = opened(path, source.kept_position())
    assert read(again, 2) == [2, 3]


def test_a_row_that_does_not_parse_is_named_or_is_a_dead_letter(path: Path) -> None:
    source = opened(path, {"positions": {"0": 0, "batch": 2}, "latest": None})
    source.on_bad_row = "dead-letter"
    assert read(source, 9) == [4, 5]
    dead = source.take_dead()
    assert dead is not None
    assert dead["event"].to_pylist() == ["{'number': None, 'town': 'Rom'}"]
    source = opened(path, {"positions": {"0": 0, "batch": 2}, "latest": None})
    source.on_bad_row = "fail"
    with pytest.raises(DataError, match=r"batch-000000000002, line 2, column 'number'.*on_error"):
        read(source, 9)


def test_keys_that_mean_nothing_here_are_refused(tmp_path: Path) -> None:
    keys = {"path": tmp_path, "schema": SCHEMA, "repeat": 2}
    assert [problem.where for problem in SparkStreamSource.check(keys, [], tmp_path)] == ["repeat"]
    assert SparkStreamSource.contract_of({"count": 3}).endless is False
    assert SparkStreamSource.contract_of({}).endless is True
