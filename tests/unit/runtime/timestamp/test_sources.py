"""The stamp of a source refuses rows that come out of order; where it sorts them, the watermarks mark them as behind."""

from __future__ import annotations

import numpy as np
import pytest

from actorstream.errors import DataError
from actorstream.events.batch import Batch
from actorstream.events.fields import WATERMARK
from actorstream.events.representation import known_times
from actorstream.runtime.source_unit import SourceUnit
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect
from tests.integration.timestamp_parts import PooledTicks, Tick, Ticks
from tests.unit.runtime.timestamp.timed_worker import TimedWorker


class Heard(Ticks):
    """It may bring rows of any promised time, in any order."""

    def on_heartbeat(self, time: int) -> None:
        """It only has to be able to."""


def source(kind: type[Ticks]) -> SourceUnit:
    topology = Topology("sources")
    first, second = (
        topology.source(kind, name="first", count=0),
        topology.source(Ticks, name="second", count=0),
    )
    read, other = (each.broadcast().ordered("timestamp") for each in (first, second))
    read.through(PooledTicks, other, name="reader").forward().into(Collect, name="out")
    unit = TimedWorker(topology).unit("first")
    assert isinstance(unit, SourceUnit)
    return unit


def rows(*times: int) -> Batch:
    zeros = np.zeros(len(times), np.int64)
    numbers = np.arange(len(times))
    return Batch.of_columns(
        Tick, {"t": np.array(times), "who": zeros, "part": zeros, "n": numbers, "key": zeros}
    )


def test_rows_that_are_sorted_go_on_without_a_watermark(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = source(Heard)
    sent: list[Batch] = []
    monkeypatch.setattr(unit.head, "send", lambda batch, output: sent.append(batch))
    unit._send(rows(20, 50, 10, 40), 1, 1)
    unit.head.advance(100)
    assert [batch["t"].tolist() for batch in sent] == [[10, 20, 40, 50]]
    assert WATERMARK not in sent[0].carried()


def test_rows_out_of_order_are_refused_where_they_are_checked() -> None:
    unit = source(Ticks)
    first = rows(10, 20, 20)
    unit._send(first, 1, 1)
    assert known_times(first) == (10, 20)
    with pytest.raises(DataError, match="event time 15"):
        unit._send(rows(20, 30, 15), 1, 1)


def test_rows_out_of_order_are_behind_their_watermark_where_they_are_sorted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unit = source(Heard)
    sent: list[Batch] = []
    monkeypatch.setattr(unit.head, "forward", sent.append)
    first = rows(20, 50, 10, 40)
    unit._send(first, 1, 1)
    assert known_times(first) is None
    assert WATERMARK in sent[0].carried()
    assert (sent[0].system[WATERMARK].data > -(2**63)).tolist() == [False, False, True, True]
