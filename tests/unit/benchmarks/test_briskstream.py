"""The suite of the four applications: its topologies have the actors that it sets, and what it counts is what it says."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

from actorstream import Actor
from benchmarks.dataflow import Ran
from benchmarks.job import ROOT
from benchmarks.suites import briskstream
from benchmarks.suites.briskstream import APPLICATIONS, FD, SD, TYPES, WC, Pair, summary, throughput


def actors(folder: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "apps" / folder / "bench.toml").read_text())["actors"]
    return found


@pytest.mark.parametrize("name", APPLICATIONS)
def test_the_topologies_have_the_actors_and_keys_that_runs_set(name: str) -> None:
    app = APPLICATIONS[name]
    assert "count" in actors(app.folder)[app.source]
    assert app.counted is None or app.counted in actors(app.folder)
    assert (ROOT / "apps" / app.folder / "deploy.toml").exists()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("speed", ["event", "batch"])
def test_the_slower_operators_stand_for_actors_of_the_topology(name: str, speed: str) -> None:
    folder = APPLICATIONS[name].folder
    for actor, kind in TYPES[name][speed].items():
        module, _, cls = kind.partition(":")
        assert issubclass(getattr(import_module(f"apps.{folder}.{module}"), cls), Actor)
        assert actor in actors(folder)


class Runs:
    """Stands for runs of a topology, whose reports are given; keeps the keys of each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **report: Any) -> None:
        self.sets: list[dict[str, Any]] = []
        self.report = report
        monkeypatch.setattr(briskstream, "launch_file", self.launch)

    def launch(self, topology: Any, *, sets: dict[str, Any], seconds: float, **deploy: Any) -> Ran:
        self.sets.append(sets)
        return Ran(self.report, [])


def test_words_are_counted_and_the_rate_of_lines_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(
        monkeypatch,
        throughput_eps=1000.0,
        events_out={"lines": 500, "split": 20_000},
        latency_ms={"p50": 1.0, "p99": 2.5},
    )
    pair = Pair(WC, 2.0)
    assert pair.fast() == 40_000.0
    assert pair.paced() == (1000.0, 2500.0)
    assert [sets.get("actors.lines.rate") for sets in runs.sets] == [None, 500.0]


def test_rows_of_the_source_are_counted_unless_an_actor_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs(monkeypatch, throughput_eps=7.0, events_out={"readings": 8, "detect": 2})
    assert throughput(SD, 2.0, **{"actors.detect.signals": False}) == (7.0, 7.0)
    assert runs.sets[0]["actors.detect.signals"] is False
    assert throughput(replace(SD, counted="detect"), 2.0) == (1.75, 7.0)


def test_a_run_that_ended_before_a_row_came_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    Runs(monkeypatch, events_out={"transactions": 0})
    with pytest.raises(briskstream.JobError, match="card_fraud: the run was ended before a row came"):
        throughput(FD, 2.0)


def test_the_summary_sets_figures_beside_those_of_others() -> None:
    medians = {f"{name}-2": 20e6 for name in APPLICATIONS}
    medians |= {f"{name}-half-load-p99": 3000.0 for name in APPLICATIONS}
    lines = summary(medians)
    assert lines[1] == (
        "fd: 20.0 M events/s, 11.0 times WindFlow's 1.82 M; p99 at half load 3.0 ms, BriskStream's (its Table 5) 12.5 ms"
    )
