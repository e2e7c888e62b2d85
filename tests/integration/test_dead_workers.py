"""Workers that die without a word: the run ends, says which it was and what ran there, and commits nothing."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from actorstream.actors.actor import Actor
from actorstream.errors import WorkerDiedError
from actorstream.topology.builder import Topology
from tests.integration.parts import Double, Journal, Number, Numbers, Text
from tests.integration.test_failures import DEPLOYMENTS, Raises, Staged, failing, run


class Kills(Actor):
    """Its worker dies at value 777."""

    def on_event(self, event: Number) -> Number:
        if event.value == 777:
            os.kill(os.getpid(), signal.SIGKILL)
        return event


@pytest.mark.parametrize("deploy", DEPLOYMENTS[1:])
def test_a_killed_worker_is_named_with_its_actors(deploy: dict[str, Any], journal: Journal) -> None:
    with pytest.raises(WorkerDiedError) as caught:
        run(failing(journal, Kills), **deploy)
    text = str(caught.value)
    assert "was killed by signal 9 (SIGKILL)" in text
    assert "broken" in text
    assert not [line for line in journal.lines() if line.startswith("commit")]


class Exits(Actor):
    def on_event(self, event: Number) -> Number:
        if event.value == 777:
            os._exit(7)
        return event


@pytest.mark.parametrize("deploy", DEPLOYMENTS[1:])
def test_a_worker_that_exits_is_named_with_its_status(deploy: dict[str, Any], journal: Journal) -> None:
    with pytest.raises(WorkerDiedError, match=r"worker \d \(pid \d+, actors: .*\) exited with status 7"):
        run(failing(journal, Exits), **deploy)


class KillsInCommit(Staged):
    def commit(self, token: Any) -> None:
        if self.replica == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        super().commit(token)


def test_a_worker_that_dies_while_committing_does_not_keep_the_others_from_it(journal: Journal) -> None:
    topology = Topology("failing")
    topology.source(Numbers, count=1000).shuffle().into(
        KillsInCommit, name="sink", replicas=3, journal=str(journal.path)
    )
    with pytest.raises(WorkerDiedError, match="some sinks may have committed"):
        run(topology, transport="shm", workers=3)
    committed = sorted(line.split()[1] for line in journal.lines() if line.startswith("commit"))
    assert committed == ["0", "2"]


def test_text_and_numbers_survive_beside_a_failure_elsewhere(journal: Journal) -> None:
    topology = Topology("failing")
    source = topology.source(Numbers, name="source", count=100_000_000)
    source.shuffle().through(Text, replicas=2).shuffle().into(Staged, name="texts", journal=str(journal.path))
    source.shuffle().through(Double, replicas=2).shuffle().through(Raises, name="broken", where="end").into(
        Staged, name="sink", journal=str(journal.path)
    )
    source.through(Kills, name="killer").into(Staged, name="third", journal=str(journal.path))
    with pytest.raises(WorkerDiedError):
        run(topology, transport="shm", workers=4, placement="round-robin", edge_bytes=4096)
