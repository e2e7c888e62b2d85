"""Rows that go from Spark to actors and back: a run that is killed, its files read by Spark. One session for all tests here."""

from __future__ import annotations

import csv
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actorstream.errors import WorkerDiedError
from actorstream.launch.launcher import Launcher
from actorstream.launch.resume import restore_job
from actorstream.launch.run import run_job
from actorstream.plan.compile import read_job

from .conftest import SHORT
from .flights import FLIGHTS, KEYS, of_spark

COLUMNS = ("ts", "origin", "carrier", "flight", "delay")
QUICK = ", ".join(f'"{name}" = "{value}"' for name, value in SHORT.items())
CUT = "2013-01-02T00:00:00Z"
BOOTSTRAP = f"""
name = "bootstrap"
[actors.flights]
type = "history-then-live"
cut = {CUT}
rate = 4000
live = {{ type = "csv-source", path = "live.csv" }}
event_time = "ts"
schema = {{ ts = "datetime", origin = "str", carrier = "str", flight = "int", delay = "float?" }}
[actors.flights.history]
type = "spark-source"
format = "csv"
path = "{FLIGHTS.parent / KEYS["path"]}"
options = {{ header = "true" }}
preprocess = '''{KEYS["preprocess"]}'''
spark = {{ {QUICK} }}
[actors.windows]
type = "aggregate"
inputs = [{{ from = "flights", key = "origin" }}]
key = ["origin"]
window = {{ type = "tumbling", size = "6h" }}
aggregates = {{ flights = "count()", most = "max(delay)" }}
[actors.table]
type = "spark-sink"
inputs = ["flights"]
path = "table"
partition_by = ["origin", "carrier"]
[actors.per-window]
type = "spark-sink"
inputs = ["windows"]
path = "windows"
"""


def launch(folder: Path, control: Callable[[Launcher], Callable[[], None]] | None = None) -> Any:
    (folder / "topology.toml").write_text(BOOTSTRAP)
    (folder / "deploy.toml").write_text('batch_size = 64\n[checkpoint]\npath = "state"\nevery = "50ms"\n')
    job = read_job(folder / "topology.toml", folder / "deploy.toml", [])
    restore_job(job)
    return run_job(job, on_start=None if control is None else lambda launcher, _: control(launcher))


def kill_in(folder: Path) -> Callable[[Launcher], Callable[[], None]]:
    """Kills a worker once rows of the run are visible and some checkpoints more were made."""

    def control(launcher: Launcher) -> Callable[[], None]:
        made: list[int] = []

        def tick() -> None:
            assert launcher.checkpoints is not None
            if not made and any((folder / "table").glob("origin=*/*/*.parquet")):
                made.append(launcher.checkpoints.made)
            if made and launcher.checkpoints.made > made[0] + 2:
                random.Random(1).choice(launcher.workers).kill()

        return tick

    return control


def test_a_history_from_spark_and_live_rows_are_a_table_that_spark_reads_with_each_row_once_after_a_kill(
    spark: Any, tmp_path: Path
) -> None:
    rows = of_spark(spark, f"select {', '.join(COLUMNS)} from flights order by {', '.join(COLUMNS)}")
    with (tmp_path / "live.csv").open("w") as file:
        csv.writer(file).writerows([COLUMNS, *(row for row in rows if row[0].isoformat() > "2013-01-01T12")])
    with pytest.raises(WorkerDiedError):
        launch(tmp_path, kill_in(tmp_path))
    seen = spark.read.parquet(str(tmp_path / "table")).count()
    assert 0 < seen < len(rows)
    report = launch(tmp_path).report
    assert 0 < report["events_out"]["flights"] < len(rows)
    found = [tuple(row) for row in spark.read.parquet(str(tmp_path / "table")).select(*COLUMNS).collect()]
    assert Counter(found) == Counter(rows)
    windows = [
        tuple(row) for row in spark.read.parquet(str(tmp_path / "windows")).drop("window_end").collect()
    ]
    expected = "select window.start, origin, count(*), max(delay) from flights group by window(ts, '6 hours'), origin"
    assert sorted(windows) == sorted(of_spark(spark, expected))
