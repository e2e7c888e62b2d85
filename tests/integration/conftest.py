"""A test that hangs fails with a traceback, and nothing that a test starts outlives it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from tests.integration.parts import Journal
from tests.stacks import children_of, descendants, show_stacks

SHOWN_S, DEADLINE_S = 60, 240


@pytest.fixture(autouse=True)
def deadline() -> Iterator[None]:
    """Raises in the main thread when a test takes longer than any machine needs for it. Long before that, and when pytest shows
    the stacks of its own threads (`faulthandler_timeout`), the processes that the test has forked show theirs."""

    def late(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGALRM, too_late)
        signal.alarm(DEADLINE_S - SHOWN_S)
        show_stacks(descendants(os.getpid()))

    def too_late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"the test has run for {DEADLINE_S} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SHOWN_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(autouse=True)
def leaves_nothing() -> Iterator[None]:
    """No process of ours and no file in /dev/shm is left behind."""
    memory = shared_memory()
    yield
    left = children()
    assert not left, f"left behind: {left}"
    assert shared_memory() <= memory


def shared_memory() -> set[Path]:
    """Named shared memory of this package; it uses none that has a name."""
    return {path for path in Path("/dev/shm").iterdir() if "actorstream" in path.name}


def children() -> list[str]:
    """Our child processes that have not been waited for, by name."""
    found = []
    for pid in children_of(os.getpid()):
        try:
            found.append(f"{pid} {Path(f'/proc/{pid}/comm').read_text().strip()}")
        except OSError:
            continue
    return [each for each in found if "actorstream" in each]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal")


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of a failed run have all the time they need for their last hooks, on however busy a machine."""
    monkeypatch.setattr("actorstream.control.coordinator.GRACE_S", 60.0)
