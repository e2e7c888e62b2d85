"""Rows that the tests of map, filter, split, union and reduce send through the real runtime."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from actorstream import Event, Topology


class Trade(Event, event_time="at"):
    at: int
    price: float
    quantity: int
    kind: Literal["buy", "sell"]
    note: str | None = None


ROWS = [
    Trade(row * 10, row / 4, row % 7, "buy" if row % 3 else "sell", None if row % 2 else f"n{row}")
    for row in range(1500)
]
DEPLOYMENTS = [
    pytest.param({}, id="local"),
    pytest.param({"batch_size": 7, "pipelining": False}, id="local-7"),
    pytest.param({"transport": "shm", "workers": 2}, id="shm"),
    pytest.param(
        {"transport": "shm", "workers": 2, "batch_size": 64, "placement": "round-robin"}, id="shm-64"
    ),
]


def through(
    operator: Any, rows: list[Any] = ROWS, deploy: dict[str, Any] | None = None, **keys: Any
) -> list[Any]:
    """What the default output of an operator gives for rows, in the order of one replica."""
    topology = Topology("test")
    found = topology.source(rows).through(operator, **keys).collect()
    topology.run(**(deploy or {}))
    return list(found)


def problems(operator: Any, **keys: Any) -> list[tuple[str, str]]:
    """(where, message) of everything that is wrong with an operator's keys."""
    from actorstream.errors import ConfigurationError

    topology = Topology("test")
    topology.source(ROWS[:3], name="rows").through(operator, name="it", **keys).collect()
    try:
        topology.graph()
    except ConfigurationError as error:
        return [
            (each.where.removeprefix("actors.it."), each.message.split("\n")[0]) for each in error.problems
        ]
    return []


def fields(rows: list[Any]) -> list[tuple[Any, ...]]:
    return [tuple(getattr(row, name) for name in row.__struct_fields__) for row in rows]
