from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actorstream.placement.spread import spread
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.machine import Machine

from .test_base import make_graph


@given(st.integers(1, 5), st.integers(1, 9), st.integers(1, 9))
def test_replica_i_is_on_worker_i_mod_workers_so_forward_chains_are_together(
    workers: int, a: int, b: int
) -> None:
    graph = make_graph({"a": a, "b": b, "c": b}, ("a", "b", "shuffle"), ("b", "c", "forward"))
    found = spread(graph, DeploySpec(workers=workers), Machine.of_cores(2))
    assert found == {
        (name, index): index % workers
        for name, count in (("a", a), ("b", b), ("c", b))
        for index in range(count)
    }
