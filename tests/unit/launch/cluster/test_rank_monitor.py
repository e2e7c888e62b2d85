from __future__ import annotations

import io
import json
import signal
import socket
import threading
from typing import Any

import pytest

from actorstream.launch.cluster.rank_monitor import RankMonitor
from actorstream.launch.cluster.rank_task import _pass_on


def connected(monitor: RankMonitor, rank: int, token: str | None = None) -> tuple[socket.socket, Any]:
    link = socket.create_connection(monitor.address)
    link.sendall(json.dumps({"token": token or monitor.token, "rank": rank}).encode() + b"\n")
    return link, link.makefile("r")


def test_an_attempt_begins_when_all_are_there_and_those_of_the_one_before_have_gone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    monitor = RankMonitor("127.0.0.1", 2)
    first = [connected(monitor, rank) for rank in range(2)]
    assert [json.loads(said.readline()) for _, said in first] == [{"attempt": 0}] * 2
    assert monitor.signal(signal.SIGINT)
    assert [said.readline() for _, said in first] == ["INT\n"] * 2
    second = [connected(monitor, rank) for rank in range(2)]
    first[0][0].sendall(json.dumps({"error": "a line\n"}).encode() + b"\n")
    for link, said in first:
        assert monitor.attempts == 1
        link.shutdown(socket.SHUT_RDWR)
        said.close()
        link.close()
    assert [json.loads(said.readline()) for _, said in second] == [{"attempt": 1}] * 2
    said_here = capsys.readouterr().err
    assert "a line\n" in said_here
    assert "Spark starts the workers again (attempt 2)" in said_here
    monitor.close()
    for link, said in second:
        assert said.readline() == ""
        said.close()
        link.close()


def test_lines_of_any_length_and_any_bytes_reach_the_driver(capsys: pytest.CaptureFixture[str]) -> None:
    monitor = RankMonitor("127.0.0.1", 1)
    link, said = connected(monitor, 0)
    assert json.loads(said.readline()) == {"attempt": 0}
    long = "x" * (2 << 20) + "\n" + "\N{GRINNING FACE}" * (1 << 18) + "\n"
    _pass_on(io.BytesIO(long.encode() + b"\xff\nlast"), "out", link, threading.Lock())
    link.shutdown(socket.SHUT_WR)
    assert said.readline() == ""  # the monitor has heard all
    assert capsys.readouterr().out == f"{long}\N{REPLACEMENT CHARACTER}\nlast"
    monitor.close()
    said.close()
    link.close()


def test_who_does_not_know_the_token_is_not_counted() -> None:
    monitor = RankMonitor("127.0.0.1", 1)
    link, said = connected(monitor, 0, "wrong")
    assert said.readline() == ""
    said.close()
    link.close()
    assert monitor.attempts == 0
    assert not monitor.signal(signal.SIGTERM)
    monitor.close()
