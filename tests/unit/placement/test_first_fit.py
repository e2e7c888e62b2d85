from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actorstream.placement.first_fit import first_fit
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.machine import Machine

from .test_base import make_graph

MACHINE = Machine.of_cores(2)


def test_a_worker_is_filled_before_the_next_one() -> None:
    graph = make_graph({"a": 2, "b": 2, "c": 2}, ("a", "b", "shuffle"), ("b", "c", "shuffle"))
    found = first_fit(graph, DeploySpec(workers=2), MACHINE)
    assert [found[each] for each in sorted(found)] == [0, 0, 0, 1, 1, 1]


@given(st.integers(1, 5), st.integers(1, 6), st.integers(1, 6))
def test_forward_chains_are_never_cut(workers: int, chained: int, others: int) -> None:
    graph = make_graph({"a": chained, "b": chained, "c": others}, ("a", "b", "forward"), ("b", "c", "key"))
    found = first_fit(graph, DeploySpec(workers=workers), MACHINE)
    assert all(found["a", index] == found["b", index] for index in range(chained))
    assert set(found.values()) <= set(range(workers))


def test_a_chain_longer_than_any_room_goes_to_the_emptiest_worker() -> None:
    edges = (("a", "b", "forward"), ("b", "c", "forward"))
    graph = make_graph({"x": 1, "a": 1, "b": 1, "c": 1}, *edges)
    found = first_fit(graph, DeploySpec(workers=4), MACHINE)
    assert found == {("x", 0): 0, ("a", 0): 1, ("b", 0): 1, ("c", 0): 1}
