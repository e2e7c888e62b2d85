from __future__ import annotations

import json

import pytest

from actorstream.drawing.picture import Arrow, Box, Picture, picture_of_graph, picture_of_plan
from actorstream.drawing.text import graph_json, graph_text, mermaid, plan_text
from actorstream.placement import place
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Graph
from actorstream.topology.machine import Machine
from actorstream.topology.plan import ExecutionPlan


@pytest.fixture
def plan(graph: Graph) -> ExecutionPlan:
    return place(graph, DeploySpec(workers=2), Machine.of_cores(2), direct=lambda graph, edge: True)


def test_the_text_of_a_graph_has_a_line_for_each_actor_and_edge(graph: Graph) -> None:
    assert graph_text(graph).splitlines() == [
        "word-count: 4 actors, 3 edges",
        "",
        "lines   source    ×1  lines",
        "    -> split: shuffle (line: string)",
        "split   operator  ×2  split",
        "    -> count: key word (ts: int64, word: string)",
        "count   operator  ×2  counter",
        "    .final -> counts: shuffle (word: string, count: int64)",
        "counts  sink      ×1  out",
    ]


def test_the_text_of_a_plan_has_a_line_for_each_worker(plan: ExecutionPlan) -> None:
    assert plan_text(plan).splitlines() == [
        f"plan {plan.fingerprint:016x}: 6 replicas on 2 workers, transport shm, placement spread",
        "",
        "worker 0 (core 0, node 0): lines/0, split/0, count/0, counts/0",
        "worker 1 (core 1, node 0): split/1, count/1",
        "",
        "8 channels, 4 between workers",
    ]


def test_a_worker_without_replicas_does_nothing(graph: Graph) -> None:
    assert "worker 3: nothing" in plan_text(place(graph, DeploySpec(workers=4)))


def test_json_holds_names_schemas_and_edges(graph: Graph) -> None:
    found = json.loads(json.dumps(graph_json(graph)))
    assert found["fingerprint"] == f"{graph.fingerprint:016x}"
    assert [actor["name"] for actor in found["actors"]] == ["lines", "split", "count", "counts"]
    assert found["actors"][1]["outputs"]["default"]["fields"] == {"ts": "int64", "word": "string"}
    assert found["actors"][1]["outputs"]["default"]["event_time"] == "ts"
    assert found["edges"][1] == {
        "from": "split", "to": "count", "input": "split", "rank": 0, "route": "key", "key": ["word"], "order": "none",
    }  # fmt: skip


def test_mermaid_has_a_node_for_each_box_and_a_line_for_each_arrow(graph: Graph) -> None:
    assert mermaid(picture_of_graph(graph)).splitlines() == [
        "---",
        'title: "word-count"',
        "---",
        "flowchart LR",
        '  n0(["lines<br/>lines<br/>×1"])',
        '  n1["split<br/>split<br/>×2"]',
        '  n2["count<br/>counter<br/>×2"]',
        '  n3[("counts<br/>out<br/>×1")]',
        '  n0 -->|"shuffle"| n1',
        '  n1 -->|"key word"| n2',
        '  n2 -->|".final · shuffle"| n3',
    ]


def test_mermaid_of_a_plan_has_a_subgraph_for_each_worker(plan: ExecutionPlan) -> None:
    text = mermaid(picture_of_plan(plan))
    assert 'subgraph w1["worker 1 (core 1, node 0)"]' in text
    assert text.count("-->") == 8


def test_mermaid_quotes_what_could_end_its_strings() -> None:
    picture = Picture('a "b" & c', [Box("x", '"', (), "sink", "x")], [Arrow("x", "x", direct=True)])
    text = mermaid(picture)
    assert 'title: "a #quot;b#quot; #amp; c"' in text
    assert '[("#quot;")]' in text
    assert "n0 ==> n0" in text
