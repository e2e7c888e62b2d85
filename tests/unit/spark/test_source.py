"""spark-source: what `check` says before a minute is spent on the start of Spark."""

from __future__ import annotations

import os
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from actorstream import Event, Source, Topology
from actorstream.cli.main import main
from actorstream.connectors.history_then_live import HistoryThenLive
from actorstream.connectors.source_table import SourceTable
from actorstream.spark.hub import HUB
from actorstream.spark.source import SparkSource
from actorstream.topology.conversion import convert

TOPOLOGY = """
[actors.rows]
type = "spark-source"
path = "{path}"
master = "{master}"
schema = {{ ts = "int" }}
event_time = "ts"

[actors.out]
type = "null-sink"
inputs = ["rows"]
"""


def check(folder: Path, path: str, master: str) -> int:
    topology = folder / "topology.toml"
    topology.write_text(TOPOLOGY.format(path=path, master=master))
    return main(["check", str(topology)])


@pytest.mark.parametrize("path", ["none.parquet", "none-*.parquet", "none/"])
def test_a_path_of_this_machine_that_does_not_exist_is_an_error_of_check(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, path, "local[2]") == 2
    said = capsys.readouterr()
    assert "topology.toml:4: actors.rows.path:" in said.out + said.err
    assert "does not exist" in said.out + said.err


@pytest.mark.parametrize(
    ("path", "master"),
    [
        ("rows.parquet", "local[*]"),
        ("*.parquet", "local[*]"),
        ("s3a://bucket/rows", "local[*]"),
        ("hdfs://name:8020/rows", "yarn"),
        ("/only/executors/see/it", "spark://host:7077"),
    ],
)
def test_a_path_that_spark_may_see_is_accepted(path: str, master: str, tmp_path: Path) -> None:
    (tmp_path / "rows.parquet").touch()
    assert check(tmp_path, path, master) == 0


def test_the_url_of_an_input_stays_as_it_was_written_and_a_path_is_relative_to_its_file() -> None:
    annotation = typing.get_type_hints(SparkSource.__init__, include_extras=True)["path"]
    base = Path("/files/of/the/topology")
    assert convert("s3a://bucket/rows", annotation, base) == "s3a://bucket/rows"
    assert convert("rows", annotation, base) == base / "rows"


@pytest.mark.parametrize("partitions", [1, 2])
def test_replicas_meet_if_the_class_of_their_source_says_so(partitions: int) -> None:
    keys = {"type": "spark-source", "sql": "select 1 as n", "schema": {"n": "int"}, "partitions": partitions}
    csv = {"type": "csv-source", "path": "live.csv", "schema": {"n": "int"}}
    history, live = (SourceTable.of_table(each, Path.cwd()) for each in (keys, csv))
    contracts = [
        SparkSource.contract_of(keys),
        HistoryThenLive.contract_of({"history": history, "live": live}),
        HistoryThenLive.contract_of({"history": live, "live": history}),
    ]
    assert [each.replicas_meet for each in contracts] == [partitions == 2] * 3


class Told(Event):
    hub: str


class OwnPartitions(Source):
    """A source with a key `partitions` of its own."""

    def __init__(self, *, numbers: list[int], **keys: Any) -> None:
        super().__init__()
        self.numbers, self.others = numbers, keys

    def events(self) -> Iterator[Told]:
        yield Told(os.environ.get(HUB, ""))


def test_a_key_of_that_name_starts_no_hub_for_another_source() -> None:
    topology = Topology()
    found = topology.source(OwnPartitions, numbers=[1], partitions=2).collect()
    topology.run()
    assert [event.hub for event in found] == [""]
