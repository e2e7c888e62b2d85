"""Generated traffic: cars drive, report every 30 seconds, stop and crash; the same for a seed however it is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorstream import Batch
from apps.linear_road import reference
from apps.linear_road.events import Report
from apps.linear_road.generate import Reports, write
from apps.linear_road.reference import LinearRoad
from apps.linear_road.traffic import EVERY, FEET, SEGMENTS, Settings, Traffic

FIELDS = Report.__struct_fields__
BUSY = Settings(xways=2, density=60.0, ramp=120, accidents=240.0, seed=3)


def seconds(settings: Settings, count: int) -> dict[str, np.ndarray]:
    traffic = Traffic(settings)
    made = [traffic.second() for _ in range(count)]
    return {name: np.concatenate([each[name] for each in made]) for name in FIELDS}


def all_rows(max_rows: int, partition: str = "shard-0", **keys: Any) -> list[tuple[int, ...]]:
    """Everything that one partition gives; also checks positions."""
    source = Reports(**{"xways": 2, "density": 20.0, "ramp": 60, **keys})
    source.open([partition])
    batches: list[Batch] = []
    rows = 0
    while (batch := source.read(max_rows)) is not None:
        assert (source.row, len(batch)) <= (rows, max_rows)
        assert source.partitions()[source.origin] == partition
        rows += len(batch)
        assert source.position() == {partition: rows}
        batches.append(batch)
    whole = Batch.concat(batches)
    return list(zip(*(whole[name].tolist() for name in FIELDS)))


def test_every_car_reports_every_30_seconds_from_where_its_speed_has_brought_it() -> None:
    rows = seconds(BUSY, 400)
    reports = rows["type"] == 0
    order = np.lexsort((rows["time"][reports], rows["vid"][reports]))
    car = {name: values[reports][order] for name, values in rows.items()}
    same = np.diff(car["vid"]) == 0
    assert (np.diff(car["time"])[same] == EVERY).all()
    assert (np.diff(car["xway"])[same] == 0).all()
    assert (np.diff(car["dir"])[same] == 0).all()
    first = np.flatnonzero(~np.concatenate([[False], same]))
    assert (car["lane"][first] == 0).all()
    assert (car["lane"][np.flatnonzero(same) + 1] != 0).all()
    moved = np.diff(car["pos"]) * np.where(car["dir"][1:] == 0, 1, -1)
    drives = same & (car["lane"][1:] != 4) & (car["spd"][1:] > 0)
    assert (moved[drives] == car["spd"][1:][drives] * 44).all()
    assert (car["seg"] == car["pos"] // FEET).all()
    assert car["pos"].min() >= 0
    assert car["seg"].max() < SEGMENTS


def test_traffic_grows_until_it_has_the_density_that_was_asked_for() -> None:
    rows = seconds(Settings(density=30.0, ramp=300), 400)
    per_second = np.bincount(rows["time"][rows["type"] == 0])
    full = 30.0 * 2 * SEGMENTS / EVERY
    assert per_second[:30].mean() < 0.4 * full
    assert per_second[330:].mean() == pytest.approx(full, rel=0.1)


def test_traffic_has_new_segments_tolls_accidents_and_requests() -> None:
    rows = seconds(Settings(density=60.0, ramp=120, accidents=240.0, seed=3), 600)
    found = LinearRoad().run(zip(*(rows[name].tolist() for name in FIELDS)))
    reports = int((rows["type"] == 0).sum())
    assert 0.2 < len(found.results["new_segments"]) / reports < 0.6
    assert any(toll > 0 for *_, toll in found.results["tolls"])
    assert found.results["accident_alerts"]
    assert found.results["toll_charges"]
    assert found.requests[2] == pytest.approx(reports / 100, rel=0.3)


@pytest.mark.parametrize("keys", [{"hours": 0.05}, {"hours": 0.06, "kept": 60}, {"count": 3000}])
def test_reports_do_not_depend_on_how_many_are_read_at_once(keys: dict[str, Any]) -> None:
    assert all_rows(77, **keys) == all_rows(100_000, **keys)
    assert all_rows(999, **keys) != all_rows(999, seed=2, **keys)


def test_reports_come_by_time_up_to_the_hours_asked_for_also_when_seconds_come_again() -> None:
    for keys in ({"hours": 0.05}, {"hours": 0.05, "kept": 60}):
        times = [row[1] for row in all_rows(1000, **keys)]
        assert times == sorted(times)
        assert (times[0], times[-1]) == (0, 179)


def test_shards_share_the_expressways_and_have_no_car_in_common() -> None:
    parts = [all_rows(1000, f"shard-{shard}", shards=2, xways=3, hours=0.02) for shard in (0, 1)]
    roads = [{row[4] for row in part if row[0] == 0} for part in parts]
    assert roads == [{0, 2}, {1}]
    assert not {row[2] for row in parts[0]} & {row[2] for row in parts[1]}


def test_a_replica_with_two_shards_reads_the_one_that_is_behind() -> None:
    source = Reports(xways=2, shards=2, density=20.0, hours=0.02)
    source.open(source.partitions())
    rows = {0: 0, 1: 0}
    while (batch := source.read(100)) is not None:
        assert source.row == rows[source.origin]
        rows[source.origin] += len(batch)
    assert min(rows.values()) > 0


def test_a_source_goes_on_behind_the_position_that_it_is_set_to() -> None:
    whole = all_rows(1000, count=2500)
    source = Reports(xways=2, density=20.0, ramp=60, count=2500)
    source.open(["shard-0"])
    source.seek({"shard-0": 1234})
    batch = source.read(500)
    assert batch is not None
    assert source.row == 1234
    assert list(zip(*(batch[name].tolist() for name in FIELDS))) == whole[1234 : 1234 + batch.rows]


def test_a_shard_that_has_ended_is_not_read_again() -> None:
    def opened() -> Reports:
        source = Reports(xways=3, shards=2, density=20.0, ramp=60, count=500)
        source.open(source.partitions())
        return source

    source = opened()
    while source.read(100) is not None:
        kept = source.position()
    assert kept == {"shard-0": 500, "shard-1": 500}
    again = opened()
    again.seek(kept)
    assert again.read(100) is None


@pytest.mark.parametrize(
    "keys", [{"xways": 0}, {"density": -1.0}, {"shards": 2}, {"kept": 45}, {"kept": 0}, {"accidents": -0.1}]
)
def test_traffic_that_cannot_be_is_refused(keys: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"is .*; allowed: "):
        Reports(**keys)


def test_a_file_is_the_same_for_a_seed_and_has_15_whole_numbers_a_line(tmp_path: Path) -> None:
    for name in ("a.dat.gz", "b.dat.gz"):
        write(tmp_path / name, BUSY, 30)
    assert (tmp_path / "a.dat.gz").read_bytes() == (tmp_path / "b.dat.gz").read_bytes()
    lines = write(tmp_path / "plain.dat", BUSY, 30)
    rows = list(reference.read(tmp_path / "plain.dat"))
    assert rows == list(reference.read(tmp_path / "a.dat.gz"))
    assert len(rows) == lines
    assert {len(row) for row in rows} == {15}
