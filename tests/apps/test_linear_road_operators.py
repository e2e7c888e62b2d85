"""The operators of Linear Road, called directly, against the sequential reference: for any traffic in any batches, also
after their states have been saved and loaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Actor, Batch
from apps.linear_road import kernel, operators, reference
from apps.linear_road.events import Accident, Assessment, Position, Report, SegmentStats
from apps.linear_road.kernel import State
from apps.linear_road.reference import COLUMNS, LinearRoad, Row

APP = Path(reference.__file__).parent
FIELDS = Report.__struct_fields__
Results = dict[str, list[Row]]


class Outputs:
    """The context of an actor that is called directly: keeps what it emits."""

    def __init__(self) -> None:
        self.emitted: dict[str, list[Batch]] = defaultdict(list)

    def emit(self, item: Batch, to: str) -> None:
        self.emitted[to].append(item)

    def take(self, output: str) -> list[Batch]:
        return self.emitted.pop(output, [])


def started(actor: Actor) -> Any:
    actor._bind(Outputs())  # type: ignore[arg-type]
    return actor


def call(hook: Any, batches: list[Batch]) -> list[Batch]:
    """What a hook returns and emits to the output `default`."""
    outputs = hook.__self__.context
    found: list[Batch] = []
    for batch in batches:
        returned = hook(batch)
        found += [*outputs.take("default"), *([returned] if returned is not None else [])]
    return [each for each in found if each.rows]


def rows_of(batches: list[Batch], names: tuple[str, ...]) -> list[Row]:
    return [row for batch in batches for row in zip(*(batch[name].tolist() for name in names))]


def stats_of(batches: list[Batch]) -> Batch:
    """The statistics of one minute, as the built-in aggregate has them."""
    found: dict[tuple[int, ...], list[Any]] = defaultdict(lambda: [0, set(), 0])
    for time, vid, speed, *segment in rows_of(batches, ("time", "vid", "spd", "xway", "dir", "seg")):
        each = found[time // 60 + 1, *segment]
        each[0], each[2] = each[0] + 1, each[2] + speed
        each[1].add(vid)
    rows = [(*key, count, len(cars), speeds) for key, (count, cars, speeds) in sorted(found.items())]
    return Batch.of_columns(SegmentStats, columns_of(rows, SegmentStats.__struct_fields__))


def columns_of(rows: Sequence[Row], names: tuple[str, ...]) -> dict[str, list[int]]:
    return {name: [row[number] for row in rows] for number, name in enumerate(names)}


def played(rows: list[Row], size: int, *, saves: bool = False) -> tuple[Results, int]:
    """What the operators make of rows, minute by minute, in batches of `size`; how many requests there were.

    saves: after each minute all states are saved, and loaded by new operators."""
    kinds = (operators.PosRep, operators.Cars, operators.Accidents, operators.Tolls, operators.Charges)
    pos_rep, cars, accidents, tolls, charges = (started(kind()) for kind in kinds)
    found: Results = {name: [] for name in COLUMNS}
    requests = 0
    minutes = np.array([row[1] // 60 for row in rows], np.int64)
    cuts = [0, *(np.flatnonzero(np.diff(minutes)) + 1).tolist(), len(rows)]
    for first, end in pairwise(cuts):
        given_rows = [rows[at : min(at + size, end)] for at in range(first, end, size)]
        batches = [Batch.of_columns(Report, columns_of(part, FIELDS)) for part in given_rows]
        positions = call(pos_rep.on_batch, batches)
        requests += sum(batch.rows for batch in pos_rep.context.take("requests"))
        found["new_segments"] += rows_of(call(cars.on_batch, positions), COLUMNS["new_segments"])
        entries = cars.context.take("entries")
        call(tolls.on_accidents, call(accidents.on_batch, cars.context.take("stops")))
        found["tolls"] += rows_of(call(tolls.on_entries, entries), COLUMNS["tolls"])
        found["accident_alerts"] += rows_of(tolls.context.take("alerts"), COLUMNS["accident_alerts"])
        charged = call(charges.on_batch, tolls.context.take("assessments"))
        found["toll_charges"] += rows_of(charged, COLUMNS["toll_charges"])
        if positions:
            stats = stats_of(positions)
            found["segment_stats"] += rows_of([stats], COLUMNS["segment_stats"])
            tolls.on_stats(stats)
        if saves:
            cars, accidents, tolls, charges = map(moved, (cars, accidents, tolls, charges))
    return found, requests


def moved(actor: Actor) -> Any:
    """A new operator in the state of another one."""
    made = started(type(actor)())
    made.restore(actor.snapshot())
    return made


@st.composite
def traffic(draw: st.DrawFn) -> list[Row]:
    """Reports of a few cars on a few segments, from few places, so that they stop, crash, leave and come back."""
    time, rows = 0, []
    for _ in range(draw(st.integers(0, 40))):
        time += draw(st.sampled_from((0, 0, 1, 10, 30, 61)))
        if draw(st.integers(0, 30)) == 0:
            rows.append((draw(st.integers(2, 4)), time, 1, *[-1] * 12))
            continue
        vid, xway, direction = draw(st.integers(1, 6)), draw(st.integers(0, 1)), draw(st.integers(0, 1))
        lane, seg = draw(st.sampled_from((0, 1, 1, 1, 2, 4))), draw(st.integers(0, 6))
        speed = draw(st.integers(0, 100))
        seg, repeats = (3, draw(st.integers(1, 5))) if draw(st.booleans()) else (seg, 1)
        for _ in range(repeats):
            rows.append((0, time, vid, speed, xway, lane, direction, seg, seg * 5280, *[-1] * 6))
            time += draw(st.sampled_from((0, 30)))
    return rows


def reference_of(rows: list[Row]) -> LinearRoad:
    return LinearRoad().run(rows)


@settings(deadline=None, max_examples=30)
@given(traffic(), st.sampled_from((1, 7, 4096)), st.booleans())
def test_operators_find_what_the_reference_finds_in_any_traffic(
    rows: list[Row], size: int, saves: bool
) -> None:
    expected = reference_of(rows)
    found, requests = played(rows, size, saves=saves)
    assert found == expected.results
    assert requests == expected.requests.total()


@pytest.mark.parametrize("size", [7, 4096])
def test_operators_find_what_the_reference_finds_in_the_dense_sample(size: int) -> None:
    rows = list(reference.read(APP / "data" / "dense.dat.gz"))
    assert played(rows, size)[0] == reference_of(rows).results


def positions(rows: Sequence[Row]) -> Batch:
    return Batch.of_columns(Position, columns_of(rows, Position.__struct_fields__))


@given(traffic(), st.integers(1, 20))
def test_new_seg_alone_finds_the_same_new_segments(rows: list[Row], size: int) -> None:
    reports = [row[1:9] for row in rows if row[0] == 0]
    new_seg = started(operators.NewSeg())
    batches = [positions(reports[at : at + size]) for at in range(0, len(reports), size)]
    found = rows_of(call(new_seg.on_batch, batches), COLUMNS["new_segments"])
    assert found == reference_of(rows).results["new_segments"]


def test_an_accident_is_announced_from_the_minute_after_it_until_the_minute_in_which_it_is_over() -> None:
    tolls = started(operators.Tolls())
    place = {"xway": 0, "dir": 0, "seg": 5, "lane": 1, "pos": 5 * 5280}

    def accident(time: int, begins: bool) -> Batch:
        row = {**place, "time": time, "begins": begins}
        return Batch.of_columns(Accident, {name: [row[name]] for name in Accident.__struct_fields__})

    def alerted(time: int, seg: int, direction: int = 0) -> bool:
        cars = started(operators.Cars())
        cars.on_batch(positions([(time, 1, 50, 0, 1, direction, seg, seg * 5280)]))
        call(tolls.on_entries, cars.context.take("entries"))
        return bool(tolls.context.take("alerts"))

    tolls.on_accidents(accident(119, True))
    assert [alerted(time, 3) for time in (60, 119, 120, 600)] == [False, False, True, True]
    assert [seg for seg in range(10) if alerted(600, seg)] == [1, 2, 3, 4, 5]
    assert not alerted(600, 5, direction=1)
    tolls.on_accidents(accident(601, False))
    assert [alerted(time, 3) for time in (601, 659, 660, 720)] == [True, True, False, False]


def test_many_keys_are_kept_and_loaded_again() -> None:
    rows = [(0, vid * 1_000_003 % 2**31, 50, 0, 1, 0, 0, 0) for vid in range(5000)]
    first, again = started(operators.NewSeg()), started(operators.NewSeg())
    assert call(first.on_batch, [positions(rows)])[0].rows == len(rows)
    again.restore(first.snapshot())
    assert call(again.on_batch, [positions(rows)]) == []
    assert len(first.snapshot()) > len(rows) * 32


def test_cars_keep_their_segments_while_their_memory_moves_as_it_grows() -> None:
    """64 bytes a car: from 2 MiB on, the pages of a table are moved into a larger place."""
    vid = np.random.default_rng(3).permutation(200_000).astype(np.int32)
    state, zero = State("cars"), np.zeros(len(vid), np.int32)
    for part in np.array_split(np.arange(len(vid)), 50):
        state.call("new_segments", vid[part], zero[part], zero[part], vid[part] % 97)
        assert len(state.rows(0)) == len(part)
    moved = np.where(vid % 3 == 0, 98, vid % 97).astype(np.int32)
    state.call("new_segments", vid, zero, zero, moved)
    assert np.array_equal(state.rows(0), np.flatnonzero(vid % 3 == 0))


@pytest.mark.parametrize("change", [lambda saved: saved + b"x", lambda saved: b"", lambda saved: saved[:60]])
def test_what_no_such_state_saved_is_refused(change: Any) -> None:
    state = State("cars")
    column = np.arange(3, dtype=np.int32)
    state.call("new_segments", column, column, column, column)
    with pytest.raises(kernel.KernelError, match="not what such a state saves"):
        State("cars").load(change(state.save()))
    with pytest.raises(kernel.KernelError, match="not what such a state saves"):
        State("charges").load(state.save())


def test_an_assessment_of_a_new_trip_is_not_charged_for_the_last_one() -> None:
    charges = started(operators.Charges())
    rows = [(0, 1, 50, True), (30, 1, 8, False), (900, 1, 18, True), (930, 1, 0, False)]
    batch = Batch.of_columns(Assessment, columns_of(rows, Assessment.__struct_fields__))
    assert rows_of(call(charges.on_batch, [batch]), COLUMNS["toll_charges"]) == [(30, 1, 50), (930, 1, 18)]


@pytest.fixture(scope="module", autouse=True)
def compiled() -> Iterator[Any]:
    """Before the first example, which would else take too long."""
    yield kernel.kernel()
