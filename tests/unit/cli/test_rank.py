"""What a rank of a run over several processes tells the others if it is stopped while it compiles."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actorstream.cli import rank
from actorstream.cli.rank import launch_rank
from actorstream.launch.files import JobFiles
from actorstream.launch.ranks.identity import Identity
from actorstream.launch.signals import COMMAND
from actorstream.plan.compile import compile_job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from actorstream.transports.assembly import Assembly
from tests.integration.parts import Collect, Numbers

CHECKPOINT = 'transport = "zmq"\n[checkpoint]\npath = "state"\nevery = "1s"\n'


class Alone(Assembly):
    """One rank, and what it has told of itself."""

    rank, size = 0, 1

    def __init__(self) -> None:
        self.told: list[Identity] = []

    @classmethod
    def found(cls, deploy: Any) -> None:
        raise NotImplementedError

    @classmethod
    def starter(cls, deploy: Any, command: Sequence[str]) -> None:
        raise NotImplementedError

    def gather(self, data: bytes, limit_s: float) -> list[bytes]:
        self.told.append(msgspec.msgpack.decode(data, type=Identity))
        return [data]

    def streams(
        self, wanted: Iterable[tuple[int, str]], limit_s: float
    ) -> dict[tuple[int, str], socket.socket]:
        raise NotImplementedError

    def end(self, status: int, *, in_order: bool, ends_others: bool) -> None:
        assert in_order, "all ranks hear of it"


@pytest.mark.parametrize(
    ("number", "deploy", "status", "said"),
    [
        (signal.SIGTERM, CHECKPOINT, 75, "suspended before its sources began"),
        (signal.SIGTERM, "", 130, "stopped before its sources began"),
        (signal.SIGINT, CHECKPOINT, 130, "stopped before its sources began"),
    ],
)
def test_a_rank_that_is_stopped_while_it_compiles_tells_the_others_so(
    number: int,
    deploy: str,
    status: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "deploy.toml"
    path.write_text(deploy)
    assembly = stopped(number, JobFiles(tmp_path / "topology.toml", path), monkeypatch)
    assert [each.status for each in assembly.told] == [status] and said in assembly.told[0].error
    assert f"actorstream: {said}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("of_plan", "of_file", "status"),
    [(CHECKPOINT, "", 75), ("", CHECKPOINT, 130)],
)
def test_whether_a_rank_with_a_plan_is_suspended_is_up_to_the_deployment_of_the_plan(
    of_plan: str, of_file: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, plan = tmp_path / "deploy.toml", tmp_path / "plan.json"
    topology = Topology("small")
    topology.source(Numbers, name="numbers").into(Collect, name="sink")
    path.write_text(of_plan)
    compile_job(topology.spec(), load_deploy(path, (), transport="shm")).plan.save(plan)
    path.write_text(of_file)
    assembly = stopped(signal.SIGTERM, JobFiles(tmp_path / "topology.toml", path, plan=plan), monkeypatch)
    assert [each.status for each in assembly.told] == [status]


def stopped(number: int, files: JobFiles, monkeypatch: pytest.MonkeyPatch) -> Alone:
    """A rank that a signal has ended while it compiled."""
    monkeypatch.setattr(rank, "read_job", lambda *_, **__: signal.raise_signal(number))
    assembly = Alone()
    COMMAND.install()
    try:
        given: dict[str, Any] = {"report": None, "replan": None, "resume": False, "quiet": True}
        status = launch_rank(assembly, files, None, None, **given, json_=False, started=0.0)
    finally:
        COMMAND.remove()
    assert [each.status for each in assembly.told] == [status]
    return assembly
