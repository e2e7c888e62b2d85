"""A standalone cluster on this machine: it feeds actors, runs their workers, and loses an executor or a worker meanwhile."""

from __future__ import annotations

import csv
import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from time import sleep

import pytest

from actorstream.checkpoint.store import CheckpointStore
from apps.linear_road import reference
from apps.linear_road.events import Report

from .cluster import Cluster, standalone_cluster
from .conftest import SHORT
from .flights import FLIGHTS, KEYS
from .gated import LOOK_S

SETTINGS = {
    **SHORT,
    "spark.executor.extraJavaOptions": SHORT["spark.driver.extraJavaOptions"],
    "spark.executor.memory": "512m",
}
ROADS = Path("apps/linear_road")


@pytest.mark.slow
def test_a_cluster_runs_workers_and_feeds_them_and_no_row_is_lost_or_doubled_when_it_loses_a_part(
    tmp_path: Path,
) -> None:
    """One test, since to start a cluster takes longer than what runs on it."""
    with standalone_cluster(tmp_path, cores=2) as (cluster, workers):
        check_run_whose_executor_is_killed(cluster, workers[0], tmp_path)
        check_source_whose_cluster_loses_a_worker(cluster, workers[1], tmp_path)


@contextmanager
def launched(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """`actorstream launch`, which is ended if a test fails."""
    command = [sys.executable, "-m", "actorstream", "launch", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        with process:
            yield process
    finally:
        process.kill()


def said_until(process: subprocess.Popen[str], pattern: str) -> str:
    """What a process says on stderr, up to a line that fits, or all."""
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if re.search(pattern, line):
            break
    return said


def sets(**values: object) -> list[str]:
    return [
        word for name, value in values.items() for word in ("--set", f"{name.replace('__', '.')}={value}")
    ]


FIRST = 2000
"""Rows that each replica of a gated source gives before the gate is there."""
FIRST_FLIGHTS, WEATHER = 600, 498
"""Rows that the source of the flights gives before its gate is there, and all of the weather."""
SPARK_REPORTS = """[actors.reports]
type = "tests.spark.gated:GatedSource"
gate = "{gate}"
first = {first}
format = "csv"
preprocess = '''select {columns} from input'''
range_rows = 20000
batch_rows = 500
replicas = 2
partitions = 2
"""


def roads_from_spark(folder: Path) -> Path:
    """The topology of the app, its reports read by Spark."""
    names = enumerate(Report.__struct_fields__)
    columns = ", ".join(f"bigint(_c{number}) {name}" for number, name in names)
    text = (ROADS / "topology.toml").read_text()
    reports = SPARK_REPORTS.format(columns=columns, gate=folder / "gate", first=FIRST)
    text = text.replace('[actors.reports]\ntype = "csv-source"\n', reports)
    text = text.replace("header = false\n", "").replace('"data/', f'"{(ROADS / "data").resolve()}/')
    (folder / "roads.toml").write_text(text)
    return folder / "roads.toml"


def check_run_whose_executor_is_killed(cluster: Cluster, worker: int, tmp_path: Path) -> None:
    """Its workers start again on the cluster, and go on from the checkpoint; Spark reads for them in the same application."""
    outputs = ("new_segments", "tolls", "accident_alerts", "toll_charges", "segment_stats")
    settings = [
        each for name in outputs for each in sets(**{f"actors__{name}__path": tmp_path / f"{name}.csv"})
    ]
    (tmp_path / "deploy.toml").write_text(
        f'batch_size = 64\n[checkpoint]\npath = "{tmp_path}/state"\nevery = "50ms"\n'
    )
    options = ["--on", cluster.master, "--workers", "2", "--deploy", str(tmp_path / "deploy.toml")]
    options += [word for name, value in SETTINGS.items() for word in ("--spark", f"{name}={value}")]
    store = CheckpointStore(f"{tmp_path}/state")
    with launched(str(roads_from_spark(tmp_path)), *options, *settings) as process:
        said = said_until(process, "2 workers, 2 tasks that read in 4 slots")
        said += said_until(process, r"  \d[\d,]{3,} events")
        made = store.last() or 0
        while (store.last() or 0) < made + 2 and process.poll() is None:
            sleep(LOOK_S)
        cluster.kill_executors(worker)
        (tmp_path / "gate").touch()
        said += said_until(process, "never said")
    assert process.returncode == 0, said
    assert "Spark starts the workers again (attempt 2)" in said
    rows = list(reference.read(ROADS / "data/dense.dat.gz"))
    done = re.findall(r"linear-road: done: ([\d,]+) events", said)
    assert len(done) == 1, said
    assert 0 < int(done[0].replace(",", "")) < len(rows)  # the rows behind the checkpoint
    expected = reference.LinearRoad().run(rows).results
    for name in outputs[:4]:
        with (tmp_path / f"{name}.csv").open() as file:
            found = [tuple(map(int, row)) for row in list(csv.reader(file))[1:]]
        assert sorted(found) == sorted(expected[name])


def check_source_whose_cluster_loses_a_worker(cluster: Cluster, worker: int, tmp_path: Path) -> None:
    """Each worker has one slot, so one is left for two tasks, and each has to leave it to the other."""
    paths = {name: tmp_path / f"{name}.csv" for name in ("delays", "joined")}
    spark = json.dumps({**SETTINGS, "spark.task.cpus": "2"}).replace('": ', '"=')
    gate = tmp_path / "worker-lost"
    settings = sets(actors__flights__type="tests.spark.gated:GatedSource", actors__flights__gate=gate)
    settings += sets(actors__flights__first=FIRST_FLIGHTS, actors__flights__range_rows=10_000)
    settings += sets(
        actors__flights__batch_rows=200
    )  # 15 for each task, which is at most 4 ahead of the other one
    settings += sets(actors__flights__master=cluster.master, actors__flights__spark=spark)
    settings += [each for name, path in paths.items() for each in sets(**{f"actors__{name}__path": path})]
    with launched(str(FLIGHTS), "--workers", "2", *settings) as process:
        said = said_until(process, f"  {FIRST_FLIGHTS + WEATHER:,} events")
        cluster.kill(worker)
        gate.touch()
        said += said_until(process, "never said")
    assert "task has left its slot to another one" in said
    assert process.returncode == 0, said
    rows = flights()
    with paths["joined"].open() as file:
        joined = [(row[1], row[2], int(row[3])) for row in list(csv.reader(file))[1:]]
    assert Counter(joined) == Counter((origin, carrier, number) for _, origin, carrier, number in rows)
    with paths["delays"].open() as file:
        windows = Counter({(row[0], row[2]): int(row[3]) for row in list(csv.reader(file))[1:]})
    assert windows == Counter((f"{window(ts):%Y-%m-%dT%H:%M:%SZ}", origin) for ts, origin, _, _ in rows)


def flights() -> list[tuple[datetime, str, str, int]]:
    """ts, origin, carrier and flight as `preprocess` makes them."""
    with gzip.open(FLIGHTS.parent / KEYS["path"], "rt") as file:
        return [
            (
                datetime.fromisoformat(row["time_hour"])
                + timedelta(minutes=int(row["sched_dep_time"]) % 100),
                *(row["origin"], row["carrier"], int(row["flight"])),
            )
            for row in csv.DictReader(file)
            if row["dest"] != "IAH"
        ]


def window(ts: datetime) -> datetime:
    return ts.replace(hour=ts.hour // 6 * 6, minute=0)
