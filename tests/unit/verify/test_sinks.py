"""What is compared of each sink: as a sequence exactly where nothing but the input decides the order of its rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actorstream import Actor, Batch, Event, Topology
from actorstream.connectors.sink import Sink
from actorstream.topology.graph import Graph
from actorstream.topology.stream import Stream
from actorstream.verify.built import BuiltTarget
from actorstream.verify.deployments import Deployment
from actorstream.verify.sinks import SinkOutput, outputs


class Row(Event):
    value: int


class Pass(Actor):
    def on_event(self, event: Row) -> Row:
        return event


class Ticks(Pass):
    def on_timer(self, name: str) -> None:
        """Says nothing, but could."""


class Alarm(Sink):
    def on_event(self, event: Row) -> None:
        """Would ring."""


class Writer(Sink):
    def __init__(self, path: Path) -> None:
        self.path = path

    def on_batch(self, batch: Batch) -> None:
        """Would write."""


def checked(topology: Topology) -> Graph:
    return BuiltTarget(topology).graph(Deployment(0, {}))


def graph(build: Callable[[Stream], Any], path: str = "out/rows.csv", **keys: Any) -> Graph:
    """The graph of a source, what `build` makes of it, and a csv-sink behind."""
    topology = Topology("t")
    source = topology.source([Row(1)], name="rows")
    build(source).into("csv-sink", name="out", path=path, **keys)
    return checked(topology)


def how(build: Callable[[Stream], Any], **keys: Any) -> str:
    ((output,), notes, problems) = outputs(graph(build, **keys), memory=False)
    assert not notes and not problems
    return output.how


@pytest.mark.parametrize(
    "build",
    [
        lambda rows: rows,
        lambda rows: rows.through(Pass).through(Pass),
        lambda rows: rows.through(Pass, replicas=3).ordered("serial"),
        lambda rows: rows.through(Pass, replicas=3).ordered("serial").through(Pass),
        lambda rows: rows.through("map", select=["value"]),
        lambda rows: rows.through(Pass, replicas=2).ordered("serial").through("top", n=3, by=["value"]),
        lambda rows: rows.through(Pass, replicas=2).through("top", n=3, by=["value"]),
    ],
)
def test_rows_in_an_order_that_an_input_asks_for_or_of_a_single_channel_are_a_sequence(
    build: Callable[[Stream], Any],
) -> None:
    assert how(build) == "sequence"


@pytest.mark.parametrize(
    "build",
    [
        lambda rows: rows.through(Pass, replicas=2),
        lambda rows: rows.through(Pass, replicas=2).through(Pass),
        lambda rows: rows.through(Pass).through("union", rows.through(Pass)),
        lambda rows: rows.through(Ticks),
        lambda rows: rows.through(Pass, replicas=2).through(
            "top", n=3, by=["value"], replicas=2, key="value"
        ),
    ],
)
def test_rows_that_come_as_they_come_are_a_multiset(build: Callable[[Stream], Any]) -> None:
    assert how(build) == "multiset"


def test_parts_are_sequences_each_if_a_row_has_one_part_it_can_go_to() -> None:
    def found(build: Callable[[Stream], Any]) -> SinkOutput:
        ((output,), _, _) = outputs(graph(build, "out/parts", replicas=2), memory=False)
        return output

    keyed = found(lambda rows: rows.through(Pass, replicas=3).by("value").ordered("serial"))
    assert (keyed.each, keyed.how) == (True, "sequence")
    dealt = found(lambda rows: rows.through(Pass, replicas=3).shuffle())
    assert (dealt.each, dealt.how) == (False, "multiset")


@pytest.mark.parametrize(
    ("kind", "path", "keys", "header", "form"),
    [
        ("csv-sink", "a/b.csv.gz", {}, True, "csv"),
        ("csv-sink", "b.csv", {"header": False}, False, "csv"),
        ("jsonl-sink", "b.jsonl", {}, False, "lines"),
        ("parquet-sink", "b.parquet", {}, False, "parquet"),
        (Writer, "b.bin", {}, False, "lines"),
    ],
)
def test_every_sink_with_a_path_is_read_as_its_format_says(
    kind: Any, path: str, keys: dict[str, Any], header: bool, form: str
) -> None:
    topology = Topology("t")
    topology.source([Row(1)], name="rows").into(kind, name="out", path=path, **keys)
    ((output,), _, problems) = outputs(checked(topology), memory=False)
    assert not problems
    assert (output.kind, output.name, output.header, output.format) == ("file", Path(path).name, header, form)


def test_a_sink_that_cannot_be_led_elsewhere_is_a_problem_unless_it_is_skipped() -> None:
    topology = Topology("t")
    topology.source([Row(1)], name="rows").into(Alarm, name="alarm")
    built = checked(topology)
    found, _, problems = outputs(built, memory=False)
    assert not found
    assert [each.where for each in problems] == ["actors.alarm"]
    assert outputs(built, memory=False, skip=["alarm"]) == ([], ["alarm is not compared"], [])
    (wrong,) = outputs(built, memory=False, skip=["alarm", "rows"])[2]
    assert wrong.where == "--skip"


def test_rows_in_memory_are_compared_where_they_can_be_had() -> None:
    topology = Topology("t")
    topology.source([Row(1)], name="rows").collect("kept")
    built = checked(topology)
    assert outputs(built, memory=True)[0] == [SinkOutput("kept", "memory", "sequence")]
    found, notes, _ = outputs(built, memory=False)
    assert not found and "kept is not compared" in notes[0]


def test_several_consoles_are_one_output_whose_lines_mix_and_null_sinks_are_none() -> None:
    topology = Topology("t")
    rows = topology.source([Row(1)], name="rows")
    rows.into("console-sink", name="one")
    rows.into("null-sink", name="none")
    ((alone,), notes, _) = outputs(checked(topology), memory=False)
    assert (alone.sink, alone.kind, alone.how) == ("one", "console", "sequence")
    assert notes == ["none is not compared"]
    assert outputs(checked(topology), memory=False, no_console="why")[1][0] == "one is not compared: why"
    rows.into("console-sink", name="two")
    ((both,), _, _) = outputs(checked(topology), memory=False)
    assert (both.sink, both.how) == ("one and two", "multiset")
