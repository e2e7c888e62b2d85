"""Whole topologies on both transports and many deployments give what one after the other gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actorstream.topology.builder import Topology
from tests.covering import covering
from tests.integration.parts import (
    Collect,
    Double,
    DoubleAsync,
    DoubleBatch,
    Drop,
    Expand,
    Ints,
    Live,
    Numbers,
    Origins,
    Pass,
    Text,
)

Rows = list[tuple[Any, ...]]


def run(build: Callable[[Topology], None], **deploy: Any) -> Rows:
    """The rows that the sink `out` got, sorted."""
    topology = Topology("test")
    build(topology)
    return sorted(topology.run(**deploy)["out"])


def numbers(count: int) -> Rows:
    return [(value, value % 101) for value in range(count)]


def chain(topology: Topology, count: int = 1200) -> None:
    """Two replicas of everything: three partitions, a key edge, a forward edge, a shuffle, one sink."""
    stream = topology.source(Numbers, count=count, parts=3, replicas=2)
    stream = stream.by("group").through(Double, replicas=2).through(DoubleBatch, replicas=2)
    stream.shuffle().into(Collect, name="out")


CHAIN = sorted((value * 4, group) for value, group in numbers(1200))


@covering(
    {
        "workers": [1, 2, 4, 8],
        "batch_size": [1, 7, 4096],
        "edge_bytes": [1, 4 << 20],
        "pipelining": [True, False],
        "transport": ["local", "shm"],
    }
)
def test_every_deployment_gives_the_same_rows(
    workers: int, batch_size: int, edge_bytes: int, pipelining: bool, transport: str
) -> None:
    settings = {"batch_size": batch_size, "edge_bytes": edge_bytes, "pipelining": pipelining}
    assert run(chain, transport=transport, workers=workers, **settings) == CHAIN


@pytest.mark.parametrize("placement", ["spread", "round-robin", "first-fit"])
def test_the_placement_changes_no_row(placement: str) -> None:
    assert run(chain, transport="shm", workers=3, placement=placement) == CHAIN


@pytest.mark.parametrize("order", ["none", "serial"])
@pytest.mark.parametrize(
    "deploy", [{}, {"transport": "shm", "workers": 2}, {"schedule": "lp", "threads": 1}], ids=str
)
def test_a_chain_may_be_as_long_as_one_likes(order: str, deploy: dict[str, Any]) -> None:
    def build(topology: Topology) -> None:
        stream = topology.source(Numbers, count=10)
        for _ in range(70):
            stream = stream.through("map", set={"group": "group + 1"}).through(Pass)
        for _ in range(120):
            stream = stream.through("filter", where="value >= 0")
        stream.ordered(order).into(Collect, name="out")

    assert run(build, **deploy) == [(value, group + 70) for value, group in numbers(10)]


DEPLOYMENTS = [
    pytest.param({}, id="local"),
    pytest.param({"edge_bytes": 1, "batch_size": 7, "pipelining": False}, id="local-one-jumbo"),
    pytest.param({"transport": "shm", "workers": 2}, id="shm"),
    pytest.param({"transport": "shm", "workers": 2, "edge_bytes": 1, "batch_size": 64}, id="shm-one-jumbo"),
    pytest.param({"transport": "shm", "workers": 2, "placement": "round-robin"}, id="shm-pipeline"),
]


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
class TestOnEveryTransport:
    def test_filters_that_drop_everything_let_the_run_end(self, deploy: dict[str, Any]) -> None:
        def build(topology: Topology) -> None:
            stream = topology.source(Numbers, count=20_000, parts=2, replicas=2)
            stream.by("group").through(Drop, replicas=2).shuffle().into(Collect, name="out")

        assert run(build, **deploy) == []

    def test_a_diamond_joins_what_it_split(self, deploy: dict[str, Any]) -> None:
        def build(topology: Topology) -> None:
            stream = topology.source(Numbers, count=4000, parts=2, replicas=2)
            doubled = stream.shuffle().through(Double, replicas=2)
            nothing = stream.by("group").through(Drop)
            same = stream.broadcast().through(Pass)
            doubled.to_one().into(Collect, nothing.to_one(), same.to_one(), name="out")

        assert run(build, **deploy) == sorted(
            [(value * 2, group) for value, group in numbers(4000)] + numbers(4000)
        )

    def test_several_consumers_each_get_every_row(self, deploy: dict[str, Any]) -> None:
        topology = Topology("test")
        stream = topology.source(Numbers, count=3000)
        stream.shuffle().through(Pass, replicas=2, name="a").to_one().into(Collect, name="first")
        stream.by("group").through(Pass, replicas=3, name="b").to_one().into(Collect, name="second")
        stream.into(Collect, name="third")
        result = topology.run(**deploy)
        for sink in ("first", "second", "third"):
            assert sorted(result[sink]) == numbers(3000)

    def test_broadcast_gives_every_replica_every_row(self, deploy: dict[str, Any]) -> None:
        def build(topology: Topology) -> None:
            stream = topology.source(Numbers, count=500)
            stream.broadcast().through(Pass, replicas=3).to_one().into(Collect, name="out")

        assert run(build, **deploy) == sorted(numbers(500) * 3)

    def test_one_row_may_become_ten_thousand(self, deploy: dict[str, Any]) -> None:
        def build(topology: Topology) -> None:
            stream = topology.source(Numbers, count=5).shuffle().through(Expand, replicas=2, times=10_000)
            stream.shuffle().into(Collect, name="out")

        assert run(build, **deploy) == [
            (value * 10_000 + each, group) for value, group in numbers(5) for each in range(10_000)
        ]

    def test_an_empty_input_ends_the_run(self, deploy: dict[str, Any]) -> None:
        def build(topology: Topology) -> None:
            stream = topology.source(Numbers, count=0).shuffle().through(Double, replicas=2)
            stream.to_one().into(Collect, name="out")

        assert run(build, **deploy) == []

    def test_a_source_may_have_more_replicas_than_partitions(self, deploy: dict[str, Any]) -> None:
        def build(topology: Topology) -> None:
            stream = topology.source(Numbers, count=1000, parts=2, replicas=5)
            stream.shuffle().through(DoubleAsync, replicas=2).to_one().into(Collect, name="out")

        assert run(build, **deploy) == [(value * 2, group) for value, group in numbers(1000)]

    def test_a_partition_is_the_origin_of_rows_whose_source_names_none(self, deploy: dict[str, Any]) -> None:
        def build(topology: Topology) -> None:
            topology.source(Origins, replicas=3).to_one().into(Collect, name="out")

        assert run(build, **deploy) == [(0, 0), (1, 1), (2, 2)]

    def test_live_sources_and_async_hooks_lose_nothing(self, deploy: dict[str, Any]) -> None:
        def build(topology: Topology) -> None:
            stream = topology.source(Live, count=1000).shuffle().through(DoubleAsync, replicas=2)
            stream.to_one().into(Collect, name="out")

        assert run(build, **deploy) == [(value * 2, group) for value, group in numbers(1000)]

    def test_text_of_any_length_arrives(self, deploy: dict[str, Any]) -> None:
        def build(topology: Topology) -> None:
            stream = topology.source(Ints, count=1000).shuffle().through(Text, replicas=2)
            stream.to_one().into(Collect, name="out")

        assert run(build, **deploy) == sorted(
            ("x" * (value % 40) + str(value), value) for value in range(1000)
        )

    def test_rows_of_one_producer_stay_in_order(self, deploy: dict[str, Any]) -> None:
        topology = Topology("test")
        topology.source(Numbers, count=5000).through(Pass).through(Double).into(Collect, name="out")
        assert topology.run(**deploy)["out"] == [(value * 2, group) for value, group in numbers(5000)]

    def test_ranges_lead_to_the_same_rows(self, deploy: dict[str, Any]) -> None:
        def build(topology: Topology) -> None:
            stream = (
                topology.source(Numbers, count=1000).ranges("value", [10, 500]).through(Double, replicas=3)
            )
            stream.to_one().into(Collect, name="out")

        assert run(build, **deploy) == [(value * 2, group) for value, group in numbers(1000)]


def test_columns_whose_names_no_attribute_can_have_pass_between_processes(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a b,class\n1,2\n3,4\n")
    topology = Topology("names")
    topology.source("csv-source", path=str(tmp_path / "in.csv"), name="rows")
    topology.actor("sink", "csv-sink", ["rows"], path=str(tmp_path / "out.csv"))
    topology.run(transport="shm", workers=2, placement="round-robin")
    assert (tmp_path / "out.csv").read_text() == "a b,class\n1,2\n3,4\n"
