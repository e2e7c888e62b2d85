"""The order that docs/orders.md adds, in one file and one row of the table, on every transport."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorstream.events.batch import Batch
from actorstream.plan.compile import available
from actorstream.plan.orders import ORDERS
from actorstream.runtime.inbox import Step
from actorstream.runtime.lanes import InLane
from actorstream.topology.builder import Topology
from actorstream.transports.base import FrameKind
from tests.conformance.frames import arrived, data, mark
from tests.conformance.socket_plugin import PLACES, installed_socket_transports
from tests.integration.parts import Collect, Numbers

PAGE = Path(__file__).resolve().parents[2] / "docs" / "orders.md"


@pytest.fixture(scope="module", autouse=True)
def newest_first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The module that the page prints, whose order is a row of the table meanwhile."""
    folder = tmp_path_factory.mktemp("added")
    (source,) = re.findall(r"```python\n# newest_first\.py\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (folder / "newest_first.py").write_text(source)
    with installed_socket_transports(folder):
        module = importlib.import_module("newest_first")
        ORDERS["newest-first"] = "newest_first:NewestFirstOrder"
        available.cache_clear()
        try:
            yield module
        finally:
            del ORDERS["newest-first"]
            sys.modules.pop("newest_first", None)


def blocks(rows: list[int]) -> list[list[int]]:
    """The rows, cut wherever one is not right before the last."""
    cuts = [0, *(np.flatnonzero(np.diff(rows) != -1) + 1).tolist(), len(rows)]
    return [rows[first:last] for first, last in pairwise(cuts)]


@pytest.mark.parametrize("transport", PLACES)
def test_what_waits_comes_newest_first_and_all_of_it_once(transport: str) -> None:
    topology = Topology("newest")
    source = topology.source(Numbers, name="source", count=300)
    source.ordered("newest-first").into(Collect, name="sink")
    result = topology.run(transport=transport, workers=PLACES[transport], batch_size=1, pipelining=False)
    found = [row[0] for row in result["sink"]]
    assert [row for block in blocks(found) for row in reversed(block)] == list(range(300))


def test_no_row_overtakes_a_mark(newest_first: Any) -> None:
    first, second = ([data((0, n)) for n in numbers] for numbers in ((1, 2), (3, 4)))
    script = [*first, mark(FrameKind.BARRIER, 7), *second, mark(FrameKind.END)]
    inbox = newest_first.NewestFirst([InLane(0, "in", arrived(script), lambda frame: frame.payload)])
    found: list[Any] = []
    while (step := inbox.next()) is not Step.END:
        if step is Step.ROWS:
            found += Batch.events(inbox.batch)
            inbox.done()
        elif step is Step.BARRIER:
            found.append(inbox.barrier)
    assert [getattr(each, "n", each) for each in found] == [2, 1, 7, 4, 3]
