from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import pytest

from actorstream.topology.plan import load_plan

from .conftest import Answer

Run = Callable[..., Answer]


def test_the_text_shows_graph_and_execution_plan(run: Run, topology: Path) -> None:
    answer = run("plan", topology, "--workers", 2)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("small: 3 actors, 2 edges\n")
    assert "-> out: key word (word: string)" in answer.out
    assert "lines/0 -> split/0, out/0" in answer.out
    assert "4 channels" not in answer.out
    assert "2 channels, 1 between workers" in answer.out


def test_the_graph_can_be_shown_alone(run: Run, topology: Path) -> None:
    assert "plan" not in run("plan", topology, "--graph").out


def test_json_holds_both(run: Run, topology: Path) -> None:
    found = json.loads(run("plan", topology, "--json").out)
    assert [actor["name"] for actor in found["graph"]["actors"]] == ["lines", "split", "out"]
    assert [replica["actor"] for replica in found["plan"]["replicas"]] == ["lines", "split", "out", "out"]
    assert found["plan"]["chains"] == [[0, 1]]
    assert len(found["plan"]["fingerprint"]) == 16


def test_the_plan_is_the_same_every_time(run: Run, topology: Path) -> None:
    assert run("plan", topology, "--json").out == run("plan", topology, "--json").out


def test_mermaid_has_two_flowcharts(run: Run, topology: Path) -> None:
    assert run("plan", topology, "--mermaid").out.count("flowchart LR") == 2


def test_json_and_mermaid_at_once_are_refused(run: Run, topology: Path) -> None:
    answer = run("plan", topology, "--json", "--mermaid")
    assert (answer.code, answer.out) == (2, "")
    assert "--mermaid: is given beside --json; allowed: one of them" in answer.err


def test_svg_files_are_written_for_both(run: Run, topology: Path, tmp_path: Path) -> None:
    answer = run("plan", topology, "--svg", tmp_path / "pictures" / "small.svg")
    assert (answer.code, answer.out) == (0, "")
    for name in ("small.svg", "small.plan.svg"):
        root = ElementTree.parse(tmp_path / "pictures" / name).getroot()
        assert "small" in "".join(root.itertext())
        assert name in answer.err


