from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from actorstream.placement.round_robin import round_robin
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.machine import Machine

from .test_base import make_graph


@given(st.integers(1, 5), st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_no_worker_has_two_replicas_more_than_another(workers: int, counts: list[int]) -> None:
    graph = make_graph({f"a{number}": count for number, count in enumerate(counts)})
    found = round_robin(graph, DeploySpec(workers=workers), Machine.of_cores(2))
    loads = Counter(dict.fromkeys(range(workers), 0)) + Counter(found.values())
    assert max(loads.values()) - min(loads[worker] for worker in range(workers)) <= 1


def test_a_chain_of_single_replicas_becomes_a_pipeline_of_workers() -> None:
    graph = make_graph({"a": 1, "b": 1, "c": 1}, ("a", "b", "forward"), ("b", "c", "forward"))
    found = round_robin(graph, DeploySpec(workers=2), Machine.of_cores(2))
    assert found == {("a", 0): 0, ("b", 0): 1, ("c", 0): 0}
