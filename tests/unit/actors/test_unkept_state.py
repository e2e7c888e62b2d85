"""Each change that a class makes beside `self.state` is found in its source code."""

from __future__ import annotations

from typing import Any

from actorstream.actors.actor import Actor
from actorstream.actors.unkept_state import unkept
from actorstream.connectors.sink import Sink
from actorstream.connectors.source import Source
from actorstream.operators.filter import Filter


class Counts(Actor):
    """Changes what it holds in every way."""

    def __init__(self, limit: int = 3) -> None:
        self.limit, self.seen, self.rows, self.last = limit, set[int](), 0, [0]
        self.groups: dict[str, list[int]] = {}
        self.inner: Any = None

    def on_start(self) -> None:
        self.opened = True

    def on_event(self, event: Any) -> None:
        self.rows += 1
        self.seen.add(event.number)
        self.last[0] = event.number
        self.note(event)
        local = [self.limit]
        local.append(2)
        event.rows = 3

    def note(self, event: Any) -> None:
        self.groups[event.key].append(event.number)
        del self.inner.part

    async def on_timer(self, name: str) -> None:
        self.state = {"name": name}
        self.state["more"] = 1
        self.fresh, (self.newer, _) = 1, (2, 3)


FOUND = {
    "fresh": "on_timer",
    "groups": "note",
    "inner": "note",
    "last": "on_event",
    "newer": "on_timer",
    "rows": "on_event",
    "seen": "on_event",
}


class More(Counts):
    """Inherits what its base changes, but for a method of its own."""

    def note(self, event: Any) -> None:
        self.noted = True


class Keeps(Counts):
    """Says itself what is kept."""

    def snapshot(self) -> Any:
        return [self.rows]


class State(Actor):
    """As it should be."""

    def __init__(self) -> None:
        self.state: dict[str, int] = {}

    def on_event(self, event: Any) -> None:
        self.state[event.key] = self.state.get(event.key, 0) + 1
        self.state.setdefault("all", 0)


class Alarms(Sink):
    """A sink counts, too."""

    def on_event(self, event: Any) -> None:
        self.printed = event


class Rows(Source):
    """How far a source is, its `position` says."""

    def read(self, max_rows: int) -> None:
        self.row = max_rows


def test_every_change_beside_the_state_is_found_with_the_method_that_makes_it() -> None:
    assert unkept(Counts) == FOUND
    assert list(unkept(Counts)) == sorted(FOUND)
    assert unkept(More) == {**{k: v for k, v in FOUND.items() if v != "note"}, "noted": "note"}
    assert unkept(Alarms) == {"printed": "on_event"}


def test_state_own_snapshots_sources_built_ins_and_classes_without_source_have_none() -> None:
    made: dict[str, Any] = {"Actor": Actor}
    exec("class Made(Actor):\n    def on_event(self, event):\n        self.rows = 1\n", made)
    for cls in (State, Keeps, Rows, Filter, Actor, made["Made"], int):
        assert unkept(cls) == {}
