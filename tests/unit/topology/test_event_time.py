"""Which rows have an event time, in which unit, and who is told that there is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec
import pytest

from actorstream import Actor, Contract, Event, EventTime, Source, Topology
from actorstream.dgs import Program, Tag, Tags
from actorstream.errors import ConfigurationError


class Timed(Event):
    __event_time__ = "at"
    __time_unit__ = "us"
    at: int


class Plain(Event):
    value: int


class Times(Source):
    def events(self) -> Iterator[Timed]:
        yield Timed(1)


class Plains(Source):
    def events(self) -> Iterator[Plain]:
        yield Plain(1)


class Strip(Actor):
    def on_event(self, event: Timed | Plain) -> Plain:
        return Plain(1)


class Window(Actor):
    contract = Contract(uses_event_time=True)

    def on_event(self, event: Event) -> Plain:
        return Plain(1)


def test_rows_that_descend_from_timed_ones_have_their_time_in_its_unit():
    topology = Topology()
    topology.source(Times).through(Strip, name="strip").through(Window, name="window").collect()
    graph = topology.graph()
    assert [actor.timed for actor in graph.actors.values()] == [True] * 4
    assert graph.actors["strip"].outputs["default"].time_unit == "us"
    assert graph.actors["window"].input_schemas[0].time_unit == "us"
    assert graph.actors["strip"].outputs["default"].event_time is None


def test_an_actor_that_needs_event_time_is_told_of_each_input_without():
    topology = Topology()
    plain = topology.source(Plains, name="plain")
    timed = topology.source(Times, name="timed")
    strip = plain.through(Strip, name="strip")
    topology.actor("window", Window, [strip, timed, timed["dead"].named("letters")]).collect()
    with pytest.raises(ConfigurationError) as raised:
        topology.graph()
    found = [(each.where, each.message) for each in raised.value.problems]
    kind = f"{Window.__module__}:Window"
    wants = f"have no event time, which {kind!r} needs"
    assert found == [
        ("actors.window.inputs[0]", f"the rows of 'strip' {wants}"),
        ("actors.window.inputs[2]", f"the rows of 'timed.dead' {wants}"),
    ]


class Counted(Event):
    until: EventTime
    n: int


class Counts(Program):
    """Emits rows without an event time, and others that have one, both for each event."""

    class State(msgspec.Struct):
        n: int = 0

    tags: ClassVar = {"times": "time"}
    outputs: ClassVar = {"default": Plain, "counted": Counted}

    def depends(self, one: Tag, other: Tag) -> bool:
        return True

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        return state, self.State()

    def join(self, left: State, right: State) -> State:
        return left

    def update(self, state: State, event: Timed, tag: Tag) -> Iterator[Plain]:
        state.n += 1
        self.emit(Counted(event.at, state.n), to="counted")
        yield Plain(state.n)


class Hears(Actor):
    """Looks at event time and does without."""

    def on_event(self, event: Plain) -> Plain:
        return event

    def on_heartbeat(self, frontier: int) -> None:
        pass


def counts() -> Topology:
    topology = Topology()
    times = topology.source(Times, name="times")
    topology.actor("counts", Counts, {"from": times.source, "order": "dependency"})
    return topology


def test_what_a_program_emits_has_an_event_time_if_its_class_has_a_field_for_it():
    topology = counts()
    topology["counts.counted"].through(Window, name="timed").collect()
    topology["counts"].through(Window, name="plain").collect()
    with pytest.raises(ConfigurationError) as raised:
        topology.graph()
    [problem] = raised.value.problems
    assert (problem.where, problem.message.split(",")[0]) == (
        "actors.plain.inputs[0]",
        "the rows of 'counts' have no event time",
    )
    assert problem.hint == "annotate a field of the rows that 'counts' emits as EventTime"


def test_actors_that_hear_of_event_time_can_read_rows_of_a_program_that_have_none():
    topology = counts()
    out = topology["counts"].through(Hears).collect()
    counted = topology["counts.counted"].through(Window).collect()
    topology.run()
    assert (out, counted) == ([Plain(1)], [Plain(1)])
