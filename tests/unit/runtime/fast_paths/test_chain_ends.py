"""A batch that one end of a chain cannot take goes through the hooks, and no other end has taken it before."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream.errors import RunError
from actorstream.topology.builder import Topology
from tests.unit.operators import natives
from tests.unit.runtime.fast_paths.chained import Ran, by_hooks
from tests.unit.runtime.fast_paths.test_read_chain import Batches, columns_of

WINDOW = {"type": "tumbling", "size": "2s"}
BUILT_IN = {"rows": "count()", "total": "sum(number)"}
FAILING = {
    "n": "count()",
    "total": {
        "native": natives.cffi_total_to_13,
        "merge": natives.cffi_total,
        "columns": ["number"],
        "returns": "int",
    },
}
"""`total` fails for a batch with the number 13."""
ENDS = {"first": [FAILING], "second": [BUILT_IN, FAILING]}


def topology_of(
    columns: dict[str, list[Any]], ends: list[tuple[str, dict[str, Any]]], *, windowed: bool, on_error: str
) -> tuple[Topology, list[Any]]:
    """A source, and filters and aggregates behind it: of each end the condition and what it aggregates."""
    topology = Topology("ends")
    rows = topology.source(Batches, name="in", columns=columns, time_unit="ms")
    keys: dict[str, Any] = {"window": WINDOW} if windowed else {}
    out = []
    for number, (where, aggregates) in enumerate(ends):
        kept = rows.through("filter", name=f"some{number}", where=where)
        made = kept.through(
            "aggregate", name=f"windows{number}", aggregates=aggregates, on_error=on_error, **keys
        )
        out.append(made.collect())
    return topology, out


@pytest.mark.parametrize("windowed", [True, False])
@pytest.mark.parametrize("place", ENDS)
@pytest.mark.parametrize("on_error", ["skip", "dead-letter"])
def test_a_batch_of_which_a_native_aggregate_fails_is_added_once(
    on_error: str, place: str, windowed: bool
) -> None:
    ends = [("number >= 0", each) for each in ENDS[place]]
    columns = columns_of(3000, 1, 0)
    chain = Ran(*topology_of(columns, ends, windowed=windowed, on_error=on_error), batch_size=20)
    hooks = by_hooks(*topology_of(columns, ends, windowed=windowed, on_error=on_error), batch_size=20)
    assert chain.rows == hooks.rows
    assert chain.counts == hooks.counts


@pytest.mark.parametrize("place", ENDS)
def test_the_error_of_a_native_aggregate_says_what_its_function_answered(place: str) -> None:
    ends = [("number >= 0", each) for each in ENDS[place]]
    topology, _ = topology_of(columns_of(3000, 1, 0), ends, windowed=True, on_error="fail")
    with pytest.raises(RunError, match="answered 7"):
        topology.run(transport="local", workers=1, batch_size=20)


def test_a_row_beyond_all_windows_is_one_end_s_alone() -> None:
    columns = columns_of(3000, 1, 0)
    last = next(row for row in range(2999, 0, -1) if columns["number"][row] >= 10)
    columns = {name: each[: last + 1] for name, each in columns.items()}
    columns["time"][-1] = 2**62
    ends = [("number < 10", BUILT_IN), ("number >= 10", BUILT_IN)]
    chain = Ran(*topology_of(columns, ends, windowed=True, on_error="skip"), batch_size=20)
    hooks = by_hooks(*topology_of(columns, ends, windowed=True, on_error="skip"), batch_size=20)
    assert chain.rows == hooks.rows
    assert chain.taken > 1000
