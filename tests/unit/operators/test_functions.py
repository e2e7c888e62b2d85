"""User functions in C, from Numba, cffi and ctypes, as map, filter and aggregate; no null reaches them."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream import Batch, Event
from actorstream.errors import RunError
from actorstream.operators.filter import Filter
from actorstream.operators.map import Map
from actorstream.operators.reduce import Reduce
from tests.unit.operators import natives
from tests.unit.operators.trades import DEPLOYMENTS, ROWS, fields, problems, through

MAKERS = ["numba", "cffi", "ctypes"]


class Nullable(Event):
    price: float | None
    quantity: int | None


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("deploy", DEPLOYMENTS)
def test_a_native_map_filter_and_aggregate_give_what_python_gives(maker: str, deploy: dict[str, Any]) -> None:
    value, dear, total = (getattr(natives, f"{maker}_{name}") for name in ("value", "dear", "total"))
    columns = ["price", "quantity"]
    mapped = through(
        Map, deploy=deploy, native=value, columns=columns, returns={"value": "float"}, select=["value"]
    )
    assert fields(mapped) == [(row.price * row.quantity,) for row in ROWS]
    assert through(Filter, deploy=deploy, native=dear, columns=["price"]) == [
        r for r in ROWS if r.price > 100
    ]
    reduced = through(Reduce, deploy=deploy, native=total, columns=["quantity"], returns={"n": "int"})
    assert fields(reduced) == [(sum(row.quantity for row in ROWS),)]


@pytest.mark.parametrize("maker", MAKERS)
def test_rows_with_a_null_are_left_out(maker: str) -> None:
    rows = [
        Nullable(None if row % 3 == 0 else row * 50.0, None if row % 4 == 0 else row) for row in range(200)
    ]
    value, dear, total = (getattr(natives, f"{maker}_{name}") for name in ("value", "dear", "total"))
    mapped = through(
        Map, rows, native=value, columns=["price", "quantity"], returns={"value": "float"}, select=["value"]
    )
    assert fields(mapped) == [
        (None if row.price is None or row.quantity is None else row.price * row.quantity,) for row in rows
    ]
    assert through(Filter, rows, native=dear, columns=["price"]) == [
        r for r in rows if r.price and r.price > 100
    ]
    reduced = through(Reduce, rows, native=total, columns=["quantity"], returns={"n": "int"})
    assert fields(reduced) == [(sum(row.quantity or 0 for row in rows),)]


def test_a_function_may_say_itself_what_it_takes_and_returns() -> None:
    assert fields(through(Map, native=natives.described, select=["value"])) == [
        (r.price * r.quantity,) for r in ROWS
    ]


def test_an_answer_other_than_0_is_an_error_of_the_batch() -> None:
    with pytest.raises(RunError, match="answered 7"):
        through(Filter, native=natives.cffi_refuse, columns=["price"])


def test_an_address_is_a_function_too() -> None:
    address = int(natives.ffi.cast("uintptr_t", natives.cffi_dear))
    kept = Filter(native=address, columns=["price"]).on_batch(Batch.of_events(type(ROWS[0]), ROWS))
    assert kept is not None and kept.events() == [row for row in ROWS if row.price > 100]


@pytest.mark.parametrize(
    ("keys", "where", "message"),
    [
        ({"native": natives.not_compiled_to_c, "columns": ["price"]}, "native", "CPUDispatcher"),
        ({"native": natives.another_signature, "columns": ["price"]}, "native", "is a Numba cfunc"),
        ({"native": natives.wrong_ctypes, "columns": ["price"]}, "native", "takes 1 arguments"),
        ({"native": len, "columns": ["price"]}, "native", "builtin_function_or_method len"),
        ({"native": "nowhere:nothing", "columns": ["price"]}, "native", "module 'nowhere' is not found"),
        ({"native": natives.cffi_dear}, "columns", "is missing"),
        ({"native": natives.cffi_dear, "columns": ["prise"]}, "columns", "there is no field 'prise'"),
        ({"native": natives.cffi_dear, "columns": ["note"]}, "columns", "has no fixed width"),
    ],
)
def test_what_is_no_such_function_is_said_before_the_run(
    keys: dict[str, Any], where: str, message: str
) -> None:
    ((found, said),) = problems("filter", **keys)
    assert found == where and message in said
