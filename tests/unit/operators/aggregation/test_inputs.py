"""Operands of a batch: fields are read where they lie, expressions are computed, times go to those who ask for them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from actorstream.native._core import ffi

from actorstream import Batch, Schema
from actorstream.native.address import address_of
from actorstream.native.kernels import FLOAT, SIGNED
from actorstream.operators.aggregation.inputs import AggregateInputs
from actorstream.operators.expressions import compile_expression

ROW = Schema.from_dict({"ts": "int", "key": "int32", "price": "float"}, event_time="ts")


def batch(rows: int = 10) -> Batch:
    return Batch.of_columns(
        ROW,
        {"ts": np.arange(rows), "key": np.arange(rows, dtype=np.int32), "price": np.arange(rows) / 2},
    )


def operands(made: Any) -> list[tuple[int, int, int]]:
    """(address of the values, of the row numbers, how they are read) of each operand."""
    buffer = bytes(ffi.buffer(made.pointer, 56 * made.count))
    flat = [struct.unpack_from("<IIqQQQQII", buffer, 56 * at) for at in range(made.count)]
    return [(each[4], each[6], each[7]) for each in flat]


def inputs(*values: str, timed: bool = True, orders: int = 0) -> AggregateInputs:
    return AggregateInputs(
        ROW, ["key"], [compile_expression(text, ROW) for text in values], timed=timed, orders=orders
    )


def test_fields_lie_where_they_lay():
    rows = batch()
    made = operands(inputs("price").fill(rows))
    assert made == [
        (address_of(rows[name]), 0, how) for name, how in (("ts", SIGNED), ("key", SIGNED), ("price", FLOAT))
    ]


def test_selected_rows_are_not_gathered():
    rows = batch()
    some = rows.take(np.array([1, 4, 5]))
    found = operands(inputs("price").fill(some))
    assert [data for data, _, _ in found] == [address_of(rows[name]) for name in ("ts", "key", "price")]
    assert len({index for _, index, _ in found} - {0}) == 1


def test_other_columns_beside_do_not_hide_what_lies_below():
    rows = batch()
    some = rows.take(np.array([1, 4, 5])).with_columns(extra=np.arange(3))
    found = operands(inputs().fill(some))
    assert [data for data, _, _ in found] == [address_of(rows["ts"]), address_of(rows["key"])]


def test_the_event_time_is_given_again_for_each_order():
    rows = batch()
    found = operands(inputs("price", orders=2).fill(rows))
    assert [data for data, _, _ in found[:3]] == [address_of(rows["ts"])] * 3


def test_rows_need_no_time_where_nobody_asks():
    assert operands(inputs(timed=False).fill(batch()))[0] == (0, 0, 0)


def test_an_expression_is_a_column_of_its_own():
    made = inputs("price * 2", "key")
    found = operands(made.fill(batch()))
    values = np.frombuffer(ffi.buffer(ffi.cast("double *", found[2][0]), 80), np.float64)
    assert values.tolist() == list(range(10))
