"""Tests that need a running Spark; in one file, so that one process runs all of them with one session."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from actorstream.cli.main import main
from actorstream.connectors.generator import GeneratorSource
from actorstream.errors import ActorstreamError, ConfigurationError
from actorstream.spark import StreamRows, numbered_lines
from actorstream.spark.failure import SparkError
from actorstream.spark.source import SparkSource
from actorstream.spark.write import MANIFEST, check_files, prepare_folder
from apps.card_fraud import generate as cards
from apps.card_fraud.pipeline import pipeline as card_fraud
from apps.linear_road import reference
from apps.linear_road.generate import Reports
from apps.linear_road.pipeline import pipeline as linear_road
from apps.nexmark.generate import Generator
from apps.nexmark.pipeline import pipeline as nexmark
from apps.outlier_detection.pipeline import SAMPLE
from apps.outlier_detection.pipeline import pipeline as outlier_detection
from apps.outlier_detection.source import Connections
from apps.smart_home import generate as home
from apps.smart_home.pipeline import pipeline as smart_home
from apps.spike_detection import generate as sensors
from apps.spike_detection.pipeline import pipeline as spike_detection
from apps.tpcx_bb import generate as bb
from apps.tpcx_bb.pipeline import pipeline as tpcx_bb
from apps.word_count.pipeline import BOOK
from apps.word_count.pipeline import pipeline as word_count
from apps.ysb.pipeline import pipeline as ysb

from .flights import FLIGHTS, KEYS, of_spark, plain, read
from .inputs import TABLES, by_parts, launched, table_of, write_in_order, written_as
from .written import lines, rows_of, table, texts, write


def test_parquet_can_be_written_and_read_also_where_musl_lies_beside_glibc(
    spark: Any, tmp_path: Path
) -> None:
    spark.range(10).write.parquet(str(tmp_path / "ten"))
    assert sorted(row.id for row in spark.read.parquet(str(tmp_path / "ten")).collect()) == list(range(10))


def test_linear_road_has_the_reports_of_the_generator_by_time(spark: Any, tmp_path: Path) -> None:
    streams = linear_road(spark, expressways=2, hours=0.02, density=20.0, ramp=60, seed=3, file_seconds=30)
    manifest = write(spark, streams, tmp_path)["streams"]["reports"]
    source = {"xways": 2, "shards": 2, "hours": 0.02, "density": 20.0, "ramp": 60, "seed": 3}
    expected = [rows_of(Reports(**source), f"shard-{shard}") for shard in (0, 1)]
    found = [tuple(map(int, line.split(","))) for line in lines(tmp_path / "reports")]
    assert found == sorted(expected[0] + expected[1], key=lambda row: row[1])
    assert (manifest["rows"], manifest["min"], manifest["max"]) == (len(found), 0, 71)
    assert [(part["least"], part["greatest"]) for part in manifest["files"]] == [(0, 29), (30, 59), (60, 71)]


def test_the_command_writes_what_the_app_reads(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("actorstream.spark.session.spark_session", lambda master, logs: nullcontext(spark))
    monkeypatch.setattr(sys, "path", list(sys.path))
    options = ["--hours", "0.03", "--density", "60", "--ramp", "60", "--accidents", "100"]
    out = tmp_path / "data"
    assert main(["data", "linear_road", *options, "--out", str(out), "--compress", "--json"]) == 0
    said = capsys.readouterr()
    manifest = json.loads(said.out)
    assert (manifest["pipeline"], manifest["options"]["density"]) == ("linear_road", 60.0)
    assert "data linear_road: wrote reports: " in said.err
    assert main(["data", "linear_road", "--out", str(out), "--check"]) == 0
    assert capsys.readouterr().out == f"{out}: all files are as the manifest says\n"
    found = launched(tmp_path, out / "reports")
    rows = [row for path in sorted((out / "reports").iterdir()) for row in reference.read(path)]
    expected = reference.LinearRoad().run(rows).results
    assert len(rows) == manifest["streams"]["reports"]["rows"]
    assert found == {name: sorted(expected[name]) for name in found}


def test_card_fraud_has_the_file_of_the_generator(spark: Any, tmp_path: Path) -> None:
    write(spark, card_fraud(spark, transactions=70_000, customers=500, seed=3), tmp_path / "out")
    cards.write(tmp_path / "whole.csv", 70_000, 500, 3)
    found = sorted((tmp_path / "out/transactions").iterdir())
    assert b"".join(part.read_bytes() for part in found) == (tmp_path / "whole.csv").read_bytes()
    assert [part.read_bytes().count(b"\n") for part in found] == [cards.PART, 70_000 - cards.PART]


def test_spike_detection_has_the_file_of_the_generator(spark: Any, tmp_path: Path) -> None:
    write(spark, spike_detection(spark, readings=70_000, motes=5, seed=3), tmp_path / "out")
    sensors.write(tmp_path / "whole.csv", 70_000, 5, 3)
    with (tmp_path / "whole.csv").open() as whole:
        expected = list(csv.reader(whole))[1:]
    found = table(tmp_path / "out/readings")
    assert [list(map(float, row)) for row in found] == [list(map(float, row)) for row in expected]


def test_readings_of_the_lab_are_cleaned_and_put_in_order(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text(
        "2004-03-01 00:58:46.002832 65333 28 19.7336 37.0933 71.76 2.69964\n"
        "2004-02-28 00:59:16.02785 3 1 19.9884 37.0933 45.08 2.69964\n"
        "2004-02-28 00:59:16.02785 3 1 19.9884 37.0933 45.08 2.69964\n"
        "2004-02-28 00:59:16.02785 3 2 19.5 38.25 45.08 2.69964\n"
        "2004-02-29 01:03:16.33393 11 1 19.3 38.4629 45.08 2.68742\n"
        "2004-02-29 01:06:16.013453 17 5\n"
    )
    manifest = write(spark, spike_detection(spark, input=tmp_path / "data.txt"), tmp_path / "out")
    assert table(tmp_path / "out/readings") == [
        ["3", "1", "37.0933", "19.9884"],
        ["3", "2", "38.25", "19.5"],
        ["11", "1", "38.4629", "19.3"],
        ["65333", "28", "37.0933", "19.7336"],
    ]
    assert [part["rows"] for part in manifest["streams"]["readings"]["files"]] == [2, 1, 1]


def test_ysb_has_the_events_and_ads_of_the_generator_source(spark: Any, tmp_path: Path) -> None:
    write(spark, ysb(spark, events=2500, seed=5, file_events=1000), tmp_path)
    keys = {"preset": "ysb", "ids": "uuid", "count": 2500, "event_rate": 10_000.0, "seed": 5}
    found = [tuple(json.loads(line).values()) for line in lines(tmp_path / "events")]
    assert found == rows_of(GeneratorSource(**keys), "shard-00000")
    shipped = Path("apps/ysb/data/ads_uuid.csv")
    assert (tmp_path / "ads/part-00000.csv").read_text() == shipped.read_text()


def test_nexmark_has_the_events_of_the_generator(spark: Any, tmp_path: Path) -> None:
    manifest = write(spark, nexmark(spark, events=3000, rate=100.0, seed=2, file_events=1001), tmp_path)
    for kind, stream in manifest["streams"].items():
        expected = [event.row for event in Generator(2, 100.0).events(3000) if event.kind == kind]
        assert [json.loads(line) for line in lines(tmp_path / kind)] == expected
        assert (stream["rows"], len(stream["files"])) == (len(expected), 3)


def test_tpcx_bb_has_the_parts_of_the_generator(spark: Any, tmp_path: Path) -> None:
    write(spark, tpcx_bb(spark, scale=2 / 64, seed=4), tmp_path)
    for name, make in (("store_sales", bb.sales), ("web_clickstreams", bb.clicks)):
        columns = [pa.table(make(number, 4)) for number in (0, 1)]
        expected = [list(row.values()) for part in columns for row in part.to_pylist()]
        found = table(tmp_path / name)
        assert [list(map(float, filter(None, row))) for row in found] == [
            [float(each) for each in row if each is not None] for row in expected
        ]
    assert table(tmp_path / "item") == texts(bb.items())
    assert table(tmp_path / "web_page") == texts(bb.pages())


def test_smart_home_has_the_file_of_the_generator(spark: Any, tmp_path: Path) -> None:
    write(spark, smart_home(spark, houses=3, plugs=4, seconds=25, seed=7, file_seconds=10), tmp_path / "out")
    home.write(tmp_path / "whole.csv.gz", 3, 4, 25, 7)
    expected = gzip.decompress((tmp_path / "whole.csv.gz").read_bytes()).decode().splitlines()[1:]
    assert [list(map(float, row)) for row in table(tmp_path / "out/measurements")] == [
        list(map(float, line.split(","))) for line in expected
    ]


def test_real_measurements_are_cleaned_and_put_in_order(spark: Any, tmp_path: Path) -> None:
    raw = [
        "3,21,0.5,1,0,0,0",
        "1,10,2.5,1,1,0,0",
        "3,20,1.5,1,0,0,0",
        "x,y",
        "4,30,,1,0,0,0",
        "2,20,0.5,0,2,1,4",
    ]
    (tmp_path / "raw.csv").write_text("\n".join(raw))
    write(spark, smart_home(spark, input=tmp_path / "raw.csv"), tmp_path / "out")
    assert table(tmp_path / "out/measurements") == [
        ["10", "2.5", "1", "1", "0", "0"],
        ["20", "0.5", "0", "2", "1", "4"],
        ["20", "1.5", "1", "0", "0", "0"],
    ]


def test_a_corpus_is_its_texts_by_name_so_many_times(spark: Any, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "b.txt").write_text("last\n\n")
    (folder / "a.txt").write_text("fi\x00rst\tline\nsecond\n")
    write(spark, word_count(spark, input=folder, copies=2, file_lines=3), tmp_path / "out")
    assert lines(tmp_path / "out/lines") == ["first\tline", "second", "last", ""] * 2


def test_a_book_in_pieces_has_its_lines_in_order(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.conf.set("spark.sql.files.maxPartitionBytes", "20000")
    try:
        found = numbered_lines(spark, str(BOOK))
        assert found.rdd.getNumPartitions() > 3
        rows = {row["number"]: row["line"] for row in found.collect()}
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
    expected = BOOK.read_text().removesuffix("\n").split("\n")
    assert [rows[number] for number in range(len(expected))] == expected


def test_connections_come_again_with_later_times_as_the_source_repeats_them(
    spark: Any, tmp_path: Path
) -> None:
    write(spark, outlier_detection(spark, copies=2), tmp_path)
    found = list(Connections(tmp_path / "connections/part-00000.dat").events())
    assert found == list(Connections(SAMPLE, repeat=2).events())


def test_the_bytes_do_not_depend_on_the_number_of_tasks(spark: Any, tmp_path: Path) -> None:
    sums = []
    for tasks in ("1", "3"):
        spark.conf.set("spark.sql.shuffle.partitions", tasks)
        manifest = write(spark, by_parts(spark), tmp_path / tasks)
        sums.append([part["sha256"] for part in manifest["streams"]["mixed"]["files"]])
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert sums[0] == sums[1]
    assert len(sums[0]) == 4


def test_a_row_that_is_not_valid_ends_the_job_with_what_is_wrong(spark: Any, tmp_path: Path) -> None:
    (stream,) = by_parts(spark)
    assert isinstance(stream, StreamRows)
    wrong = StreamRows(**{**vars(stream), "valid": {"a name is missing": "name is not null"}})
    with pytest.raises(SparkError, match=r"writing the stream 'mixed': .*mixed: a name is missing"):
        write(spark, [wrong], tmp_path)
    assert not (tmp_path / MANIFEST).exists()
    assert list(tmp_path.iterdir()) == []


def test_the_pipeline_of_the_page_is_written_again_only_over_its_own_files(
    spark: Any, tmp_path: Path
) -> None:
    code = re.search(r"```python\n(# pipeline\.py\n.*?)```", Path("docs/spark.md").read_text(), re.DOTALL)
    assert code is not None
    page: dict[str, Any] = {}
    exec(code[1], page)
    readings = write(spark, page["pipeline"](spark, hours=3), tmp_path)["streams"]["readings"]
    assert (readings["rows"], readings["max"]) == (10_800, 10_799)
    folder = tmp_path / "readings"
    (folder / "part-00002.csv").write_text("changed")
    (folder / "part-00001.csv").unlink()
    (folder / "more.csv").touch()
    assert check_files(tmp_path) == [
        "readings/part-00001.csv is missing",
        "readings/more.csv is not in the manifest",
        "readings/part-00002.csv has changed",
    ]
    write(spark, page["pipeline"](spark, hours=1), tmp_path)
    assert [path.name for path in folder.iterdir()] == ["part-00000.csv"]
    (tmp_path / "mine").touch()
    with pytest.raises(ConfigurationError, match=r"has files that are not in its manifest\.json"):
        prepare_folder(tmp_path)


# -- spark-source -----------------------------------------------------------------------------------------------


async def test_a_source_gives_every_row_once_by_time_and_goes_on_after_a_checkpoint(
    spark: Any, flights: Callable[..., SparkSource]
) -> None:
    expected = of_spark(spark, "select * from flights")
    source = flights()
    first = await read(source, 700, 4321)
    kept = json.loads(json.dumps(source.kept_position()))
    source.on_stop()
    assert (kept["range"], source.position()) == (2, {"0": 4321})
    resumed = flights(batch_rows=50, tasks=1)  # what the checkpoint says counts
    resumed.take_back(kept)
    rows = first + await read(resumed, 1000, 10_000)
    times = [row[0] for row in rows]
    assert times == sorted(times)
    assert Counter(plain(rows)) == Counter(plain(expected))
    assert resumed.position() == {"0": len(expected)}


@pytest.mark.parametrize("what", ["orc", "json", "jdbc", "table", "sql"])
async def test_whatever_spark_reads_comes_by_time(
    spark: Any, flights: Callable[..., SparkSource], tmp_path: Path, what: str
) -> None:
    keys, expected = written_as(spark, what, tmp_path / "rows")
    assert await read(flights(**keys), 200, 500) == expected


@pytest.mark.parametrize("format", ["delta", "iceberg"])
async def test_a_table_is_read_in_the_version_that_a_run_has_begun_with(
    flights: Callable[..., SparkSource], tmp_path: Path, format: str
) -> None:
    names = ("Köln", "A/B", None, "a=b c")
    rows = [(number * 7 % 300, names[number % 4]) for number in range(300)]
    keys = table_of(format, tmp_path, rows)
    source = flights(**keys)
    found = await read(source, 20, 100)
    kept = json.loads(json.dumps(source.kept_position()))
    source.on_stop()
    assert kept["table"]["version"] is not None
    table_of(format, tmp_path, [(1, "new")], mode="overwrite")
    resumed = flights(**keys)
    resumed.take_back(kept)
    found += await read(resumed, 200, 300)
    assert found == sorted((time, name, time / 2) for time, name in rows)
    for folder in (tmp_path / TABLES).glob("name=*"):
        if folder.name != "name=new":
            shutil.rmtree(folder)  # as a clean-up of old versions does
    gone = flights(**keys)
    gone.take_back(kept)
    with pytest.raises(
        ConfigurationError,
        match=r"which the checkpoint names, cannot be read: .*(does not exist|No such file)",
    ):
        await read(gone, 10, 10)


async def test_a_server_of_sessions_gives_the_same_rows(spark: Any) -> None:
    expected = of_spark(spark, "select * from flights")
    master = f"sc://127.0.0.1:{spark.conf.get('spark.connect.grpc.binding.port')}"
    keys = {**KEYS, "path": FLIGHTS.parent / KEYS["path"], "spark": {}, "master": master}
    source = SparkSource(**{name: value for name, value in keys.items() if name != "type"})
    source.open(source.partitions())
    try:
        rows = await read(source, 1000, 10_000)
    finally:
        source.on_stop()
    assert Counter(plain(rows)) == Counter(plain(expected))
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)


async def test_a_table_that_has_changed_is_refused_on_resume(flights: Callable[..., SparkSource]) -> None:
    source = flights()
    await read(source, 100, 100)
    kept = source.kept_position()
    source.on_stop()  # or its tasks keep the slots
    other = flights(preprocess=KEYS["preprocess"].replace("'IAH'", "'SFO'"))
    other.take_back(kept)
    with pytest.raises(ConfigurationError, match=r"has changed since the checkpoint: then [\d,]+ rows"):
        await read(other, 100, 100)


async def test_row_groups_by_time_are_read_without_a_sort_and_a_run_goes_on_after_a_checkpoint(
    flights: Callable[..., SparkSource], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    expected = write_in_order(tmp_path / "in")
    keys = {
        **{"format": None, "options": None, "preprocess": None, "path": tmp_path / "in", "range_rows": 1000},
        "schema": {"ts": "datetime", "number": "int", "share": "float?"},
    }
    source = flights(**keys)
    rows = await read(source, 70, 1234)
    kept = json.loads(json.dumps(source.kept_position()))
    source.on_stop()
    assert "5,000 rows in 5 ranges, row groups by time: not sorted" in capfd.readouterr().err
    resumed = flights(**keys)
    resumed.take_back(kept)
    rows += await read(resumed, 1000, 10_000)
    times = [row[0] for row in rows]
    assert times == sorted(times)
    assert sorted(rows, key=lambda row: row[1]) == expected
    (tmp_path / "in" / "a.parquet").touch()
    changed = flights(**keys)
    changed.take_back(kept)
    with pytest.raises(ConfigurationError, match="has 5,000 rows as then, but other values or files"):
        await read(changed, 100, 100)


UNTIMED = KEYS["preprocess"].replace("time_hour)", "nullif(time_hour, '2013-01-01T10:00:00Z'))")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"preprocess": "select * frm input"}, "Syntax error at or near 'input'"),
        ({"tasks": 3}, "tasks: is 3, and local[*] has 2 slots; allowed: 1 to 2"),
        ({"preprocess": "select *, 1 as delay from input"}, "the table has no column 'ts'; allowed: "),
        ({"preprocess": UNTIMED}, '"select * from (…) where ts is not null"'),
        (
            {"preprocess": KEYS["preprocess"].replace("carrier, ", "carrier, origin, ")},
            "the table has 2 columns 'origin'; allowed: one; choose it by `preprocess`",
        ),
        ({"path": Path("/nowhere")}, "Path does not exist: file:/nowhere"),
    ],
)
async def test_bad_input_is_one_message(
    flights: Callable[..., SparkSource], changes: dict[str, Any], says: str
) -> None:
    with pytest.raises(ActorstreamError) as error:
        await read(flights(**changes), 100, 100)
    assert says in str(error.value)
    assert len(str(error.value).splitlines()) <= 15


@pytest.mark.slow
def test_a_topology_with_two_replicas_of_its_source_computes_what_spark_sql_computes(
    spark: Any, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "actorstream", "launch", str(FLIGHTS), "--workers", "2"]
    for key in ("replicas=2", "partitions=2", "range_rows=2000"):
        command += ["--set", f"actors.flights.{key}"]
    for name in ("delays", "joined"):
        command += ["--set", f"actors.{name}.path={tmp_path}/{name}.csv"]
    subprocess.run(command, check=True)
    windows = """select date_format(window.start, "yyyy-MM-dd'T'HH:mm:ss'Z'"), origin, count(*), max(delay), sum(flight)
        from flights group by window(ts, '6 hours'), origin"""
    found = [(row[0], *row[2:]) for row in list(csv.reader((tmp_path / "delays.csv").open()))[1:]]
    assert sorted(found) == sorted(tuple(map(str, row)) for row in of_spark(spark, windows))
    weather = """select ts, f.origin, carrier, flight, delay, max_by(temp, time_hour) from flights f left join weather w
        on w.origin = f.origin and to_timestamp(w.time_hour) <= ts group by all"""
    joined = [(*row[:5], row[6]) for row in list(csv.reader((tmp_path / "joined.csv").open()))[1:]]
    expected = [
        (
            row[0].strftime("%Y-%m-%dT%H:%M:%SZ"),
            *("" if each is None else str(each) for each in row[1:5]),
            str(float(row[5])),
        )
        for row in of_spark(spark, weather)
    ]
    assert sorted(joined) == sorted(expected)
