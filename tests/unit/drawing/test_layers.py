from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from actorstream.drawing.layers import crossings, layered


def test_a_chain_is_a_row() -> None:
    layout = layered(["a", "b", "c"], [("a", "b"), ("b", "c")])
    assert layout.columns == [["a"], ["b"], ["c"]]
    assert set(layout.height.values()) == {0.0}
    assert layout.paths == [["a", "b"], ["b", "c"]]


def test_an_edge_over_several_columns_has_a_place_in_each() -> None:
    layout = layered(["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")])
    assert layout.paths[2] == ["a", (2, 1), "c"]
    assert set(layout.columns[1]) == {"b", (2, 1)}


def test_lines_that_need_not_cross_do_not() -> None:
    boxes = ["a", "b", "c", "z", "y", "x"]
    layout = layered(boxes, [("a", "x"), ("b", "y"), ("c", "z")])
    assert crossings(layout) == 0


def test_edges_on_cycles_and_to_strangers_are_left_out() -> None:
    layout = layered(["a", "b"], [("a", "b"), ("b", "a"), ("a", "stranger"), ("a", "a")])
    assert sum(bool(path) for path in layout.paths) == 1


def test_nothing_is_drawn_of_nothing() -> None:
    assert layered([], []).columns == []


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=14))
def test_every_edge_goes_to_the_right_and_no_two_places_overlap(pairs: list[tuple[int, int]]) -> None:
    boxes = [f"n{number}" for number in range(9)]
    edges = [(f"n{min(a, b)}", f"n{max(a, b)}") for a, b in pairs if a != b]
    layout = layered(boxes, edges)
    column = {place: number for number, places in enumerate(layout.columns) for place in places}
    assert {place for place in column if isinstance(place, str)} == set(boxes)
    for path in layout.paths:
        assert [column[place] for place in path] == list(range(column[path[0]], column[path[0]] + len(path)))
    for places in layout.columns:
        heights = [layout.height[place] for place in places]
        assert all(after - before > 0.99 for before, after in pairwise(heights))
    assert min(layout.height.values()) == 0
    assert layered(boxes, edges) == layout
