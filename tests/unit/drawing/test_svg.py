from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from hypothesis import given
from hypothesis import strategies as st

from actorstream.drawing.picture import Arrow, Box, Picture, picture_of_graph, picture_of_plan
from actorstream.drawing.svg import svg
from actorstream.placement import place
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Graph

SVG = "{http://www.w3.org/2000/svg}"
TEXT = st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=0x2FFF), max_size=12)


def drawn(picture: Picture) -> ElementTree.Element:
    return ElementTree.fromstring(svg(picture))


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


def test_a_graph_shows_every_actor_type_and_route_on_white(graph: Graph) -> None:
    root = drawn(picture_of_graph(graph))
    shown = texts(root)
    assert {"word-count", "lines", "counter", "×2", "key word", ".final · shuffle"} <= set(shown)
    paper = root.find(f"{SVG}rect")
    assert paper is not None
    assert paper.get("fill") == "#ffffff"
    assert len(root.findall(f"{SVG}path")) == 3


def test_boxes_lie_inside_and_do_not_overlap(graph: Graph) -> None:
    root = drawn(picture_of_graph(graph))
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    boxes = [
        tuple(float(each.get(name, "0")) for name in ("x", "y", "width", "height"))
        for each in root.findall(f"{SVG}rect")
        if each.get("stroke")
    ]
    assert len(boxes) == 4
    for x, y, w, h in boxes:
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    for number, (x, y, w, h) in enumerate(boxes):
        for other_x, other_y, other_w, other_h in boxes[:number]:
            assert x + w <= other_x or other_x + other_w <= x or y + h <= other_y or other_y + other_h <= y


def test_a_plan_shows_workers_and_replicas(graph: Graph) -> None:
    plan = place(graph, DeploySpec(workers=3), direct=lambda graph, edge: True)
    shown = texts(drawn(picture_of_plan(plan)))
    assert {"worker 0", "worker 1", "worker 2", "split/1", "counts/0"} <= set(shown)


@given(st.lists(TEXT, min_size=1, max_size=4), TEXT)
def test_any_text_makes_well_formed_xml(names: list[str], label: str) -> None:
    boxes = [Box(f"b{number}", name, (name,), "sink", f"b{number}") for number, name in enumerate(names)]
    arrows = [Arrow("b0", box.id, label) for box in boxes[1:]]
    shown = texts(drawn(Picture(label, boxes, arrows)))
    assert shown.count(label) >= 1
