"""Spark calls these parts of the format actorstream. The tests call them without a session of Spark."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql.types import IntegerType, StringType, StructField, StructType, TimestampType

from actorstream.dataframes.data_source import TopologyStreamReader, TopologyWriter, WrittenPart
from actorstream.dataframes.topology_run import TopologyOptions

TOPOLOGY = """
name = "copied"
[actors.rows]
type = "csv-source"
path = "none.csv"
schema = { at = "datetime?", key = "int?", name = "str?" }
[actors.out]
type = "csv-sink"
inputs = ["rows"]
path = "out.csv"
"""
FIELDS = {"at": TimestampType(), "key": IntegerType(), "name": StringType()}


def test_a_dataframe_without_rows_is_an_input_without_rows(tmp_path: Path) -> None:
    (tmp_path / "topology.toml").write_text(TOPOLOGY)
    options = TopologyOptions.of({"topology": str(tmp_path / "topology.toml")})
    schema = StructType([StructField(name, kind) for name, kind in FIELDS.items()])
    TopologyWriter(options, "rows", schema).commit([WrittenPart(0, ""), None])
    assert (tmp_path / "out.csv").read_text().splitlines() == ["at,key,name"]


def test_a_stream_has_all_files_up_to_the_first_that_is_missing(tmp_path: Path) -> None:
    options = TopologyOptions.of({"topology": "none.toml", "folder": str(tmp_path)})
    reader = TopologyStreamReader(options, "out")
    reader.rows.mkdir()
    for number in range(20_000):
        (reader.rows / f"part-{number}.parquet").touch()
    (reader.rows / "part-20001.parquet").touch()
    found = reader._files()
    assert found == [str(reader.rows / f"part-{number}.parquet") for number in range(20_000)]
