"""Both built-in transports keep every rule of the published conformance suite."""

from __future__ import annotations

import pytest

from actorstream.testing import transport_cases
from actorstream.testing.transport import TransportCase
from actorstream.transports.local import LocalTransport
from actorstream.transports.shm import ShmTransport


@pytest.mark.parametrize("case", transport_cases(LocalTransport), ids=str)
def test_local_keeps_the_rules(case: TransportCase) -> None:
    case.run()


@pytest.mark.parametrize("case", transport_cases(ShmTransport), ids=str)
def test_shm_keeps_the_rules(case: TransportCase) -> None:
    case.run()
