"""Settings of all tests: properties are not timed, since how long an example takes says nothing on a busy machine; and
Ctrl-C reaches the processes that tests start, also where a shell started the tests in the background and had it ignored."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def eventfd() -> Iterator[int]:
    from actorstream.native.memory import create_eventfd

    made = create_eventfd()
    yield made
    os.close(made)
