"""Settings of all tests: properties are not timed, since how long an example takes says nothing on a busy machine; and
Ctrl-C reaches the processes that tests start, also where a shell started the tests in the background and had it ignored."""

from __future__ import annotations

import atexit
import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests import covering, stacks

os.environ.setdefault(
    "OPENBLAS_NUM_THREADS", "1"
)  # as in the command: threads of matrices make each fork slower

LONGEST = ("tests/native/test_portability.py", "tests/integration/test_kills.py")
"""Files with tests of a minute or more on a busy machine."""

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Only a run of slow tests makes the many cases that an ordinary one leaves out, unless somebody names a test."""
    named = any("::" in each for each in config.args)
    covering.samples_only = config.getoption("markexpr") == "not slow" and not named
    stacks.listen(os.dup(2))
    if "PYTEST_XDIST_WORKER" in os.environ:
        atexit.register(os._exit, 0)  # all is told by then; to free 800 MB takes 10 to 20 s
    gc.disable()  # until all tests are collected: what modules and tests are made of is no garbage


def pytest_pycollect_makeitem(obj: object) -> list[pytest.Item] | None:
    """Makes no case of a test all of whose cases are slow: there are more of these than of all others."""
    marks = getattr(obj, "pytestmark", ()) if covering.samples_only else ()
    return [] if any(mark.name == "slow" for mark in marks) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begins with the longest tests, whose end the others would wait for if they came last."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_collection_finish() -> None:
    """Hundreds of thousands of objects belong to the modules and tests. The collector does not look at them again, neither
    here nor in the thousands of workers that the tests fork, each of which would copy their pages to do so. At the end of
    the process, behind the collections that pytest makes for its warnings, what the modules hold goes away in order."""
    gc.enable()
    gc.freeze()
    atexit.register(gc.unfreeze)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """At the end of a file, what is still there stays to the end: reports, caches, modules. The checks of transports collect
    twice each to see what is left behind, which would take 0.2 s each time."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture
def eventfd() -> Iterator[int]:
    from actorstream.native.memory import create_eventfd

    made = create_eventfd()
    yield made
    os.close(made)
