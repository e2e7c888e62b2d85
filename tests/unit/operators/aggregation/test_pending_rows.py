"""Rows that are held come out by their watermark, and within it the latest first."""

from __future__ import annotations

import numpy as np

from actorstream import Batch, Schema
from actorstream.operators.aggregation.pending_rows import PendingRows

ROW = Schema.from_dict({"ts": "int", "number": "int"}, event_time="ts")


def batch(*times: int) -> Batch:
    return Batch.of_columns(ROW, {"ts": list(times), "number": [10 * time for time in times]})


def held() -> PendingRows:
    made = PendingRows(ROW)
    made.add(batch(3, 7, 5), np.array([9, 8, 9]))
    made.add(batch(6), np.array([20]))
    return made


def test_rows_come_out_once_the_watermark_is_above_theirs():
    made = held()
    assert made.take(8) is None
    found = made.take(10)
    assert found is not None
    assert (found[0]["ts"].tolist(), found[1].tolist()) == ([7, 5, 3], [8, 9, 9])
    assert found[0]["number"].tolist() == [70, 50, 30]
    assert made.take(20) is None
    rest = made.take(21)
    assert rest is not None
    assert rest[0]["ts"].tolist() == [6]
    assert made.nbytes == 0


def test_what_is_restored_comes_out_as_before():
    again = PendingRows(ROW)
    again.restore(held().snapshot())
    found = again.take(100)
    assert found is not None
    assert found[0]["ts"].tolist() == [7, 5, 3, 6]
    assert again.take(100) is None
