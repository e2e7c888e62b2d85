"""Which rows have an event time, in which unit, and who is told that there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actorstream import Actor, Contract, Event, Source, Topology
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
