"""Rows that are held in their ring."""

from __future__ import annotations

import random

import numpy as np
import pytest

from actorstream import Event, EventTime
from actorstream.events.batch import Batch
from actorstream.runtime.dependency.tag_lane import HeldFrame


class Row(Event):
    ts: EventTime
    value: int


@pytest.mark.parametrize("rows", [1, 5, 1024, 3079])
def test_events_of_any_slices_are_those_rows(rows: int) -> None:
    batch = Batch.of_columns(Row, {"ts": np.arange(rows), "value": np.arange(rows) * 3})
    chance, held, first, found = random.Random(rows), HeldFrame(batch), 0, []
    while first < rows:
        last = min(rows, first + chance.choice([1, 2, 100, 1024, 2048]))
        found += held.events(first, last)
        held.finished(last - first)
        first = last
    assert found == batch.events()
    assert not held.left and held.batch is None
