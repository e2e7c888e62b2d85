"""What a process that waits for others makes of one that is lost before the run, or that it cannot wait for."""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from actorstream.errors import ConfigurationError, WorkerDiedError
from actorstream.transports.zmq.wire import Wire
from tests.integration.zmq_pairs import SECRET, free_port
from tests.unit.transports.shm.forked import in_child

WAITING_S = 60.0


@pytest.fixture
def wires() -> Iterator[list[Wire]]:
    """Two that know each other."""
    addresses = [f"tcp://127.0.0.1:{free_port()}" for _ in range(2)]
    made = [
        Wire(rank, addresses, addresses, addresses[rank], SECRET, curve=True, away_s=4.0) for rank in range(2)
    ]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda wire: wire.gather(b"", 0, WAITING_S), made))
    yield made
    for wire in made:
        wire.close(0.1)


@pytest.mark.parametrize("waits", [0, 1])
def test_a_process_that_is_missed_is_lost_and_named(wires: list[Wire], waits: int) -> None:
    wires[waits].missed = lambda peer: "gives no sign of life"
    with pytest.raises(WorkerDiedError, match=rf"worker {1 - waits} at tcp://.* gives no sign of life"):
        wires[waits].gather(b"", 0, WAITING_S)


@pytest.mark.parametrize("waits", [0, 1])
def test_a_process_that_ends_instead_of_answering_is_lost_and_named(wires: list[Wire], waits: int) -> None:
    wires[waits].missed = lambda peer: ""
    wires[1 - waits].close(WAITING_S)
    with pytest.raises(WorkerDiedError, match=rf"worker {1 - waits} at tcp://.* has ended before the run"):
        wires[waits].gather(b"", 0, WAITING_S)


def test_a_process_with_too_few_files_for_the_ways_to_the_others_says_so_and_does_not_wait() -> None:
    def make() -> str:
        used = sum(1 for _ in Path("/proc/self/fd").iterdir())
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (used + 64, hard))
        names = [f"ipc://@actorstream-test-files-{os.getpid()}-{worker}" for worker in range(100)]
        try:
            Wire(0, names, names, names[0], SECRET, curve=False, away_s=4.0)
        except ConfigurationError as error:
            return str(error)
        return "it was made"

    said = in_child(make)
    assert re.search(r"cannot open the way to worker \d+ at ipc://.*: Too many open files;.*ulimit -n", said)
