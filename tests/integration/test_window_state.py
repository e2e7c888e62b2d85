"""The state of windows grows with keys and open windows and never with time, in runs of many windows."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from actorstream import Topology
from actorstream.operators.aggregate import Aggregate


class Watched(Aggregate):
    """An `aggregate` that notes how large its state is after each watermark."""

    sizes: ClassVar[list[int]] = []

    def on_heartbeat(self, frontier: int) -> Any:
        yield from super().on_heartbeat(frontier) or ()
        self.sizes.append(self.state_bytes)


AGGREGATES = {
    "n": "count()",
    "km": "sum(km)",
    "first": "first(name)",
    "names": "count_distinct(name)",
    "middle": "quantile(km, 0.5)",
}


@pytest.mark.parametrize(
    "keys",
    [
        {"window": {"type": "tumbling", "size": 500}},
        {"window": {"type": "sliding", "size": 1000, "slide": 250, "allowed_lateness": 400}},
        {"window": {"type": "tumbling", "size": 500, "allowed_lateness": 700}, "emit": "updates"},
        {"window": {"type": "session", "gap": 300}},
        {"window": {"type": "count", "size": 7}, "ttl": 900},
        {"ttl": 900},
    ],
    ids=["tumbling", "sliding", "updates", "session", "count with ttl", "no window with ttl"],
)
def test_state_does_not_grow_with_the_length_of_a_run_whose_keys_come_and_go(keys: dict[str, Any]) -> None:
    Watched.sizes.clear()
    topology = Topology()
    rows = topology.source(
        "generator-source",
        name="rows",
        count=200_000,
        event_time="ts",
        schema={
            "ts": "int",
            "km": {"type": "int", "distribution": "uniform", "high": 1000},
            "name": {"type": "str", "distribution": "uniform", "high": 10**9, "prefix": "name-"},
            "spread": {"type": "int", "distribution": "uniform", "high": 300},
        },
    )
    keyed = rows.through("map", set={"key": "ts - spread"})
    out = keyed.through(Watched, name="windows", key="key", aggregates=AGGREGATES, **keys)
    counted = out.through("reduce", name="counted", aggregate={"rows": "sum(n)", "results": "count()"})
    found = counted.collect()
    topology.run(batch_size=100)
    assert found[0].rows == 200_000 or keys.get("emit") or keys.get("window", {}).get("type") == "sliding"
    assert found[0].results > 100_000
    assert len(Watched.sizes) > 30
    assert max(Watched.sizes) < 8 * found[0].results, "more than the keys of the whole run alone would take"
