from __future__ import annotations

import pytest

from actorstream.topology.builder import Topology
from actorstream.topology.spec import InputSpec
from actorstream.topology.stream import Collected, Stream

from .conftest import Lines, Passing


@pytest.fixture
def lines() -> Stream:
    return Topology().source(Lines)


def test_each_way_of_reading_is_an_input(lines: Stream) -> None:
    assert lines.input() == InputSpec(from_="lines")
    assert lines.by("a").input() == InputSpec(from_="lines", route="key", key="a")
    assert lines.by("a", "b").input() == InputSpec(from_="lines", route="key", key=["a", "b"])
    assert lines.ranges("a", [1, 2]).input() == InputSpec(
        from_="lines", route="range", key="a", bounds=[1, 2]
    )
    assert lines.forward().input() == InputSpec(from_="lines", route="forward")
    assert lines.shuffle().input() == InputSpec(from_="lines", route="shuffle")
    assert lines.broadcast().input() == InputSpec(from_="lines", route="broadcast")
    assert lines.to_one().input() == InputSpec(from_="lines", route="global")
    assert lines.routed("m:f").input() == InputSpec(from_="lines", route="m:f")
    assert lines.ordered("serial").named("x").input() == InputSpec(from_="lines", order="serial", name="x")


def test_outputs_are_streams_of_their_own(lines: Stream) -> None:
    assert lines.by("a")["final"].input() == InputSpec(from_="lines.final")
    assert (lines.late.source, lines.dead.source, lines.source) == ("lines.late", "lines.dead", "lines")


def test_saying_how_to_read_changes_nothing(lines: Stream) -> None:
    lines.by("a")
    assert lines.input() == InputSpec(from_="lines")


def test_several_streams_are_read_in_the_order_given(lines: Stream) -> None:
    other = lines.topology.source(Lines, name="other")
    joined = lines.through(Passing, other.by("line"), name="joined")
    assert [each.from_ for each in joined.topology.spec().actors["joined"].inputs] == ["lines", "other"]


def test_into_answers_the_topology(lines: Stream) -> None:
    assert lines.into("null-sink") is lines.topology


def test_collect_is_a_sequence_that_is_empty_before_the_run(lines: Stream) -> None:
    collected = lines.collect("seen")
    assert lines.topology.spec().actors["seen"].type == "memory-sink"
    assert repr(collected) == "<Collected 'seen', before the run>"
    assert (len(collected), collected.finished) == (0, False)
    collected.fill(iter("ab"))
    assert collected == ["a", "b"]
    assert collected[0] == "a"
    assert collected[1:] == ["b"]
    assert list(collected) == ["a", "b"]
    assert repr(collected) == "['a', 'b']"


def test_a_collection_equals_lists_and_collections_of_the_same_events() -> None:
    one, other = Collected("a"), Collected("b")
    one.fill([1])
    assert one != other
    other.fill([1])
    assert one == other
    assert one != (1,)
