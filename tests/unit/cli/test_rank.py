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
from actorstream.transports.assembly import Assembly

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
    monkeypatch.setattr(rank, "read_job", lambda *_, **__: signal.raise_signal(number))
    assembly = Alone()
    COMMAND.install()
    try:
        files = JobFiles(tmp_path / "topology.toml", path, (), None)
        given: dict[str, Any] = {"report": None, "replan": None, "resume": False, "quiet": True}
        assert launch_rank(assembly, files, None, None, **given, json_=False, started=0.0) == status
    finally:
        COMMAND.remove()
    assert [each.status for each in assembly.told] == [status] and said in assembly.told[0].error
    assert f"actorstream: {said}" in capsys.readouterr().err
