"""Saved rows."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from actorstream.errors import ActorstreamError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.saved import save_rows, saved_rows
from actorstream.events.schema import Schema


class Trade(Event):
    at: int
    symbol: str
    price: float | None


TRADES = [Trade(3, "a", 1.5), Trade(4, "", None), Trade(5, "ccc", 2.0)]


def through_a_file(saved: object) -> object:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(saved))


def test_rows_and_their_system_columns_come_back() -> None:
    batch = Batch.of_events(Trade, TRADES).with_system(_position=np.arange(3), _origin=np.full(3, 7))
    found = saved_rows(Schema.of(Trade), through_a_file(save_rows(batch)))  # type: ignore[arg-type]
    assert found.events() == TRADES
    assert {name: column.data.tolist() for name, column in found.system.items()} == {
        "_position": [0, 1, 2],
        "_origin": [7, 7, 7],
    }


def test_a_run_or_a_selection_of_rows_is_saved_alone() -> None:
    batch = Batch.of_events(Trade, TRADES).with_system(_time=np.array([9, 8, 7]))
    for some, rows in ((batch.slice(1, 2), [1, 2]), (batch.take(np.array([2, 0])), [2, 0])):
        found = saved_rows(Schema.of(Trade), save_rows(some))
        assert found.events() == [TRADES[row] for row in rows]
        assert found.system["_time"].data.tolist() == [9 - row for row in rows]
        assert len(save_rows(some)[1]) <= len(save_rows(batch)[1])


def test_rows_without_system_columns_or_none_at_all_come_back() -> None:
    found = saved_rows(Schema.of(Trade), save_rows(Batch.of_events(Trade, TRADES)))
    assert (found.events(), found.system) == (TRADES, {})
    assert saved_rows(Schema.of(Trade), save_rows(Batch.of_events(Trade, []))).rows == 0


def test_rows_of_another_schema_are_refused() -> None:
    saved = save_rows(Batch.of_columns(Schema.of(Trade), {"at": [1], "symbol": ["x"], "price": [1.0]}))

    class Other(Event):
        at: int

    with pytest.raises(ActorstreamError):
        saved_rows(Schema.of(Other), saved).events()
