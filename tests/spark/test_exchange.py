"""Rows that go from Spark to actors and back: a run that is killed, its files read by Spark. One session for all tests here."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from time import sleep
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from actorstream.cli.main import main
from actorstream.dataframes import register
from actorstream.errors import ConfigurationError
from actorstream.launch.cluster import cluster_run

from . import bootstrap
from .flights import FLIGHTS, of_spark, plain
from .gated import LOOK_S
from .processes import end_runs

COLUMNS = ("ts", "origin", "carrier", "flight", "delay")


@pytest.mark.slow
def test_a_history_from_spark_and_live_rows_are_a_table_that_spark_reads_with_each_row_once_after_a_kill(
    spark: Any, tmp_path: Path
) -> None:
    rows = of_spark(spark, f"select {', '.join(COLUMNS)} from flights order by {', '.join(COLUMNS)}")
    with (tmp_path / "live.csv").open("w") as file:
        csv.writer(file).writerows([COLUMNS, *(row for row in rows if row[0].isoformat() > "2013-01-01T12")])
    bootstrap.write(tmp_path)
    subprocess.run([sys.executable, "-m", bootstrap.__name__, str(tmp_path)], check=True)
    seen = spark.read.parquet(str(tmp_path / "table")).count()
    assert 0 < seen < len(rows)
    (tmp_path / "gate").touch()  # without it, a run lasts until it is killed
    topology, deploy, report_file = (
        str(tmp_path / name) for name in ("topology.toml", "deploy.toml", "report.json")
    )
    words = ["launch", topology, "--deploy", deploy, "--resume", "--report", report_file]
    subprocess.run([sys.executable, "-m", "actorstream", *words], check=True)
    report = json.loads(Path(report_file).read_text())
    assert 0 < report["events_out"]["flights"] < len(rows)
    found = [tuple(row) for row in spark.read.parquet(str(tmp_path / "table")).select(*COLUMNS).collect()]
    assert Counter(found) == Counter(rows)
    table = DeltaTable(tmp_path / "windows").to_pyarrow_table().drop_columns(["window_end"])
    windows = plain(tuple(row.values()) for row in table.to_pylist())
    expected = "select window.start, origin, count(*), max(delay) from flights group by window(ts, '6 hours'), origin"
    assert sorted(windows) == sorted(of_spark(spark, expected))


def test_ctrl_c_does_what_it_did_before_spark_was_started(spark: Any) -> None:
    assert "pyspark" not in str(getattr(signal.getsignal(signal.SIGINT), "__module__", ""))


# -- the format actorstream -------------------------------------------------------------------------------------

ROWS = """
[actors.rows]
type = "csv-source"
path = "rows.csv"
schema = { ts = "int", key = "uint8", value = "int?" }
event_time = "ts"
"""
TOTALS = """
name = "totals"
[actors.sums]
type = "aggregate"
inputs = ["rows"]
key = ["key"]
window = { type = "tumbling", size = "10ms" }
aggregates = { total = "sum(value)", rows = "count()" }
[actors.out]
type = "csv-sink"
inputs = ["sums"]
path = "out.csv"
[actors.all]
type = "jsonl-sink"
inputs = ["rows"]
path = "all.jsonl"
"""


@pytest.fixture
def totals(spark: Any, tmp_path: Path) -> Path:
    register(spark)
    (tmp_path / "totals.toml").write_text(TOTALS + ROWS)
    rows = [(number, number % 3, "" if number % 7 == 0 else number) for number in range(1000)]
    with (tmp_path / "rows.csv").open("w") as file:
        csv.writer(file).writerows([("ts", "key", "value"), *rows])
    return tmp_path / "totals.toml"


def summed(modulus: int = 3, divisor: int = 1) -> list[tuple[int, int, int, int]]:
    """(window's begin, key, total, rows)"""
    found: dict[tuple[int, int], list[int]] = {}
    for number in range(1000):
        each = found.setdefault((number // 10 * 10, number % modulus), [0, 0])
        each[0] += 0 if number % 7 == 0 else number * divisor
        each[1] += 1
    return sorted((*key, *value) for key, value in found.items())


def test_a_topologys_output_is_a_dataframe(spark: Any, totals: Path) -> None:
    read = spark.read.format("actorstream").option("output", "out")
    found = read.load(str(totals))
    assert [field.simpleString() for field in found.schema] == [
        "window_start:bigint", "window_end:bigint", "key:smallint", "total:bigint", "rows:bigint",
    ]  # fmt: skip
    assert sorted(tuple(row) for row in found.drop("window_end").collect()) == summed()
    assert not (totals.parent / "out.csv").exists()
    assert len((totals.parent / "all.jsonl").read_text().splitlines()) == 1000
    few = read.option("set", 'actors.rows.count=10\nactors.sums.window.size="1s"').load(str(totals))
    assert sorted(few.select("key", "rows").collect()) == [(0, 4), (1, 3), (2, 3)]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"output": "uot"}, "output: there is no sink 'uot'; allowed: out, all (did you mean 'out'?)"),
        ({}, "output: is missing, and there are 2 sinks; allowed: out, all"),
        ({"output": "out", "sett": ""}, "sett: is not an option here"),
        ({"output": "out", "set": "actors.rows.path=nowhere.csv"}, "actors.rows.path"),
    ],
)
def test_a_wrong_option_is_one_message(spark: Any, totals: Path, options: dict[str, str], says: str) -> None:
    with pytest.raises(Exception, match=re.escape(says)):
        spark.read.format("actorstream").options(**options).load(str(totals)).collect()


