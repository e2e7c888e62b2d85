"""Rows go through memory to a run of a topology and back, as tasks and drivers of Spark send them; Spark itself is not there."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from actorstream.dataframes.memory_link import INPUT, MemoryLink, answered
from actorstream.dataframes.memory_streams import (
    MemoryPart,
    MemoryStreamReader,
    MemoryStreamWriter,
    check_options,
)
from actorstream.dataframes.topology_run import TopologyOptions
from actorstream.errors import ConfigurationError, RunError

DOUBLED = """
name = "doubled"
[actors.rows]
type = "generator-source"
schema = { n = "int" }
[actors.twice]
type = "map"
inputs = ["rows"]
set = { n = "n * 2" }
[actors.out]
type = "null-sink"
inputs = ["twice"]
"""


@pytest.fixture
def options(tmp_path: Path) -> Iterator[TopologyOptions]:
    (tmp_path / "doubled.toml").write_text(DOUBLED)
    run = {"topology": str(tmp_path / "doubled.toml"), "folder": str(tmp_path / "run"), "through": "memory"}
    yield TopologyOptions.of({**run, "set": 'deploy.transport="local"'})
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_text()
        except OSError:
            continue
        if str(tmp_path) in command and "launch" in command:
            os.kill(int(path.parent.name), signal.SIGTERM)


def rows(*numbers: int) -> Iterator[Any]:
    return iter([pa.record_batch({"n": pa.array([number], pa.int64())}) for number in numbers])


def came(reader: MemoryStreamReader, start: dict[str, Any], count: int) -> tuple[list[int], dict[str, Any]]:
    end = reader.latestOffset()
    while end["rows"] - start["rows"] < count:
        end = reader.latestOffset()
    (partition,) = reader.partitions(start, end)
    return [each for batch in reader.read(partition) for each in batch.column("n").to_pylist()], end


def test_a_batch_counts_once_its_parts_by_task_and_what_was_read_may_be_read_again(
    options: TopologyOptions,
) -> None:
    writer, reader = MemoryStreamWriter(options), MemoryStreamReader(options)
    parts = [writer.write(rows(3, 4)), writer.write(rows(1)), writer.write(rows())]
    parts[0].task = 1
    lost = writer.write(rows(99))  # of an attempt that does not count
    lost.task = 0
    writer.commit([*parts, None], 0)
    writer.commit([*parts], 0)  # Spark commits it again
    found, end = came(reader, reader.initialOffset(), 3)
    assert found == [2, 6, 8]
    assert came(reader, reader.initialOffset(), 3)[0] == found
    reader.commit({**end, "run": "another"})  # a query with the checkpoint of a run that has ended
    assert came(reader, reader.initialOffset(), 3)[0] == found
    reader.commit(end)
    with pytest.raises(RunError, match="row 0 is one of a run that has ended"):
        came(reader, reader.initialOffset(), 3)
    with pytest.raises(RunError, match="row 3 is one of a run that has ended"):
        list(reader.read(reader.partitions({**end, "run": "another"}, {**end, "rows": 4})[0]))
    with pytest.raises(RunError, match=r"batch 1, after 1 batches, is one of a run that has ended"):
        writer.commit([MemoryPart(0, "lost")], 1)
    with pytest.raises(RunError, match=r"batch 7, after 1 batches, is one of a run that has ended"):
        writer.commit([], 7)


def test_rows_without_a_column_of_the_topology_are_one_message(options: TopologyOptions) -> None:
    writer = MemoryStreamWriter(options)
    with pytest.raises(RunError, match=r"the query's rows have no column 'n'; they have \['m'\]"):
        writer.write(iter([pa.record_batch({"m": [1]})]))
    question = {"what": "rows", "batch": 0, "attempt": "x"}
    link = MemoryLink(Path(options.folder), INPUT)
    file = link.ask(**question)
    assert link._link is not None
    link._link.sendall(b"no Arrow")
    link._link.shutdown(socket.SHUT_WR)  # a task that has gone
    with pytest.raises(RunError, match="has ended while a query waited"):
        answered(file)
    link.close()


def test_a_way_that_rows_cannot_go_is_one_message(options: TopologyOptions) -> None:
    with pytest.raises(ConfigurationError, match="through: is 'magic'; allowed: files or memory"):
        check_options(options._replace(through="magic"))
