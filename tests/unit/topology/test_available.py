from __future__ import annotations

import pytest

from actorstream.errors import Problem
from actorstream.topology.available import Available, check_deploy, order_problem
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.written import Written

AVAILABLE = Available()


def problems(deploy: DeploySpec, available: Available = AVAILABLE) -> list[str]:
    found: list[Problem] = []
    check_deploy(deploy, available, Written(), found)
    return [str(each) for each in found]


def test_what_is_there_is_no_problem() -> None:
    assert problems(DeploySpec()) == []
    assert order_problem("none", AVAILABLE, ("o",), Written()) is None


@pytest.mark.parametrize(
    ("key", "value", "offered"),
    [
        ("transport", "mpi", "local, shm"),
        ("transport", "zmq", "local, shm"),
        ("schedule", "qst", "none"),
        ("placement", "rlas", "spread, round-robin, first-fit"),
    ],
)
def test_what_is_promised_for_later_is_said_to_be_so(key: str, value: str, offered: str) -> None:
    assert problems(DeploySpec(**{key: value})) == [  # type: ignore[arg-type]
        f"{key}: {value!r} is not available in this version; allowed: {offered}"
    ]


def test_what_is_unknown_names_the_nearest() -> None:
    assert problems(DeploySpec(placement="sprad")) == [
        "placement: is 'sprad'; allowed: spread, round-robin, first-fit (did you mean 'spread'?)"
    ]


def test_a_plugin_transport_is_offered_once_it_is_installed() -> None:
    assert problems(DeploySpec(transport="mpi"), Available(transports=("mpi",))) == []
    assert {"local", "shm"} <= set(Available.installed().transports)
    assert Available.installed(orders=["none", "serial"]).orders == ("none", "serial")
