"""The network transports keep every rule of the published conformance suite."""

from __future__ import annotations

import pytest

from actorstream.testing import transport_cases
from actorstream.testing.transport import TransportCase, Way
from actorstream.transports.zmq import ZmqTransport


@pytest.mark.parametrize("case", transport_cases(ZmqTransport, ways=[Way.TOGETHER, Way.HANDED]), ids=str)
def test_zmq_keeps_the_rules_over_unix_sockets(case: TransportCase) -> None:
    case.run()


@pytest.mark.parametrize("case", transport_cases(ZmqTransport, ways=[Way.TOGETHER], scheme="tcp"), ids=str)
def test_zmq_keeps_the_rules_over_encrypted_tcp(case: TransportCase) -> None:
    case.run()
