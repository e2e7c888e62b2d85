"""YSB, YSB* and SWA through the real command line: every deployment gives what DuckDB and the reference give."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
from collections import Counter
from pathlib import Path

import pytest

from apps.ysb import reference
from tests.apps.launched import command
from tests.covering import covering

ROOT = Path(__file__).parents[2]
APP = ROOT / "apps" / "ysb"
EXPECTED = Path(__file__).with_name("data") / "ysb"
TABLE = APP / "data" / "ad_to_campaign.csv"
SAMPLES = ("events", "skewed")
SOME_DEPLOYMENTS = [(1, 1000), (2, 7), (4, 64)]
DEPLOYMENTS = [
    pytest.param(*each, marks=() if each in SOME_DEPLOYMENTS else pytest.mark.slow)
    for each in itertools.product((1, 2, 4), (1, 7, 64, 1000))
]


def run(
    topology: str, *sets: str, workers: int = 2, batch_size: int = 1000, report: Path | None = None
) -> None:
    """Runs a topology of the app."""
    words = ["--workers", workers, "--set", f"deploy.batch_size={batch_size}"]
    words += [word for each in sets for word in ("--set", each)]
    words += ["--report", report] if report is not None else []
    command("launch", APP / topology, *words)


def rows(path: Path) -> tuple[list[str], list[tuple[str, ...]]]:
    with path.open(newline="") as file:
        header, *found = csv.reader(file)
    return header, sorted(map(tuple, found))


def ran(topology: str, sample: str, sink: str, out: Path, *sets: str, **deploy: int) -> list[tuple[str, ...]]:
    """The rows that a topology makes of a sample; also checks the header."""
    path = out / "result.csv"
    run(
        topology,
        f"actors.events.path={APP / 'data' / f'{sample}.jsonl.gz'}",
        f"actors.{sink}.path={path}",
        *(() if topology != "topology.toml" else (f"actors.late.path={out / 'late.csv'}",)),
        *sets,
        **deploy,
    )
    header, found = rows(path)
    assert (
        header
        == {
            "topology.toml": ["campaign_id", "window_start", "count"],
            "star.toml": ["campaign_id", "window_start", "views", "clicks", "ratio"],
            "swa.toml": ["window_start", "count"],
        }[topology]
    )
    return found


def expected(sample: str, query: str) -> list[tuple[str, ...]]:
    return rows(EXPECTED / sample / f"expected_{query}.csv")[1]


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_reference_gives_what_duckdb_gave(sample: str) -> None:
    events, table = APP / "data" / f"{sample}.jsonl.gz", reference.read_table(TABLE)
    found = {
        "views": reference.views(reference.read_events(events), table),
        "ratio": reference.ratios(reference.read_events(events), table),
        "swa": reference.swa(reference.read_events(events)),
    }
    for query, values in found.items():
        assert sorted(tuple(map(str, row)) for row in values) == expected(sample, query)


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize(("workers", "batch_size"), DEPLOYMENTS)
def test_views_are_counted_the_same_under_every_deployment(
    sample: str, workers: int, batch_size: int, tmp_path: Path
) -> None:
    found = ran("topology.toml", sample, "counts", tmp_path, workers=workers, batch_size=batch_size)
    assert found == expected(sample, "views")
    assert rows(tmp_path / "late.csv")[1] == []


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize(("workers", "batch_size"), SOME_DEPLOYMENTS)
def test_ratios_are_the_same_under_every_deployment(
    sample: str, workers: int, batch_size: int, tmp_path: Path
) -> None:
    found = ran("star.toml", sample, "ratios", tmp_path, workers=workers, batch_size=batch_size)
    assert found == expected(sample, "ratio")


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize(("workers", "batch_size"), SOME_DEPLOYMENTS)
def test_all_events_are_counted_the_same_under_every_deployment(
    sample: str, workers: int, batch_size: int, tmp_path: Path
) -> None:
    found = ran("swa.toml", sample, "counts", tmp_path, workers=workers, batch_size=batch_size)
    assert found == expected(sample, "swa")


@pytest.mark.parametrize(
    "sets", [("actors.windows.allowed_lateness=1h",), ("actors.events.max_out_of_orderness=2m",)]
)
def test_any_lateness_that_admits_the_late_events_gives_the_same(
    sets: tuple[str, ...], tmp_path: Path
) -> None:
    assert ran("topology.toml", "skewed", "counts", tmp_path, *sets) == expected("skewed", "views")


@pytest.fixture(scope="module")
def late_events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A third of the skewed sample, in which some views are late by whatever limit."""
    with gzip.open(APP / "data" / "skewed.jsonl.gz", "rt", encoding="utf-8") as file:
        lines = file.readlines()[2000:4000]
    path = tmp_path_factory.mktemp("late") / "events.jsonl"
    path.write_text("".join(lines), encoding="utf-8")
    return path


@covering(
    {
        "workers, batch_size": [(1, 1000), (2, 7), (4, 1)],
        "lateness_ms": [0, 5000],
        "pre_aggregation": ["true", "false"],
    }
)
def test_late_events_are_counted_and_come_out_of_windows_late(
    workers: int, batch_size: int, lateness_ms: int, pre_aggregation: str, tmp_path: Path, late_events: Path
) -> None:
    report, table = tmp_path / "report.json", reference.read_table(TABLE)
    marked = list(reference.late_marks(reference.read_events(late_events), lateness_ms))
    late = [event for event, is_late in marked if is_late and event["event_type"] == "view"]
    in_time = [event for event, is_late in marked if not is_late]
    run(
        "topology.toml",
        f"actors.events.path={late_events}",
        f"actors.counts.path={tmp_path / 'counts.csv'}",
        f"actors.late.path={tmp_path / 'late.csv'}",
        f"actors.windows.allowed_lateness={lateness_ms}ms",
        f"deploy.pre_aggregation={pre_aggregation}",
        workers=workers,
        batch_size=batch_size,
        report=report,
    )
    assert len(late) > 0
    counts = sorted(tuple(map(str, row)) for row in reference.views(in_time, table))
    assert rows(tmp_path / "counts.csv")[1] == counts
    header, found = rows(tmp_path / "late.csv")
    place = [header.index(name) for name in ("ad_id", "event_time", "campaign_id")]
    assert Counter(tuple(row[at] for at in place) for row in found) == Counter(
        (event["ad_id"], str(event["event_time"]), table[event["ad_id"]]) for event in late
    )
    assert json.loads(report.read_text())["late"] == len(late)


def test_a_misspelt_event_type_is_found_before_the_run(tmp_path: Path) -> None:
    where = "actors.views.where=event_typ == 'view'"
    said = command("check", APP / "topology.toml", "--set", where, code=2)
    assert "event_typ" in said and "event_type" in said
