"""Workers of one machine that stop without an end: a C thread of each gives signs of life, so the run ends soon, while a hook
that keeps its worker busy is no death."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from actorstream.actors.actor import Actor
from actorstream.errors import WorkerDiedError
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Journal, Number, Numbers
from tests.integration.test_executed_workers import files_of
from tests.integration.test_executed_workers import run as run_files
from tests.integration.test_failures import failing, run

LIMIT = '[network]\npeer_timeout = "300ms"\n'


class Stops(Actor):
    """Its worker is stopped at value 777."""

    def on_event(self, event: Number) -> Number:
        if event.value == 777:
            os.kill(os.getpid(), signal.SIGSTOP)
        return event


class Busy(Actor):
    """Keeps the interpreter lock for longer than the limit, once."""

    def on_event(self, event: Number) -> Number:
        if event.value == 777:
            sum(range(3 * 10**7))
        return event


@pytest.mark.parametrize(
    "deploy",
    [
        {"transport": "shm", "workers": 2},
        {"transport": "zmq", "workers": 2},
    ],
    ids=["shm", "zmq"],
)
def test_a_stopped_worker_ends_the_run_and_is_named(
    deploy: dict[str, Any], journal: Journal, tmp_path: Path
) -> None:
    checkpoint = {"path": str(tmp_path / "state"), "every": "1h"}
    network = {"peer_timeout": "300ms"}
    with pytest.raises(WorkerDiedError) as caught:
        run(failing(journal, Stops), **deploy, network=network, checkpoint=checkpoint)
    text = str(caught.value)
    assert "worker" in text and "broken" in text
    assert "has given no sign of life for 0.3 s: its process is stopped" in text
    assert "launch again with --resume" in text
    assert not [line for line in journal.lines() if line.startswith("commit")]


def test_a_stopped_worker_that_was_started_by_exec_ends_the_run(tmp_path: Path) -> None:
    files = files_of(tmp_path, "test_stopped_workers:Stops", workers=2, deploy=LIMIT)
    with pytest.raises(WorkerDiedError, match="no sign of life"):
        run_files(files, "exec")


def test_a_hook_that_keeps_the_interpreter_lock_past_the_limit_is_no_death() -> None:
    topology = Topology("busy")
    topology.source(Numbers, count=1000).shuffle().through(Busy).into(Collect, name="rows")
    result = run(topology, transport="shm", workers=2, network={"peer_timeout": "300ms"})
    assert len(result["rows"]) == 1000
