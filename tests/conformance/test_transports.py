"""Both built-in transports keep every rule of the published conformance suite."""

from __future__ import annotations

import pytest
import uvloop

from actorstream.testing import transport_cases
from actorstream.testing.transport import TransportCase, Way
from actorstream.transports.local import LocalTransport
from actorstream.transports.shm import ShmTransport


@pytest.mark.parametrize("case", transport_cases(LocalTransport), ids=str)
def test_local_keeps_the_rules(case: TransportCase) -> None:
    case.run()


@pytest.mark.parametrize(
    "case", transport_cases(ShmTransport, ways=[Way.TOGETHER, Way.HANDED]), ids=str
)  # processes that inherit the fabric are tested on the other loop
def test_shm_keeps_the_rules(case: TransportCase) -> None:
    case.run()


@pytest.mark.parametrize(
    "case", transport_cases(ShmTransport, ways=[Way.APART], loop_factory=uvloop.new_event_loop), ids=str
)
def test_shm_keeps_the_rules_on_uvloop(case: TransportCase) -> None:
    case.run()
