from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from actorstream.topology.graph import Graph, fingerprint, topological_order
from actorstream.topology.inputs import Inputs

from .conftest import WORD_COUNT


@given(st.dictionaries(st.integers(0, 9), st.lists(st.integers(0, 11), max_size=3), max_size=10))
def test_an_order_has_inputs_first_and_the_rest_lies_on_or_behind_a_cycle(
    inputs: dict[int, list[int]],
) -> None:
    named = {f"n{name}": [f"n{each}" for each in reads] for name, reads in inputs.items()}
    order, cycles = topological_order(named)
    for number, name in enumerate(order):
        assert all(each in order[:number] for each in named[name] if each in named)
    for cycle in cycles:
        assert cycle[0] == cycle[-1]
        assert all(first in named[second] for first, second in pairwise(cycle))
    left = set(named) - set(order)
    assert bool(left) == bool(cycles)
    assert all(set(cycle) <= left for cycle in cycles)
    for name in left:  # against the flow, everything left comes from a cycle
        seen, waiting = set(), [name]
        while waiting:
            each = waiting.pop()
            if each not in seen:
                seen.add(each)
                waiting += [producer for producer in named[each] if producer in left]
        assert any(set(cycle) & seen for cycle in cycles)


def test_actors_without_a_path_between_them_stay_as_written() -> None:
    assert topological_order({"b": [], "a": [], "d": ["a"], "c": ["b"]})[0] == ["b", "a", "d", "c"]


def test_edges_are_found_by_producer_and_output(graph: Graph) -> None:
    assert [edge.consumer for edge in graph.consumers("lines")] == ["split"]
    assert [edge.consumer for edge in graph.consumers("count", "final")] == ["counts"]
    assert graph.consumers("count", "running") == []
    assert [actor.name for actor in graph.sources()] == ["lines"]
    assert [actor.name for actor in graph.sinks()] == ["counts"]


def test_an_edge_is_shown_by_its_route_key_and_order(graph: Graph) -> None:
    assert [edge.how for edge in graph.edges] == ["shuffle", "key word", "shuffle"]


def test_the_fingerprint_ignores_key_values_and_replicas_but_not_structure(
    read: Callable[..., Inputs],
) -> None:
    first = read(WORD_COUNT).graph.fingerprint
    assert read(WORD_COUNT.replace("out/counts.csv", "elsewhere.csv")).graph.fingerprint == first
    assert read(WORD_COUNT.replace("replicas = 2", "replicas = 3")).graph.fingerprint == first
    assert read(WORD_COUNT.replace("count.final", "count.running")).graph.fingerprint != first
    assert read(WORD_COUNT.replace('key = "word"', 'key = "ts"')).graph.fingerprint != first


def test_a_fingerprint_does_not_depend_on_the_order_of_keys_and_never_changes() -> None:
    assert fingerprint({"b": 1, "a": [1, 2]}) == fingerprint({"a": [1, 2], "b": 1})
    assert fingerprint({"a": [1, "b", None, 1.5]}) == 0x5C9F7F6FA32B2C3F
