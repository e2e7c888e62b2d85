"""Which inputs in timestamp order go through one gate for all replicas, and why others do not."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from actorstream.plan.compile import compile_job
from actorstream.plan.gates import gates
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.integration.parts import Collect
from tests.integration.timestamp_parts import Copies, PassTicks, Texts, Ticks


class MayRest(Ticks):
    idle_timeout = timedelta(seconds=1)


def job_of(
    parts: int = 2,
    through: Any = None,
    route: str = "broadcast",
    replicas: int = 3,
    kind: Any = Ticks,
    **deploy: Any,
) -> Job:
    topology = Topology("gates")
    stream = topology.source(kind, name="ticks", parts=parts, replicas=parts)
    if through is not None:
        stream = stream.forward().through(through, name="before", replicas=parts)
    read = stream.by("key") if route == "key" else stream.broadcast()
    read.ordered("timestamp").into(Collect, name="sink", replicas=replicas)
    deploy = {"transport": "local", "workers": 1, "merge": "gate", **deploy}
    return compile_job(topology.spec(), load_deploy(None, (), **deploy))


POOL = {"schedule": "ct", "threads": 1}


@pytest.mark.parametrize(
    ("deploy", "found"),
    [
        ({}, {"sink": ""}),
        ({"through": Copies}, {"sink": ""}),
        ({"merge": "channel"}, {}),
        ({"merge": "channel", **POOL}, {"sink": ""}),
        ({"workers": 2}, {"sink": ""}),
        ({"replicas": 1}, {}),
        ({"route": "key"}, {}),
    ],
    ids=str,
)
def test_a_gate_does_for_replicas_that_get_the_same_rows_in_one_process(
    deploy: dict[str, Any], found: dict[str, str]
) -> None:
    assert job_of(**deploy).gates == found


@pytest.mark.parametrize(
    ("deploy", "found"),
    [
        ({"route": "key"}, {"sink"}),
        ({"replicas": 1}, {"sink"}),
        ({}, set()),  # one does for all
        ({"route": "key", "parts": 1}, set()),
        ({"route": "key", "workers": 2, "transport": "shm"}, set()),
        ({"route": "key", "merge": "channel"}, set()),
        ({"route": "key", "merge": "channel", **POOL}, {"sink"}),
    ],
    ids=str,
)
def test_replicas_that_get_rows_of_their_own_have_gates_of_their_own(
    deploy: dict[str, Any], found: set[str]
) -> None:
    assert job_of(**deploy).own_gates == found


@pytest.mark.parametrize(
    ("deploy", "why"),
    [
        ({"parts": 1}, "one channel"),
        ({"workers": 2, "transport": "shm"}, "in one process"),
        ({"through": Texts}, "fixed width"),
        ({"kind": MayRest}, "idle_timeout"),
    ],
    ids=str,
)
def test_else_it_is_said_why_each_replica_merges_itself(deploy: dict[str, Any], why: str) -> None:
    (found,) = job_of(**deploy).gates.values()
    assert why in found


def test_rows_of_several_types_are_merged_by_each_replica() -> None:
    topology = Topology("types")
    ticks = topology.source(Ticks, name="ticks")
    texts = topology.source(Ticks, name="more").through(Texts, name="texts").broadcast().ordered("timestamp")
    ticks.broadcast().ordered("timestamp").into(Collect, texts, name="sink", replicas=2)
    passed = ticks.through(PassTicks, name="passed", replicas=2)
    passed.broadcast().ordered("timestamp").into(Collect, name="plain", replicas=2)
    job = compile_job(topology.spec(), load_deploy(None, (), transport="local", workers=1, merge="gate"))
    assert job.gates == {"sink": "its rows are of several types or of no fixed width", "plain": ""}


@pytest.mark.parametrize(("other", "found"), [([["same"], []], ""), ([["other"], []], "checkpoint")])
def test_replicas_that_had_got_different_rows_go_on_by_themselves(other: Any, found: str) -> None:
    job = job_of(replicas=2)
    states = [{"unit": {"lanes": [["same"], []]}}, {"unit": {"lanes": other}}]
    replicas = [
        SimpleNamespace(actor="sink", file=None, state=msgspec.msgpack.encode(state)) for state in states
    ]
    job.restored = SimpleNamespace(replicas=replicas)  # type: ignore[assignment]
    assert found in gates(job)["sink"]
    assert bool(gates(job)["sink"]) == bool(found)
