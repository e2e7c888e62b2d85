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
from tests.integration.timestamp_parts import Copies, Texts, Ticks


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
        ({"through": Texts}, {"sink": ""}),
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
    ("deploy", "why"),
    [
        ({"parts": 1}, "one channel"),
        ({"workers": 2, "transport": "shm"}, "in one process"),
        ({"kind": MayRest}, "idle_timeout"),
    ],
    ids=str,
)
def test_else_it_is_said_why_each_replica_merges_itself(deploy: dict[str, Any], why: str) -> None:
    (found,) = job_of(**deploy).gates.values()
    assert why in found


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
