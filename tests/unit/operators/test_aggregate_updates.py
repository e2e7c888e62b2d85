"""Updates and early results: what has come out last of a window is what its rows say; nothing comes out unchanged."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Batch, Schema
from actorstream.operators.aggregate import Aggregate
from tests.unit.operators.aggregate_model import Row
from tests.unit.operators.test_aggregate import aggregated, expected
from tests.unit.operators.timed import Windows, values


class Fed:
    """An `aggregate` outside a topology, with what it has answered."""

    def __init__(self, snapshot: Any = None, **keys: Any) -> None:
        self.late: list[tuple[Any, ...]] = []
        self.inputs = {"rows": Schema.of(Row)}
        self.actor = Aggregate(**{"aggregates": {"n": "sum(number)"}, "key": "other", **keys})
        self.actor._bind(self)
        if snapshot is not None:
            self.actor.restore(snapshot)
        self.actor.on_start()

    def emit(self, batch: Batch, to: str) -> None:
        assert to == "late"
        self.late += [values(each) for each in batch.events()]

    def count_late(self, rows: int) -> None:
        assert rows > 0

    def rows(self, *rows: tuple[int, int, int], mark: int | None = None) -> list[tuple[Any, ...]]:
        """Gives rows (time, key, number), which may be behind the watermark `mark`."""
        return listed(self.actor.on_batch(self.batch(*rows, mark=mark)))

    def batch(self, *rows: tuple[int, int, int], mark: int | None = None) -> Batch:
        events = [Row(ts, None, other, None, number, "") for ts, other, number in rows]
        batch = Batch.of_columns(
            Schema.of(Row),
            {name: [getattr(each, name) for each in events] for name in Schema.of(Row).names()},
        )
        if mark is not None:
            batch = batch.with_system(_watermark=[mark] * len(rows))
        return batch

    def watermark(self, frontier: int) -> list[tuple[Any, ...]]:
        return listed(self.actor.on_heartbeat(frontier))

    def end(self) -> list[tuple[Any, ...]]:
        return listed(self.actor.on_end())


def listed(batches: Any) -> list[tuple[Any, ...]]:
    batches = [batches] if isinstance(batches, Batch) else batches or ()
    return [values(each) for batch in batches for each in batch.events()]


TUMBLING = {"type": "tumbling", "size": 10}


def test_updates_come_when_a_window_ends_and_when_late_rows_change_it():
    fed = Fed(window=TUMBLING, allowed_lateness=20, emit="updates")
    fed.rows((1, 0, 1), (2, 1, 2), (12, 0, 4))
    assert fed.watermark(9) == []
    assert fed.watermark(10) == [(0, 10, 0, 1), (0, 10, 1, 2)]
    assert fed.watermark(12) == []
    fed.rows((3, 1, 8), mark=12)
    assert fed.watermark(13) == [(0, 10, 1, 10)]
    assert fed.watermark(20) == [(10, 20, 0, 4)]
    fed.rows((4, 0, 16), (5, 2, 1), mark=20)
    assert fed.watermark(40) == [(0, 10, 0, 17), (0, 10, 2, 1)]
    fed.rows((5, 0, 1), mark=40)
    assert fed.late == [(5, None, 0, None, 1, "")]
    assert fed.end() == []


def test_updates_that_were_not_sent_come_out_at_the_end_of_the_input():
    fed = Fed(window=TUMBLING, allowed_lateness=20, emit="updates")
    fed.rows((1, 0, 1))
    assert fed.watermark(10) == [(0, 10, 0, 1)]
    fed.rows((2, 0, 1), mark=10)
    fed.rows((12, 3, 5))
    assert fed.end() == [(0, 10, 0, 2), (10, 20, 3, 5)]


def test_early_results_come_after_so_many_rows_however_they_are_batched():
    for split in (1, 2, 5):
        fed = Fed(window=TUMBLING, every=2)
        rows = [(1, 0, 1), (2, 1, 2), (3, 0, 4), (13, 1, 8), (4, 2, 16)]
        found = [each for at in range(0, 5, split) for each in fed.rows(*rows[at : at + split])]
        assert found == [(0, 10, 0, 1), (0, 10, 1, 2), (0, 10, 0, 5), (10, 20, 1, 8)]
        assert fed.watermark(10) == [(0, 10, 0, 5), (0, 10, 1, 2), (0, 10, 2, 16)]
        assert fed.end() == [(10, 20, 1, 8)]


def test_early_results_come_whenever_event_time_has_gone_on_so_far():
    fed = Fed(window=TUMBLING, every="5ms")
    fed.rows((1, 0, 1))
    assert fed.watermark(4) == []
    assert fed.watermark(6) == [(0, 10, 0, 1)]
    fed.rows((6, 0, 2), (11, 1, 7))
    assert fed.watermark(9) == []
    assert fed.watermark(10) == [(0, 10, 0, 3), (10, 20, 1, 7)]
    assert fed.watermark(16) == []
    assert fed.watermark(20) == [(10, 20, 1, 7)]


def test_early_results_of_the_whole_stream():
    fed = Fed(every=2)
    assert fed.rows((1, 0, 1), (2, 1, 2), (3, 0, 4)) == [(0, 1), (1, 2)]
    assert fed.rows((4, 0, 8)) == [(0, 13)]
    assert fed.end() == [(0, 13), (1, 2)]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2), st.integers(-5, 5)), max_size=50),
    windows=st.sampled_from([Windows(10, 10, 0, 30), Windows(10, 5, 0, 3), Windows(9, 4, 1, 5)]),
    emit=st.sampled_from(["final", "updates"]),
    every=st.sampled_from([None, 1, 7, "3ms"]),
    slack=st.sampled_from([0, 3]),
    batch_size=st.sampled_from([1, 4]),
)
def test_the_last_update_of_every_window_is_what_plain_python_says(
    rows, windows, emit, every, slack, batch_size
):
    parts = {"0": [Row(ts, None, other, None, number, "") for ts, other, number in rows]}
    texts = ["sum(number)", "count()"]
    keys: dict[str, Any] = {} if every is None else {"every": every}
    found, late, _ = aggregated(
        parts,
        ["other"],
        texts,
        slack,
        deploy={"batch_size": batch_size},
        window=windows.table(),
        emit=emit,
        **keys,
    )
    wanted, wanted_late = expected(parts, windows, slack, ["other"], texts)
    assert late == wanted_late
    assert sorted({each[:3]: each for each in found}.values()) == sorted(wanted)
    if every is None and emit == "final":
        assert found == wanted
    counts: dict[tuple[Any, ...], int] = {}
    for each in found:
        assert each[-1] >= counts.get(each[:3], 1)
        counts[each[:3]] = each[-1]


@pytest.mark.parametrize("emit", ["final", "updates"])
def test_state_of_closed_windows_is_let_go_of_also_with_updates(emit):
    fed = Fed(window=TUMBLING, allowed_lateness=5, emit=emit, every=100)
    sizes = []
    for turn in range(100):
        fed.rows(*((turn * 10 + at % 10, at % 50, at) for at in range(200)))
        fed.watermark(turn * 10)
        sizes.append(fed.actor.state_bytes)
    assert max(sizes[50:]) <= max(sizes[:10])
