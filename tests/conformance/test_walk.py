"""The files that do something for each batch on its way: those that docs/architecture.md names, and few without an order."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

import pytest

import actorstream
from actorstream.events.batch import Batch
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers, Pass
from tests.integration.timestamp_parts import PassTicks, Ticks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
PACKAGE = f"{Path(actorstream.__file__).parent}/"
BATCHES = 40
ROOMS = ("runtime/", "ordering/", "transports/")


class Watched:
    """A source that has the calls of Python counted by file, from its first batch on."""

    called: ClassVar[Counter[str]] = Counter()

    def read(self, max_rows: int) -> Batch | None:
        sys.setprofile(_count)
        return super().read(max_rows)  # type: ignore[misc, no-any-return]


def _count(frame: FrameType, event: str, argument: Any) -> None:
    if event == "call":
        Watched.called[frame.f_code.co_filename.removeprefix(PACKAGE)] += 1


class Last(Collect):
    """Ends the counting with the input."""

    def on_end(self) -> None:
        sys.setprofile(None)


class WatchedNumbers(Watched, Numbers):
    """As `Numbers`."""


class WatchedTicks(Watched, Ticks):
    """As `Ticks`."""


def walked(order: str) -> set[str]:
    """Files of the engine in which something is called for each batch."""
    topology = Topology("walk")
    kind: Any = WatchedTicks if order == "timestamp" else WatchedNumbers
    keys = {"who": 1, "span": 50} if order == "timestamp" else {}
    source = topology.source(kind, name="source", count=64 * BATCHES, **keys)
    passes = PassTicks if order == "timestamp" else Pass
    source.through(passes, name="pass", replicas=2).ordered(order).into(Last, name="sink")
    Watched.called.clear()
    try:
        topology.run(transport="local", workers=1, pipelining=False, batch_size=64)
    finally:
        sys.setprofile(None)
    return {file for file, calls in Watched.called.items() if calls >= BATCHES and file.startswith(ROOMS)}


def named(order: str) -> set[str]:
    """Files that the page names for an order."""
    (row,) = re.findall(
        rf"^\| `{order}` \| (.*`send_lane.*|.*the same.*) \|$", PAGE.read_text(), re.MULTILINE
    )
    files = re.findall(r"`([a-z_/]+\.py)`", row)
    return {file if file.startswith(ROOMS) else f"runtime/{file}" for file in files}


@pytest.mark.parametrize("order", ["none", "serial", "timestamp"])
def test_the_page_names_every_file_on_the_way_of_a_batch(order: str) -> None:
    assert walked(order) - named(order) - named("none") == set()


def test_few_files_lie_on_the_way_without_an_order() -> None:
    assert 10 <= len(walked("none")) <= 15