def test_a_saved_plan_is_shown_again_and_can_be_loaded(run: Run, topology: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    first = run("plan", topology, "--save", plan, "--workers", 3, "--set", "deploy.placement=round-robin")
    assert first.code == 0
    assert load_plan(plan).workers == 3
    assert run("plan", topology, "--plan", plan).out == first.out


def test_the_json_of_the_command_can_be_loaded_too(run: Run, topology: Path, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_text(run("plan", topology, "--json").out)
    assert f"{load_plan(plan).fingerprint:016x}" == json.loads(plan.read_text())["plan"]["fingerprint"]
    assert run("check", topology, "--plan", plan).code == 0


def test_overrides_may_stand_before_and_behind_the_file(run: Run, topology: Path) -> None:
    sets = ("--set", "deploy.workers=1"), ("--set", "deploy.placement=first-fit")
    answer = run("plan", *sets[0], topology, *sets[1])
    assert "on 1 worker, transport shm, placement first-fit" in answer.out


def test_a_wrong_topology_exits_with_2(run: Run, topology: Path) -> None:
    answer = run("plan", topology, "--set", "actors.split.inputs=[]")
    assert (answer.code, answer.out) == (2, "")
    assert "has no inputs" in answer.err


GATED = """
name = "gated"
[actors.rows]
type = "csv-source"
path = "rows"
schema = { at = "int64" }
event_time = "at"
replicas = 2
[actors.first]
type = "null-sink"
inputs = [{ from = "rows", route = "broadcast", order = "timestamp" }]
replicas = 2
[actors.passed]
type = "union"
inputs = ["rows"]
[actors.second]
type = "null-sink"
inputs = [{ from = "passed", route = "broadcast", order = "timestamp" }]
replicas = 2
[actors.third]
type = "null-sink"
inputs = [{ from = "rows", key = "at", order = "timestamp" }]
replicas = 2
"""


@pytest.fixture
def gated(tmp_path: Path) -> Path:
    (tmp_path / "rows").mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / "rows" / name).write_text("at\n1\n")
    file = tmp_path / "gated.toml"
    file.write_text(GATED)
    return file


GATE = ("--set", "deploy.merge=gate", "--workers", 1)
POOL = ("--set", "deploy.schedule=ct", "--set", "deploy.threads=1", "--workers", 1)


def test_the_text_says_where_gates_merge_and_for_whom_and_where_not_why(run: Run, gated: Path) -> None:
    lines = run("plan", gated, *GATE).out.splitlines()
    assert "first: one ScaleGate for all replicas" in lines
    assert "second: no ScaleGate: it has one channel: there is nothing to merge" in lines
    assert "third: one ScaleGate for each replica" in lines
    assert "passed: one ScaleGate" in lines
    assert "ScaleGate" not in run("plan", gated).out


def test_where_there_is_a_pool_gates_are_asked_for(run: Run, gated: Path) -> None:
    lines = run("plan", gated, *POOL).out.splitlines()
    assert "first: one ScaleGate for all replicas" in lines
    assert "third: one ScaleGate for each replica" in lines


def test_gates_of_a_saved_plan_are_those_of_its_own_deployment(run: Run, gated: Path, tmp_path: Path) -> None:
    with_gates, without = tmp_path / "gates.json", tmp_path / "without.json"
    first = run("plan", gated, "--save", with_gates, *GATE)
    assert "first: one ScaleGate for all replicas" in first.out
    assert run("plan", gated, "--plan", with_gates).out == first.out
    first = run("plan", gated, "--save", without)
    assert run("plan", gated, "--plan", without, *GATE).out == first.out


def test_json_has_the_gates_of_each_actor(run: Run, gated: Path) -> None:
    found = json.loads(run("plan", gated, "--json", *GATE).out)["gates"]
    assert found["first"] == {"gates": 1, "replicas": 2, "why": ""}
    assert found["third"] == {"gates": 2, "replicas": 2, "why": ""}
    assert (found["second"]["gates"], "one channel" in found["second"]["why"]) == (0, True)
    assert "gates" not in json.loads(run("plan", gated, "--json").out)


def test_a_flowchart_shows_who_shares_a_gate(run: Run, gated: Path) -> None:
    chart = run("plan", gated, "--mermaid", *GATE).out.rpartition("---\ntitle: ")[2]
    boxes = dict(re.findall(r'^ +(n\d+)\W+(\w[^"]*)"', chart, re.MULTILINE))
    arrows = re.findall(r"^ +(n\d+) --> (n\d+)$", chart, re.MULTILINE)
    gates = {boxes[to]: gate for gate, to in arrows if boxes[gate] == "ScaleGate"}
    assert sorted(gates) == ["first/0", "first/1", "passed/0", "third/0", "third/1"]
    assert gates["first/0"] == gates["first/1"]
    assert len(set(gates.values())) == 4
    assert ("rows/0", "first/0") not in {(boxes[a], boxes[b]) for a, b in arrows}
    assert "no ScaleGate: it has one channel: there is nothing to merge" in chart


def test_a_drawing_has_the_gates_too(run: Run, gated: Path, tmp_path: Path) -> None:
    run("plan", gated, "--svg", tmp_path / "gated.svg", *GATE)
    texts = [each.text for each in ElementTree.parse(tmp_path / "gated.plan.svg").iter() if each.text]
    assert texts.count("ScaleGate") == 4


UNION = """
name = "union"
[actors.rows]
type = "csv-source"
path = "rows.csv"
schema = { at = "int" }
replicas = 2
[actors.odd]
type = "filter"
inputs = ["rows"]
where = "at % 2 == 1"
replicas = 2
[actors.both]
type = "union"
inputs = ["odd", "rows"]
replicas = 2
[actors.out]
type = "null-sink"
inputs = [{ from = "both", route = "global" }]
"""


def test_the_plan_says_who_calls_a_union_past_its_channels(run: Run, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("at\n1\n")
    file = tmp_path / "union.toml"
    file.write_text(UNION)
    lines = run("plan", file, "--workers", 1).out.splitlines()
    assert "both/0: called past its channels by odd/0, rows/0" in lines
    assert "both/1: called past its channels by odd/1, rows/1" in lines
    found = json.loads(run("plan", file, "--json", "--workers", 1).out)["callers"]
    assert found == {"both/0": ["odd/0", "rows/0"], "both/1": ["odd/1", "rows/1"]}
    chart = run("plan", file, "--mermaid", "--workers", 1).out.rpartition("---\ntitle: ")[2]
    assert chart.count(" ==> ") == 6
    for without in ("deploy.schedule=ct", "deploy.pipelining=false"):
        assert "past its channels" not in run("plan", file, "--workers", 1, "--set", without).out
