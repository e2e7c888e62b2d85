from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from actorstream.cli.main import main
from actorstream.launch.cluster import cluster_run
from actorstream.launch.cluster.cluster_run import ClusterRun

LAUNCH = ["launch", "apps/word_count/topology.toml", "--on", "local-cluster[1,1,1024]"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--transport", "shm"], "--transport: is 'shm' with --on; allowed: zmq"),
        (
            ["--spark", "executor.memory"],
            "--spark: is 'executor.memory'; allowed: NAME=VALUE (spark.executor.memory=2g)",
        ),
        (["--set", "actors.nobody.replicas=2"], "nobody"),
        (
            ["--plan", "plan.json"],
            "--plan: is given with --on local-cluster[1,1,1024], whose executors are not",
        ),
        (["--rank", "0"], "--rank: is given with --on"),
    ],
)
def test_a_wrong_option_is_one_message_before_spark_starts(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*LAUNCH, *options]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert "starting Spark" not in said


def test_an_option_of_spark_without_a_cluster_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*LAUNCH[:2], "--spark", "spark.executor.memory=2g", "--spark-logs"]) == 2
    said = capsys.readouterr().err
    assert "--spark: is given without --on; allowed: with --on MASTER" in said
    assert "--spark-logs: is given without --on" in said


class WaitingSpark:
    """A session and its context, whose stage waits for slots until it is cancelled. Spark has it only `late` times later."""

    def __init__(self, begun: Callable[[], object], late: int) -> None:
        self.begun, self.late = begun, late
        self.cancelled = Event()

    @property
    def sparkContext(self) -> WaitingSpark:
        return self

    @property
    def conf(self) -> dict[str, str]:
        return {"spark.driver.host": "127.0.0.1"}

    def parallelize(self, *_: Any) -> WaitingSpark:
        return self

    barrier = mapPartitions = repartition = parallelize

    def collect(self) -> Any:
        self.begun()
        self.cancelled.wait()
        raise RuntimeError("Job 0 cancelled")

    def cancelAllJobs(self) -> None:
        self.late -= 1
        if self.late < 0:
            self.cancelled.set()


@pytest.mark.parametrize("moment", ["compiling", "starting", "waiting", "late"])
@pytest.mark.parametrize(
    ("number", "deploy", "status", "said"),
    [
        (
            signal.SIGTERM,
            '[checkpoint]\npath = "state"\nevery = "1s"\n',
            75,
            "suspended before its sources began",
        ),
        (signal.SIGTERM, "", 130, "stopped before its sources began"),
        (signal.SIGINT, "", 130, "interrupted"),
    ],
    ids=["suspended", "terminated", "interrupted"],
)
def test_a_signal_before_the_workers_run_ends_the_command(
    moment: str,
    number: signal.Signals,
    deploy: str,
    status: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @contextmanager
    def session(*_: Any, **__: Any) -> Iterator[WaitingSpark]:
        if moment == "starting":
            signal.raise_signal(number)
        yield WaitingSpark(lambda: os.kill(os.getpid(), number), late=moment == "late")

    path = tmp_path / "deploy.toml"
    path.write_text(deploy)
    if moment == "compiling":
        monkeypatch.setattr("actorstream.plan.compile.read_job", lambda *_, **__: signal.raise_signal(number))
    monkeypatch.setattr(cluster_run, "spark_session", session)
    monkeypatch.setattr(ClusterRun, "_check_slots", lambda *_: None)
    monkeypatch.setattr(ClusterRun, "_command", lambda *_: None)
    assert main([*LAUNCH, "--deploy", str(path)]) == status
    assert f"actorstream: {said}" in capsys.readouterr().err
