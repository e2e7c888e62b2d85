from __future__ import annotations

from pathlib import Path

from actorstream.drawing.picture import Arrow, picture_of_graph, picture_of_plan, picture_of_spec
from actorstream.placement import place
from actorstream.topology.builder import Topology
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Graph
from actorstream.topology.registry import TypeRegistry
from actorstream.topology.validate import build_graph

from .conftest import TYPES


def test_a_graph_has_a_box_for_each_actor_and_an_arrow_for_each_edge(graph: Graph) -> None:
    picture = picture_of_graph(graph)
    assert [(box.title, box.lines, box.role) for box in picture.boxes] == [
        ("lines", ("lines", "×1"), "source"),
        ("split", ("split", "×2"), "operator"),
        ("count", ("counter", "×2"), "operator"),
        ("counts", ("out", "×1"), "sink"),
    ]
    assert picture.arrows[2] == Arrow("count", "counts", ".final · shuffle")


def test_a_topology_that_is_not_right_yet_can_be_drawn() -> None:
    t = Topology("draft")
    t.source("nowhere", name="a").by("k").through("package.module:Missing", name="b", replicas="auto")
    t.actor("c", "x", ["b.late", "stranger"])
    picture = picture_of_spec(t.spec())
    assert [(box.id, box.lines, box.role) for box in picture.boxes] == [
        ("a", ("nowhere", "×1"), "source"),
        ("b", ("Missing", "×auto"), "operator"),
        ("c", ("x", "×1"), "sink"),
    ]
    assert picture.arrows == [Arrow("a", "b", "key k"), Arrow("b", "c", ".late · shuffle")]


def test_a_plan_has_a_lane_for_each_worker_and_shows_direct_calls(tmp_path: Path) -> None:
    t = Topology("calls")
    lines = t.source("lines", name="lines", replicas=2)
    lines.through("split", name="split", replicas=2).into("out", name="o", path=tmp_path / "x")
    graph = build_graph(t.spec(), TypeRegistry(TYPES, plugins=False))
    plan = place(graph, DeploySpec(workers=2), direct=lambda graph, edge: True)
    picture = picture_of_plan(plan, {"lines": "source"})
    assert picture.lanes == ["worker 0", "worker 1"]
    assert [(box.id, box.lane) for box in picture.boxes if box.column == "split"] == [
        ("split/0", 0),
        ("split/1", 1),
    ]
    assert picture.boxes[0].role == "source"
    assert [arrow for arrow in picture.arrows if arrow.direct] == [
        Arrow("lines/0", "split/0", direct=True),
        Arrow("lines/1", "split/1", direct=True),
    ]
    assert [(arrow.producer, arrow.consumer) for arrow in picture.arrows if not arrow.direct] == [
        ("split/0", "o/0"),
        ("split/1", "o/0"),
    ]
