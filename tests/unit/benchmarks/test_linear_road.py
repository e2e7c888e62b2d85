"""Runs of Linear Road's operators for benchmarks: who merges under OL and CL, what injectors deal, what notes say."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from actorstream.plan.compile import compile_job
from actorstream.topology.deploy import DeploySpec
from benchmarks.job import JobError
from benchmarks.linear_road import (
    COUNTS,
    KEPT,
    OPERATORS,
    SETTINGS,
    Injector,
    figures,
    play,
    read_in_order,
    topology,
    traffic,
)
from benchmarks.suite import Settings
from benchmarks.suites import linear_road

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("operator", OPERATORS)
def test_ol_has_merge_sort_operators_where_there_is_anything_to_merge(operator: str, tmp_path: Path) -> None:
    def actors(layer: str, injectors: int, instances: int) -> dict[str, int]:
        made = topology(operator, layer, injectors, instances, 1.0, 1024, tmp_path)
        job = compile_job(made.spec(), DeploySpec(transport="shm", workers=2))
        return {name: actor.replicas for name, actor in job.graph.actors.items()}

    for injectors, instances in SETTINGS:
        plain = {"inject": injectors, "operator": instances, "seen": instances}
        sorts = {"operator_merge": instances} if injectors > 1 else {}
        results = {"seen_merge": instances} if instances > 1 else {}
        assert actors("cl", injectors, instances) == plain
        assert actors("ol", injectors, instances) == plain | sorts | results


@pytest.mark.parametrize("positions", [False, True])
def test_injectors_deal_all_rows_in_the_order_of_their_time(positions: bool) -> None:
    whole = traffic(positions)
    for count in COUNTS:
        parts = [traffic(positions, number, count) for number in range(count)]
        assert sum(len(part["vid"]) for part in parts) == len(whole["vid"])
        assert all((np.diff(part["time"]) >= 0).all() for part in parts)
        assert set(np.diff([len(part["vid"]) for part in parts])) <= {0, -1}
    assert (whole["time"][0], whole["time"][-1]) == (0, KEPT - 1)


@pytest.mark.parametrize(("route", "merge"), [("broadcast", "shared"), ("key", "gate"), ("key", "channel")])
def test_readers_in_one_process_get_all_rows_that_were_dealt_to_them(route: str, merge: str) -> None:
    assert read_in_order(route=route, merge=merge, injectors=2, readers=2, seconds=0.01) > 0


def test_an_injector_goes_on_in_time_when_its_rows_come_again(tmp_path: Path) -> None:
    source = Injector(60.0, tmp_path, injectors=2, rows=50_000)
    source.open(["1"])
    rows, times = 0, list[int]()
    while rows < 2 * len(traffic(False, 1, 2)["vid"]):
        batch = source.read(1 << 20)
        assert batch is not None
        assert (source.origin, source.row, batch.rows <= 50_000) == (1, rows, True)
        rows += batch.rows
        times += batch["time"].tolist()
    assert times == sorted(times)
    assert times[-1] == 2 * KEPT - 1


def test_figures_span_all_injectors_and_sinks_and_processor_time_all_processes() -> None:
    one = {"process": 1, "cpu_begun": 1.0, "cpu_ended": 1.001}
    other = {"process": 2, "cpu_begun": 0.5, "cpu_ended": 0.503}
    notes = [
        {"kind": "injector", "rows": 300, "begun_ns": 1_000, **one},
        {"kind": "injector", "rows": 100, "begun_ns": 2_000, **other},
        {"kind": "seen", "rows": 30, "mean_ns": 1000.0, "p99_ns": 5000.0, "ended_ns": 4_000, **one},
        {"kind": "seen", "rows": 10, "mean_ns": 5000.0, "p99_ns": 7000.0, "ended_ns": 5_000, **other},
    ]
    found = figures(notes)
    assert (found.rows, found.rate, found.mean_us, found.p99_us) == (400, 1e8, 2.0, 7.0)
    assert found.cpu_us == pytest.approx(10.0)
    with pytest.raises(JobError, match="too short"):
        figures([*notes[:2], {**notes[2], "rows": 0}])


def test_each_setting_is_played_under_both_layers() -> None:
    found = play("new_seg", 256, 0.05, [(2, 2)])
    assert len(found) == 2
    for rate, latency, cpu, *_ in found:
        assert min(rate, latency, cpu) > 0


def test_the_suite_draws_figure_4_and_says_how_the_layers_compare() -> None:
    suite = linear_road.suite(Settings())
    cases = [case for probe in suite.probes for case in probe.cases]
    medians = {case.name: 2.0 if "-cl-" in case.name else 1.0 for case in cases}
    assert suite.pictures is not None
    pictures = suite.pictures(medians)
    assert len(pictures) == len(OPERATORS) * len(linear_road.JUMBOS)
    for picture in pictures.values():
        lines = list(ElementTree.fromstring(picture).iter(f"{SVG}polyline"))
        assert len(lines) % (2 * len(COUNTS)) == 0
        assert {len(line.attrib["points"].split()) for line in lines} == {len(COUNTS)}
    assert suite.summary is not None
    lines_of_text = suite.summary(medians)
    assert "throughput of CL / OL 2.00 (geometric mean)" in lines_of_text[0]


def test_the_suite_says_what_traffic_the_whole_app_was_given() -> None:
    suite = linear_road.suite(Settings())
    medians = {case.name: 2_747_200.0 for probe in suite.probes for case in probe.cases}
    assert suite.summary is not None
    last = list(suite.summary(medians))[-1]
    assert "2.75 M of 2.20 M reports/s asked for" in last
    assert "109 s of the traffic of 32 expressways (1,717 reports/s each), 50 times as fast" in last
