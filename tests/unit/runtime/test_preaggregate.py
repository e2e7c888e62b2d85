"""The rows beside the results of an aggregate in two steps come from both of them, whatever their replicas."""

from __future__ import annotations

import pytest

from actorstream import Event, Topology


class Row(Event):
    __event_time__ = "ts"
    ts: int
    key: int


PARTS = {str(part): [Row(time, part) for time in (5, 100, 7, 120, 8)] for part in range(3)}


@pytest.mark.parametrize("two_steps", [True, False])
@pytest.mark.parametrize("replicas", [1, 2])
def test_late_rows_reach_a_sink_and_an_aggregate_however_many_replicas_either_step_has(replicas, two_steps):
    topology = Topology()
    rows = topology.source(PARTS, name="rows", replicas=3)
    window = {"type": "tumbling", "size": 10}
    made = rows.through("aggregate", aggregates={"n": "count()"}, key="key", window=window, replicas=replicas)
    late = made.late.collect()
    counted = made.late.through("aggregate", name="counted", aggregates={"n": "count()"}, key="ts").collect()
    out = made.collect()
    topology.run(pre_aggregation=two_steps)
    assert sorted((row.ts, row.key) for row in late) == [(ts, key) for ts in (7, 8) for key in range(3)]
    assert sorted((row.ts, row.n) for row in counted) == [(7, 3), (8, 3)]
    assert sum(row.n for row in out) == 9
