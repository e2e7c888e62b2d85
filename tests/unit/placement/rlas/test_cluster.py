"""Several hosts as one machine."""

from __future__ import annotations

import pytest

from actorstream.errors import ConfigurationError
from actorstream.placement.rlas import MachineModel, PlanOptions, Socket, check_machine_model, plan
from actorstream.placement.rlas.cluster import joined, seated

from .small import dataflow, operator, profile

NODE = MachineModel(
    name="node",
    sockets=[
        Socket(cores=2, hertz=1e9, cpus=[0, 1], node=0),
        Socket(cores=2, hertz=1e9, cpus=[2, 3], node=1),
    ],
    latency_ns=[[50.0, 100.0], [100.0, 50.0]],
    bandwidth=[[5e10, 1e10], [1e10, 5e10]],
    core_ns=8.0,
)


def test_the_network_is_the_slowest_channel_between_two_hosts() -> None:
    both = check_machine_model(joined({"a": NODE, "b": NODE}, link=4e9))
    assert [each.host for each in both.sockets] == ["a", "a", "b", "b"]
    assert both.latency_ns[0] == [50.0, 100.0, 100.0, 100.0], (
        "16 ns on the link, and 100 to the host's own farthest socket"
    )
    assert both.bandwidth[0] == [5e10, 1e10, 1e9, 1e9], "two sockets of each host share the link"
    assert joined({"a": NODE, "b": NODE}, link=1e8).latency_ns[0][2] == 640.0
    assert (both.cores, both.core_ns) == (8, 8.0)


def test_ranks_are_dealt_to_the_sockets_of_their_host_and_have_no_more_cores_than_ranks() -> None:
    both = joined({"a": NODE, "b": NODE}, link=1.25e9)
    part, seats = seated(both, ["a", "b", "a", "a"])
    assert [(each.host, each.cores, each.cpus) for each in part.sockets] == [
        ("a", 2, [0, 1]),
        ("a", 1, [2]),
        ("b", 1, [0]),
    ]
    assert seats == [0, 2, 1, 0]
    assert check_machine_model(part).latency_ns[2][0] == both.latency_ns[2][0]


def test_more_ranks_than_cores_share_these() -> None:
    part, seats = seated(NODE, ["this host"] * 6)
    assert [each.cores for each in part.sockets] == [2, 2]
    assert seats == [0, 1, 0, 1, 0, 1]


def test_ranks_that_are_bound_to_cores_keep_to_them() -> None:
    cyclic = [[0], [2], [1], [3]]
    part, seats = seated(NODE, ["this host"] * 4, cyclic)
    assert seats == [0, 1, 0, 1]
    block, seats = seated(NODE, ["this host"] * 4, [[1], [0], [3], [2]])
    assert seats == [0, 0, 1, 1]
    assert [each.cpus for each in block.sockets] == [[1, 0], [3, 2]], (
        "the nth is the nth rank's of this socket"
    )
    assert check_machine_model(block).cores == part.cores == 4
    uneven, seats = seated(NODE, ["this host"] * 3, [[2], [3], [2, 3]])
    assert (seats, [each.cpus for each in uneven.sockets]) == ([0, 0, 0], [[2, 3]]), (
        "no rank may use the other socket"
    )
    wide, _ = seated(NODE, ["this host"] * 2, [[0, 1], [0]])
    assert [each.cpus for each in wide.sockets] == [[1, 0]]


def test_ranks_that_share_a_core_have_one_core() -> None:
    part, seats = seated(NODE, ["this host"] * 4, [[0], [0], [1], [1]])
    assert (seats, [each.cores for each in part.sockets]) == ([0, 0, 0, 0], [2])
    assert part.sockets[0].cpus == [], "the second of them has no core of its own"


def test_ranks_whose_cores_the_model_does_not_have_are_dealt_as_if_they_were_not_bound() -> None:
    assert seated(NODE, ["this host"] * 4, [[8], [9], [10], [11]]) == seated(NODE, ["this host"] * 4)


def test_a_rank_on_a_host_that_the_model_does_not_have_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match=r"has no socket on host 'c'; allowed: a, b"):
        seated(joined({"a": NODE, "b": NODE}, link=1.25e9), ["a", "c"])


def test_a_chatty_pair_stays_on_one_host_and_a_costly_one_uses_both() -> None:
    machine = joined({"a": NODE.first(1), "b": NODE.first(1)}, link=1e8)
    flow = dataflow("lines>split", "split>out")
    large = profile(lines=operator(10, size=1000), split=operator(10, size=1000), out=operator(10))
    hosts = {machine.sockets[each.socket].host for each in plan(flow, machine, large, PlanOptions()).replicas}
    assert len(hosts) == 1
    costly = profile(lines=operator(10, size=8), split=operator(100_000, size=8), out=operator(10))
    assert {
        machine.sockets[each.socket].host for each in plan(flow, machine, costly, PlanOptions()).replicas
    } == {"a", "b"}
