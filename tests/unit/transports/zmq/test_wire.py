"""What a process that waits for others makes of one that is lost before the run."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from actorstream.errors import WorkerDiedError
from actorstream.transports.zmq.wire import Wire
from tests.integration.zmq_pairs import SECRET, free_port

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
