"""spark-sink as a Delta table, read by the package `deltalake`: another implementation of the format than Spark's."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from actorstream.connectors.sink import END
from actorstream.errors import ConfigurationError
from actorstream.events import UInt8, UInt64
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema
from actorstream.spark.delta_log import DeltaLog, delta_schema
from actorstream.spark.sink import STAGING, SparkSink

from .test_sink import TOWNS, prepared, put, started


def delta(path: Path, token: Any = None, **keys: Any) -> SparkSink:
    return started(path, token, format="delta", **keys)


def numbers(path: Path) -> list[int]:
    return sorted(DeltaTable(path).to_pyarrow_table(columns=["number"]).column(0).to_pylist())


def test_all_files_of_a_commit_are_one_version(tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = delta(out, partition_by=["town"])
    for barrier, first in ((1, 0), (END, 8)):
        put(made, first, 8)
        made.commit(prepared(made, barrier))
    table = DeltaTable(out)
    assert (table.version(), table.metadata().partition_columns) == (1, ["town"])
    found = {(row["number"], row["town"], row["color"]) for row in table.to_pyarrow_table().to_pylist()}
    assert found == {(at, TOWNS[at % 4], ("red", "green")[at % 2]) for at in range(16)}
    table.load_as_version(0)
    assert sorted(table.to_pyarrow_table().column("number").to_pylist()) == list(range(8))
    assert not (out / STAGING).exists()


@pytest.mark.parametrize("committed", [False, True])
def test_a_run_that_goes_on_has_each_row_once(tmp_path: Path, committed: bool) -> None:
    out = tmp_path / "out"
    killed = delta(out)
    put(killed, 0, 8)
    killed.prepare(1)
    put(killed, 8, 8)
    token = prepared(killed, 2)  # names the files of the first, which nobody has committed
    if committed:
        killed.commit(token)
        DeltaTable(out).optimize.compact()  # the files are others then, and their rows the same
    put(killed, 16, 8)
    again = delta(out, token)
    assert numbers(out) == list(range(16))
    put(again, 16, 20)
    again.commit(prepared(again, END))
    assert numbers(out) == list(range(36))


def test_what_a_checkpoint_that_cannot_be_read_has_committed_is_no_part_of_the_table(tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed = delta(out)
    put(killed, 0, 8)
    first = prepared(killed, 1)
    killed.commit(first)
    put(killed, 8, 8)
    killed.commit(prepared(killed, 2))
    again = delta(out, first)
    assert numbers(out) == list(range(8))
    put(again, 8, 2)  # into a file of the same name
    again.commit(prepared(again, END))
    assert numbers(out) == list(range(10))


def test_replicas_and_others_write_versions_one_after_the_other(tmp_path: Path) -> None:
    out = tmp_path / "out"
    sinks = [delta(out, replica=number) for number in range(2)]
    for barrier in (1, END):
        for number, made in enumerate(sinks):
            put(made, 20 * number + (10 if barrier == END else 0), 10)
        for made, token in [(made, prepared(made, barrier)) for made in sinks]:
            made.commit(token)
        if barrier == 1:
            write_deltalake(out, DeltaTable(out).to_pyarrow_table().slice(0, 1), mode="append")
    assert sorted(set(numbers(out))) == list(range(40))
    assert (len(numbers(out)), DeltaTable(out).version()) == (41, 4)


def test_a_table_that_is_there_is_an_error_or_gets_more_rows_or_others(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for mode, first, expected in (("error", 0, [0]), ("append", 1, [0, 1]), ("overwrite", 2, [2])):
        made = delta(out, mode=mode)
        put(made, first, 1)
        made.commit(prepared(made, END))
        assert numbers(out) == expected
    with pytest.raises(ConfigurationError, match=r'mode = "append" or "overwrite"'):
        delta(out)
    with pytest.raises(ConfigurationError, match=r"partition_by: is \['town'\], and the table's is \[\]"):
        delta(out, mode="append", partition_by=["town"])
    write_deltalake(tmp_path / "other", pa.table({"number": ["a"]}))
    with pytest.raises(
        ConfigurationError, match="is a table of number string, and the rows have number long"
    ):
        delta(tmp_path / "other", mode="append")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/part.parquet").touch()
    with pytest.raises(ConfigurationError, match="is no Delta table"):
        delta(tmp_path / "plain", mode="append")


def test_no_rows_are_a_table_without_files(tmp_path: Path) -> None:
    made = delta(tmp_path / "out")
    made.commit(prepared(made, 1))
    made.commit(prepared(made, END))
    assert DeltaTable(tmp_path / "out").to_pyarrow_table().num_rows == 0
    assert DeltaLog(tmp_path / "out").version == 0


class Every(Event):
    """A field of each type."""

    truth: bool
    byte: UInt8
    huge: UInt64
    share: float | None
    at: datetime
    raw: bytes
    color: Literal["red", "green"]
    names: list[str]


def test_every_type_has_one_that_delta_has(tmp_path: Path) -> None:
    schema = Schema.of(Every)
    at = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
    made = SparkSink(tmp_path / "out", format="delta", partition_by=["truth", "at"])
    made.input_schema = schema
    made.on_start()
    rows = [
        Every(True, 255, 2**64 - 1, None, at, b"\x00", "green", ["a"]),
        Every(False, 0, 0, 0.5, at, b"", "red", []),
    ]
    made.on_batch(Batch.of_events(schema, rows))
    made.commit(prepared(made, END))
    found = DeltaTable(tmp_path / "out").to_pyarrow_table().sort_by([("byte", "descending")]).to_pylist()
    assert found[0] == {
        **{
            "truth": True,
            "byte": 255,
            "huge": 2**64 - 1,
            "share": None,
            "at": at,
            "raw": b"\x00",
            "color": "green",
        },
        "names": '["a"]',
    }
    assert found[1]["share"] == 0.5


def test_a_type_that_spark_lacks_is_refused() -> None:
    with pytest.raises(KeyError):
        delta_schema(pa.schema([("number", pa.uint8())]))
