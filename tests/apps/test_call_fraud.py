"""Call fraud through the real command line: suspects in input order and alerts, the same under every deployment; and its
generator."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from actorstream import Batch
from apps.call_fraud import generate, reference
from apps.call_fraud.generate import PART, Calls, write
from tests.apps.dependency import read_all
from tests.apps.launched import command

ROOT = Path(__file__).parents[2]
APP = ROOT / "apps" / "call_fraud"
CALLS = APP / "data" / "calls.csv.gz"


def launch(folder: Path, *options: str) -> tuple[str, str]:
    """Runs the app; what is in its two files."""
    suspects, alerts = folder / "suspects.csv", folder / "alerts.csv"
    paths = ("--set", f"actors.suspects.path={suspects}", "--set", f"actors.alerts.path={alerts}")
    command("launch", APP / "topology.toml", *paths, *options)
    return suspects.read_text(), alerts.read_text()


def text(header: tuple[str, ...], rows: Iterable[Any]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([header, *rows])
    return out.getvalue()


def by_reference(path: Path, area: str = "30", limit: float = 900.0, size: int = 3600) -> tuple[str, str]:
    found = list(reference.suspects(reference.read(path), area, limit))
    return (
        text(("time", "phone", "speed_kmh"), found),
        text(("window_start", "count"), reference.alerts(found, size)),
    )


@pytest.mark.parametrize(("workers", "batch_size"), [(1, 4096), (2, 7), (2, 1000), (4, 61)])
def test_both_files_are_those_of_the_reference_under_every_deployment(
    workers: int, batch_size: int, tmp_path: Path
) -> None:
    options = ("--workers", str(workers), "--set", f"deploy.batch_size={batch_size}")
    found = launch(tmp_path, *options)
    assert found == by_reference(CALLS)
    assert found[0].count("\n") > 10


@pytest.mark.parametrize(("schedule", "workers"), [("none", 3), ("lp", 1), ("ct", 2)])
def test_delays_and_small_buffers_change_nothing(schedule: str, workers: int, tmp_path: Path) -> None:
    settings = {"schedule": schedule, "threads": 0 if schedule == "none" else 2, "workers": workers}
    settings |= {
        "reorder_window": 1,
        "batch_size": 97,
        "edge_bytes": 1,
        "testing.delay": "1ms",
        "testing.seed": 7,
    }
    options = [part for key, value in settings.items() for part in ("--set", f"deploy.{key}={value}")]
    assert launch(tmp_path, *options) == by_reference(CALLS)


def test_area_limit_and_window_are_keys(tmp_path: Path) -> None:
    options = ("actors.area.code=40", "actors.fast.limit=100", "actors.count.window.size=10min")
    found = launch(tmp_path, *(part for option in options for part in ("--set", option)))
    assert found == by_reference(CALLS, "40", 100.0, 600)


def test_two_places_at_one_time_are_infinitely_fast_and_one_place_is_never_left(tmp_path: Path) -> None:
    calls = tmp_path / "calls.csv"
    calls.write_text(
        "time,caller,callee,area,x_km,y_km,duration\n"
        "3600,1,2,30,0.0,0.0,9\n"  # both for the first time
        "3600,1,3,30,3.0,4.0,9\n"  # 1: 5 km in no time
        "3601,2,2,30,0.0,0.0,9\n"  # 2: still there, twice
        "3602,2,4,31,9.0,9.0,9\n"  # another area
        "7200,3,1,30,2703.0,4.0,9\n"  # both: 2700 km in an hour
        "7300,5,6,30,0.0,0.0,9\n"
    )
    assert launch(tmp_path, "--set", f"actors.calls.path={calls}") == (
        "time,phone,speed_kmh\n3600,1,inf\n7200,3,2700.0\n7200,1,2700.0\n",
        "window_start,count\n3600,1\n7200,2\n",
    )
    assert launch(tmp_path, "--set", f"actors.calls.path={calls}") == by_reference(calls)


def test_nothing_suspect_gives_headers_only(tmp_path: Path) -> None:
    found = launch(tmp_path, "--set", "actors.area.code=none")
    assert found == ("time,phone,speed_kmh\n", "window_start,count\n")


@pytest.mark.parametrize("window", ['{ type = "sliding", size = "1h" }', '{ type = "tumbling" }'])
def test_a_window_that_is_not_tumbling_or_has_no_size_is_refused(window: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="window is"):
        launch(tmp_path, "--set", f"actors.count.window={window}")


def test_generated_calls_do_not_depend_on_how_many_are_read_at_once() -> None:
    def all_rows(max_rows: int) -> list[Any]:
        source, batches = Calls(count=20_000, kept=2), list[Batch]()
        while (batch := source.read(max_rows)) is not None:
            batches.append(batch)
        assert source.position() == dict.fromkeys(source.partitions(), 20_000)
        return Batch.concat(batches).events()

    calls = all_rows(777)
    assert calls == all_rows(20_000)
    times = [call.time for call in calls]
    assert times == sorted(times)
    assert len({call.area for call in calls}) == len(generate.AREAS)


def test_a_source_goes_on_where_it_was_and_without_a_partition_it_reads_nothing() -> None:
    def generated() -> Calls:
        return Calls(count=20_000, kept=2)

    whole = read_all(generated(), 4096)[0]
    for row in (1, PART, PART + 5, 2 * PART + 100):
        assert read_all(generated(), 777, {"0": row}) == {0: whole[row:]}
    source = generated()
    source.open([])
    assert source.read(10) is None


def test_the_data_of_the_app_is_what_the_command_writes(tmp_path: Path) -> None:
    write(tmp_path / "calls.csv.gz", 12_000, 1)
    assert list(reference.read(tmp_path / "calls.csv.gz")) == list(reference.read(CALLS))
