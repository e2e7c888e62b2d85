"""Event time behind a program: the rows of `end` are in time for windows, whose results nobody holds up who has no more rows."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec
import pytest

from actorstream import Topology
from actorstream.dgs import Program, Tag, Tags
from actorstream.topology.stream import Stream
from tests.integration.parts import Collect, Number
from tests.integration.test_idle_sources import SOON, WINDOWS, TellsAtWindow, Told, counted, pipe

DEPLOYMENTS = pytest.mark.parametrize(
    "deploy",
    [
        pytest.param({}, id="local"),
        pytest.param({"transport": "shm", "workers": 2}, id="shm"),
        pytest.param({"transport": "shm", "workers": 2, "pipelining": False}, id="shm-queued"),
        pytest.param({"transport": "shm", "workers": 3, "testing": {"delay": "1ms", "seed": 1}}, id="delays"),
    ],
)


class Values(Program):
    """Lets values through; a mark tells how many there were."""

    outputs: ClassVar = {"default": Number}

    class State(msgspec.Struct):
        count: int = 0

    tags: ClassVar = {"marks": "mark", "values": "value"}

    def depends(self, one: Tag, other: Tag) -> bool:
        return "mark" in (one.name, other.name)

    def update(self, state: State, event: Number, tag: Tag) -> Number:
        if tag.name == "mark":
            return Number(event.value, 1)
        state.count += 1
        return Number(event.value, 0)

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        return state, self.State()

    def join(self, left: State, right: State) -> State:
        return self.State(left.count + right.count)


class Ending(Values):
    """It tells the number of values at its end, too, as a row of time 995."""

    def end(self, state: Any) -> Number:
        return Number(995, state.count)


class EndingApart(Ending):
    """All values are independent, so that the root has no events."""

    def depends(self, one: Tag, other: Tag) -> bool:
        return False


def program(topology: Topology, cls: type[Program], **values: Any) -> Stream:
    """A program with ten marks, and values of two streams unless `values` says otherwise."""
    marks = [Number(value, 0) for value in range(5, 1000, 100)]
    topology.actor("marks", "memory-source", items=marks, event=Number)
    rows = [Number(value, 0) for value in range(1000)]
    parts = {"0": rows, "1": rows}
    values = values or {"type": "memory-source", "items": parts, "event": Number, "replicas": 2}
    topology.actor("values", values.pop("type"), **values)
    return topology.actor(
        "program", cls, [{"from": name, "order": "dependency"} for name in ("marks", "values")]
    )


@DEPLOYMENTS
@pytest.mark.parametrize("between", [False, True], ids=["at once", "behind a map"])
@pytest.mark.parametrize("cls", [Ending, EndingApart])
def test_rows_of_the_end_are_in_time_for_the_window_of_the_last_events(
    cls: type[Program], between: bool, deploy: dict[str, Any]
) -> None:
    topology = Topology()
    rows = program(topology, cls)
    if between:
        rows = rows.through("map", name="between", set={"group": "group"})
    windows = rows.through("aggregate", name="windows", **WINDOWS)
    windows.into(Collect, name="out")
    windows.late.into(Collect, name="too-late")
    run = topology.run(**deploy)
    assert not run["too-late"]
    assert [row[-1] for row in run["out"] if row[2] == 2000] == [1]


@DEPLOYMENTS
@pytest.mark.parametrize("cls", [Values, Ending, EndingApart])
def test_windows_come_out_while_one_stream_goes_on_and_the_other_has_ended(
    cls: type[Program], deploy: dict[str, Any]
) -> None:
    """The live stream ends when a window of its rows behind all marks has come out."""
    with pipe() as (hears, told):
        topology = Topology()
        live = {"type": Told, "hears": hears, "first": [1, 2001, 2012, 2025], "then": [2030]}
        windows = program(topology, cls, **live).through("aggregate", name="windows", **WINDOWS)
        windows.into(TellsAtWindow, name="out", told=told, end=2020)
        run = topology.run(**deploy)
    assert {end: rows for end, rows in counted(run["out"]).items() if end > 1000} == {
        2010: 1,
        2020: 1,
        2030: 1,
        2040: 1,
    }


@DEPLOYMENTS
@pytest.mark.parametrize("cls", [Values, Ending])
def test_a_program_that_has_ended_closes_no_window_of_an_input_that_is_silent(
    cls: type[Program], deploy: dict[str, Any]
) -> None:
    with pipe() as (hears, told):
        topology = Topology()
        rows = program(topology, cls)
        silent = topology.source(
            Told, name="silent", hears=hears, first=[], then=[3, 2000, 2010], idle_timeout=SOON
        )
        windows = topology.actor("windows", "aggregate", [rows, silent], **WINDOWS)
        windows.into(TellsAtWindow, name="out", told=told, end=990)
        windows.late.into(Collect, name="too-late")
        run = topology.run(**deploy)
    assert run["too-late"] == [(3, 0)]
    assert {end: rows for end, rows in counted(run["out"]).items() if end > 2000} == {2010: 1, 2020: 1}