def test_a_run_that_fails_fails_the_query_with_its_message(spark: Any, totals: Path) -> None:
    with (totals.parent / "rows.csv").open("a") as file:
        file.write("1000,x,1\n")
    with pytest.raises(Exception, match=r"rows\.csv, line 1002, column 'key': 'x' is not uint8"):
        spark.read.format("actorstream").option("output", "out").load(str(totals)).collect()


def test_a_dataframe_is_the_input_of_a_topology(spark: Any, totals: Path) -> None:
    rows = spark.read.option("header", "true").csv(str(totals.parent / "rows.csv"))
    rows = rows.selectExpr("bigint(ts) ts", "smallint(key) key", "bigint(value) * 2 value").sort("ts")
    write = rows.coalesce(2).write.format("actorstream").mode("append").option("topology", str(totals))
    write.save()
    with (totals.parent / "out.csv").open() as file:
        found = [tuple(map(int, (row[0], *row[2:]))) for row in list(csv.reader(file))[1:]]
    assert sorted(found) == summed(divisor=2)
    with pytest.raises(Exception, match="input: there is no source 'out'; allowed: rows"):
        write.option("input", "out").save()


def test_a_streaming_query_gets_each_row_once_also_when_it_starts_again(spark: Any, totals: Path) -> None:
    folder = totals.parent
    read = spark.readStream.format("actorstream").options(
        output="out", folder=str(folder / "run"), every="20ms"
    )
    result = folder / "result"
    options = {"path": str(result), "checkpointLocation": str(folder / "checkpoint")}
    expected = summed()
    for rate, least in ((500, 1), (100_000, len(expected))):  # the first is stopped midway
        rows = read.option("set", f"actors.rows.rate={rate}").load(str(totals)).drop("window_end")
        query = rows.writeStream.format("parquet").options(**options).start()
        found: list[tuple[int, ...]] = []
        while len(found) < least:
            query.processAllAvailable()  # raises what the query failed with
            if any(result.glob("*.parquet")):
                found = sorted(tuple(row) for row in spark.read.parquet(str(result)).collect())
        query.stop()
    assert found == expected


def test_a_streaming_query_feeds_a_topology_each_row_once_also_when_it_starts_again(
    spark: Any, totals: Path
) -> None:
    folder, read = totals.parent, spark.readStream.schema("ts bigint, key bigint, value bigint")
    (folder / "in").mkdir()
    options = {
        **{"topology": str(totals), "folder": str(folder / "run"), "every": "20ms"},
        **{"checkpointLocation": str(folder / "checkpoint")},
        "set": f'actors.out.type="spark-sink"\nactors.out.path="{folder}/sums"',
    }
    expected = [row for row in summed() if row[0] < 990]  # more rows could come into the last window
    try:
        for part in range(2):
            rows = range(part * 500, part * 500 + 500)
            table = [{"ts": row, "key": row % 3, "value": None if row % 7 == 0 else row} for row in rows]
            pq.write_table(pa.Table.from_pylist(table), folder / f"in/{part}.parquet")
            query = (
                read.parquet(str(folder / "in")).writeStream.format("actorstream").options(**options).start()
            )
            query.processAllAvailable()  # raises what the query failed with
            query.stop()
        found: list[tuple[int, ...]] = []
        while len(found) < len(expected):
            assert not (folder / "run/.run.failed").exists(), (folder / "run/.run.failed").read_text()
            sleep(LOOK_S)
            files = (folder / "sums").glob("*.parquet")
            found = [tuple(row.values()) for path in files for row in pq.read_table(path).to_pylist()]
    finally:
        end_runs(folder)
    assert sorted((start, *rest) for start, _, *rest in found) == expected


