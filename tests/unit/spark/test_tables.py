"""spark-sink as a table whose versions name its files, read by the packages `deltalake` and `pyiceberg`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from actorstream.connectors.sink import END
from actorstream.errors import ConfigurationError, RunError
from actorstream.events import UInt8, UInt64
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema
from actorstream.spark import table_files
from actorstream.spark.iceberg_table import iceberg_schema, open_catalog
from actorstream.spark.sink import STAGING, SparkSink
from actorstream.topology.graph import GraphActor

from .test_sink import TOWNS, Row, prepared, put, started

TABLE = "db.results"


def catalog(out: Path) -> dict[str, str]:
    return {"type": "sql", "uri": f"sqlite:///{out.parent}/{out.name}.db"}


class Delta:
    """A Delta table as a reader has it."""

    keys: Callable[[Path], dict[str, Any]] = staticmethod(lambda out: {"format": "delta"})

    @staticmethod
    def rows(out: Path) -> pa.Table:
        return DeltaTable(out).to_pyarrow_table()

    @staticmethod
    def versions(out: Path) -> int:
        return DeltaTable(out).version() + 1

    @staticmethod
    def before(out: Path, back: int) -> pa.Table:
        table = DeltaTable(out)
        table.load_as_version(table.version() - back)
        return table.to_pyarrow_table()

    @staticmethod
    def append(out: Path, rows: pa.Table) -> None:
        write_deltalake(out, rows, mode="append")


class Iceberg:
    """An Iceberg table as a reader has it."""

    keys: Callable[[Path], dict[str, Any]] = staticmethod(
        lambda out: {"format": "iceberg", "table": TABLE, "catalog": catalog(out)}
    )

    @staticmethod
    def table(out: Path) -> Any:
        return open_catalog(catalog(out)).load_table(TABLE)

    @classmethod
    def rows(cls, out: Path) -> pa.Table:
        return cls.table(out).scan().to_arrow()

    @classmethod
    def versions(cls, out: Path) -> int:
        return len(cls.table(out).snapshots())

    @classmethod
    def before(cls, out: Path, back: int) -> pa.Table:
        table = cls.table(out)
        return table.scan(snapshot_id=table.snapshots()[-1 - back].snapshot_id).to_arrow()

    @classmethod
    def append(cls, out: Path, rows: pa.Table) -> None:
        cls.table(out).append(rows)


Format = type[Delta] | type[Iceberg]
both = pytest.mark.parametrize("format", [Delta, Iceberg])


def sink(format: Format, out: Path, token: Any = None, **keys: Any) -> SparkSink:
    return started(out, token, **format.keys(out), **keys)


def numbers(format: Format, out: Path) -> list[int]:
    return sorted(format.rows(out).column("number").to_pylist())


@both
def test_all_files_of_a_commit_are_one_version(tmp_path: Path, format: Format) -> None:
    out = tmp_path / "out"
    made = sink(format, out, partition_by=["town"])
    for barrier, first in ((1, 0), (END, 8)):
        put(made, first, 8)
        made.commit(prepared(made, barrier))
    assert format.versions(out) == 2
    found = {(row["number"], row["town"], row["color"]) for row in format.rows(out).to_pylist()}
    assert found == {(at, TOWNS[at % 4], ("red", "green")[at % 2]) for at in range(16)}
    assert sorted(format.before(out, 1).column("number").to_pylist()) == list(range(8))
    assert not (out / STAGING).exists()


@both
@pytest.mark.parametrize("committed", [False, True])
def test_a_run_that_goes_on_has_each_row_once(tmp_path: Path, format: Format, committed: bool) -> None:
    out = tmp_path / "out"
    killed = sink(format, out)
    put(killed, 0, 8)
    killed.prepare(1)
    put(killed, 8, 8)
    token = prepared(killed, 2)  # names the files of the first, which nobody has committed
    if committed:
        killed.commit(token)
        if format is Delta:
            DeltaTable(out).optimize.compact()  # the files are others then, and their rows the same
    put(killed, 16, 8)
    again = sink(format, out, token)
    assert numbers(format, out) == list(range(16))
    killed.commit(token)  # by a process that was taken for dead
    put(again, 16, 20)
    again.commit(prepared(again, END))
    assert numbers(format, out) == list(range(36))


@both
def test_a_sink_that_only_has_the_token_and_its_keys_commits_it(tmp_path: Path, format: Format) -> None:
    """As `--resume` does once all input has ended."""
    out = tmp_path / "out"
    killed = started(out, replica=2, **format.keys(out))
    put(killed, 0, 8)
    token = prepared(killed, END)
    keys = {"path": out, **format.keys(out)}
    actor = GraphActor("sink", "spark-sink", SparkSink, "sink", keys, 3, input_schemas=[Schema.of(Row)])
    for _ in range(2):
        actor.make().commit(token)
        assert numbers(format, out) == list(range(8))
    assert format.versions(out) == 1


@both
def test_of_two_processes_that_commit_the_same_at_the_same_time_one_does(
    tmp_path: Path, format: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    first = sink(format, out)
    put(first, 0, 4)
    first.commit(prepared(first, 1))
    mine = sink(format, out, mode="append")._table()
    put(first, 4, 4)
    token = prepared(first, 2)
    monkeypatch.setattr(table_files, "_PAUSE_S", 0)
    assert mine is not None
    read, writer = mine.committed, first._writer

    def late(name: str) -> int:
        """What is read before the other process has committed."""
        monkeypatch.setattr(mine, "committed", read)
        found = read(name)
        first.commit(token)
        return found

    monkeypatch.setattr(mine, "committed", late)
    parts = [table_files.StagedPart(*each) for each in token["files"]]
    table_files.add_files(mine, parts, [], writer, token["next"], [])
    assert numbers(format, out) == list(range(8))
    assert format.versions(out) == 2


@both
def test_what_a_checkpoint_that_cannot_be_read_has_committed_is_no_part_of_the_table(
    tmp_path: Path, format: Format
) -> None:
    out = tmp_path / "out"
    killed = sink(format, out)
    put(killed, 0, 8)
    first = prepared(killed, 1)
    killed.commit(first)
    put(killed, 8, 8)
    killed.commit(prepared(killed, 2))
    for _ in range(2):
        again = sink(format, out, first)
        assert numbers(format, out) == list(range(8))
        put(again, 8, 2)
        again.commit(prepared(again, 3))
        assert numbers(format, out) == list(range(10))


def test_rows_that_were_compacted_after_the_checkpoint_cannot_be_taken_back(tmp_path: Path) -> None:
    out = tmp_path / "out"
    killed = sink(Delta, out)
    put(killed, 0, 8)
    first = prepared(killed, 1)
    killed.commit(first)
    put(killed, 8, 8)
    killed.commit(prepared(killed, 2))
    DeltaTable(out).optimize.compact()
    with pytest.raises(RunError, match="it was compacted after the checkpoint"):
        sink(Delta, out, first)


@both
def test_replicas_and_others_write_versions_one_after_the_other(tmp_path: Path, format: Format) -> None:
    out = tmp_path / "out"
    sinks = [sink(format, out, replica=number) for number in range(2)]
    for barrier in (1, END):
        for number, made in enumerate(sinks):
            put(made, 20 * number + (10 if barrier == END else 0), 10)
        for made, token in [(made, prepared(made, barrier)) for made in sinks]:
            made.commit(token)
        if barrier == 1:
            format.append(out, format.rows(out).slice(0, 1))
    found = numbers(format, out)
    assert (sorted(set(found)), len(found), format.versions(out)) == (list(range(40)), 41, 5)


@both
def test_a_table_that_is_there_is_an_error_or_gets_more_rows_or_others(
    tmp_path: Path, format: Format
) -> None:
    out = tmp_path / "out"
    for mode, first, expected in (("error", 0, [0]), ("append", 1, [0, 1]), ("overwrite", 2, [2])):
        made = sink(format, out, mode=mode)
        put(made, first, 1)
        made.commit(prepared(made, END))
        assert numbers(format, out) == expected
    with pytest.raises(
        ConfigurationError, match=r'"append" or "overwrite", or another table|mode = "append"'
    ):
        sink(format, out)
    with pytest.raises(ConfigurationError, match=r"partition_by: is \['town'\], and the table's is \[\]"):
        sink(format, out, mode="append", partition_by=["town"])
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/part.parquet").touch()
    with pytest.raises(ConfigurationError, match=r"there is no (delta|iceberg) table"):
        sink(format, tmp_path / "plain", mode="append")


def test_a_table_of_other_fields_is_refused(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "delta", pa.table({"number": ["a"]}))
    with pytest.raises(
        ConfigurationError, match="is a table of number string, and the rows have number long"
    ):
        sink(Delta, tmp_path / "delta", mode="append")
    made = open_catalog(catalog(tmp_path / "iceberg"))
    made.create_namespace("db")
    made.create_table(TABLE, pa.schema([("number", pa.string())]), f"file://{tmp_path}/iceberg")
    with pytest.raises(
        ConfigurationError, match="is a table of number string, and the rows have number long"
    ):
        sink(Iceberg, tmp_path / "iceberg", mode="append")


@both
def test_no_rows_are_a_table_without_files(tmp_path: Path, format: Format) -> None:
    made = sink(format, tmp_path / "out")
    made.commit(prepared(made, 1))
    made.commit(prepared(made, END))
    assert format.rows(tmp_path / "out").num_rows == 0


def test_a_catalog_that_does_not_answer_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"the Iceberg table 'db\.results': .*unable to open database file"):
        started(tmp_path / "out", format="iceberg", table=TABLE, catalog=catalog(tmp_path / "no/out"))


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


@both
def test_every_type_has_one_in_a_table(tmp_path: Path, format: Format) -> None:
    schema, out = Schema.of(Every), tmp_path / "out"
    at = datetime(2026, 1, 2, 3, 4, 5, 678_000, UTC)
    made = SparkSink(out, partition_by=["truth", "at"], **format.keys(out))
    made.input_schema = schema
    made.on_start()
    rows = [
        Every(True, 255, 2**64 - 1, None, at, b"\x00", "green", ["a"]),
        Every(False, 0, 0, 0.5, at, b"", "red", []),
    ]
    made.on_batch(Batch.of_events(schema, rows))
    made.commit(prepared(made, END))
    found = format.rows(out).sort_by([("byte", "descending")]).to_pylist()
    assert found[0] == {
        **{"truth": True, "byte": 255, "huge": 2**64 - 1, "share": None, "at": at, "raw": b"\x00"},
        **{"color": "green", "names": '["a"]'},
    }
    assert found[1]["share"] == 0.5


def test_a_type_that_spark_lacks_is_refused() -> None:
    with pytest.raises(KeyError):
        iceberg_schema(pa.schema([("number", pa.uint8())]))


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"format": "iceberg", "table": "db.t"}, "catalog: is missing"),
        ({"format": "iceberg", "table": "t", "catalog": {"type": "sql"}}, "table: is 't'; allowed: the name"),
        ({"format": "delta", "table": "db.t"}, "table: is given, and format is 'delta'"),
    ],
)
def test_a_table_that_is_named_wrongly_is_a_problem(keys: dict[str, Any], says: str, tmp_path: Path) -> None:
    problems = SparkSink.check({"path": Path("out"), **keys}, [], tmp_path)
    assert len(problems) == 1
    assert says in str(ConfigurationError(problems))


def test_a_format_whose_package_is_missing_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(table_files.PACKAGES, "delta", "deltalake_of_nobody")
    problems = SparkSink.check({"path": Path("out"), "format": "delta"}, [], tmp_path)
    assert "pip install 'actorstream[delta]'" in problems[0].message


FORKED = """
import os, sys
from pathlib import Path
import pyarrow as pa
from deltalake import write_deltalake
from actorstream.errors import RunError
from actorstream.spark.delta_table import DeltaFiles
table = Path(sys.argv[1])
write_deltalake(table, pa.table({"number": [1]}))
if os.fork() == 0:
    try:
        DeltaFiles(table, pa.schema({"number": pa.int64()})).read()
    except RunError as error:
        print(error, flush=True)
    os._exit(0)
os.wait()
"""


def test_a_package_that_was_used_before_its_process_was_forked_is_said_with_what_to_do(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", FORKED, str(tmp_path / "table")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "the package `deltalake` has panicked: Forked process detected" in done.stdout
    assert "start the run by `actorstream launch`, or in a process of its own" in done.stdout