def test_rows_go_from_a_query_to_actors_and_back_to_another_without_files(spark: Any, totals: Path) -> None:
    folder = totals.parent
    (folder / "in").mkdir()
    common = {"topology": str(totals), "folder": str(folder / "run"), "through": "memory"}
    common |= {"input": "rows", "output": "out"}
    given = spark.readStream.schema("ts bigint, key bigint, value bigint").parquet(str(folder / "in"))
    expected = [row for row in summed() if row[0] < 990]  # more rows could come into the last window
    back = spark.readStream.format("actorstream").options(**common).load()
    result = back.drop("window_end").writeStream.format("memory").queryName("sums").start()
    found: list[tuple[int, ...]] = []
    try:
        for part in range(2):  # the query starts again, and the run goes on
            rows = range(part * 500, part * 500 + 500)
            table = [{"ts": row, "key": row % 3, "value": None if row % 7 == 0 else row} for row in rows]
            pq.write_table(pa.Table.from_pylist(table), folder / f"in/{part}.parquet")
            options = {**common, "checkpointLocation": str(folder / "checkpoint")}
            query = given.writeStream.format("actorstream").options(**options).start()
            query.processAllAvailable()  # raises what the query failed with
            query.stop()
        while len(found) < len(expected):
            result.processAllAvailable()
            found = sorted(tuple(row) for row in spark.table("sums").collect())
    finally:
        result.stop()
        end_runs(folder)
    assert found == expected
    assert sorted(path.name for path in (folder / "run").iterdir()) == [
        ".input.json", ".output.json", ".run.lock",
    ]  # fmt: skip


# -- verify --against spark -------------------------------------------------------------------------------------

NAMES = ("named", "sessions", "best", "pairs", "nearest", "windows")
"""The actors whose rows are compared, beside an output of `ways`."""
LOGIC = """
name = "logic"
[actors.more]
type = "map"
inputs = ["rows"]
set = { rest = "(value - 500) % 7", part = "(value - 500) // 7", share = "value / (ts - 3)", name = "if(value > 10, 'a', 'b')" }
[actors.some]
type = "filter"
inputs = ["more"]
where = "value is not null and (key in (0, 1) or not value * 2 >= 900)"
[actors.ways]
type = "split"
inputs = ["more"]
cases = { low = "100 <= value < 400", even = "value % 2 == 0" }
[actors.both]
type = "union"
inputs = ["some", "ways.low", "ways"]
[actors.named]
type = "static-join"
inputs = ["both"]
table = "names.csv"
on = "key"
how = "left"
[actors.windows]
type = "aggregate"
inputs = ["both"]
key = ["key", "name"]
window = { type = "sliding", size = "30ms", slide = "20ms", offset = "3ms" }
aggregates = { rows = "count()", values = "count(value)", total = "sum(value * 2)", most = "max(share)", kinds = "count_distinct(rest)" }
[actors.sessions]
type = "aggregate"
inputs = ["ways.even"]
key = ["key"]
window = { type = "session", gap = "6ms" }
aggregates = { rows = "count()", most = "max(value)" }
[actors.best]
type = "top"
inputs = ["more"]
n = 2
by = ["rest", "-share"]
key = "key"
window = { type = "tumbling", size = "50ms" }
[actors.pairs]
type = "join"
inputs = ["ways.low", "some"]
on = "key"
window = { type = "sliding", size = "40ms", slide = "20ms" }
how = "outer"
[actors.nearest]
type = "asof-join"
inputs = ["more", "ways.even"]
by = "key"
direction = "nearest"
tolerance = "20ms"
"""  # noqa: E501


def csv_sink(name: str, output: str) -> str:
    return f'[actors.{name}-out]\ntype = "csv-sink"\ninputs = ["{output}"]\npath = "{name}.csv"\n'


@pytest.mark.slow
def test_verify_compares_a_topology_with_the_same_logic_in_spark_sql(
    spark: Any, totals: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("actorstream.spark.session.spark_session", lambda: nullcontext(spark))
    topology = totals.with_name("logic.toml")
    outputs = {**{name: name for name in NAMES}, "even": "ways.even"}
    topology.write_text(LOGIC + ROWS + "".join(csv_sink(*each) for each in outputs.items()))
    totals.with_name("names.csv").write_text("key,label,value\n0,zero,1\n1,one,2\n1,uno,3\n")
    assert main(["verify", str(topology), "--against", "spark", "--json"]) == 0
    sinks = {each["sink"]: each["rows"] for each in json.loads(capsys.readouterr().out)["sinks"]}
    assert sinks.keys() == {f"{name}-out" for name in outputs}
    assert all(rows > 50 for rows in sinks.values()), sinks
    with totals.with_name("rows.csv").open("a") as file:
        file.write("1,1,7\n")  # late: it is in no window here, and Spark knows nothing of that
    assert main(["verify", str(totals), "--against", "spark"]) == 1
    said = capsys.readouterr().out
    assert "out: DIFFERENT: " in said
    assert "only in Spark's: window_start=" in said
    assert "all: 1,001 rows, the same as Spark's" in said


# -- workers on a cluster ----------------------------------------------------------------------------------------


def test_a_cluster_with_too_few_slots_for_workers_and_tasks_is_one_message(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_run, "SLOTS_S", 0.0)
    run = cluster_run.ClusterRun("local[2]", [], FLIGHTS, 2, tasks=1, resumes=False, options={}, logs=False)
    with pytest.raises(ConfigurationError) as error:
        run._check_slots(spark)
    assert str(error.value) == (
        "--workers: is 2, which with 1 task of sources needs 3 slots, and local[2] has 2; allowed: at most 1 (executors × "
        "cores of each; the master's page says who uses the others)"
    )
