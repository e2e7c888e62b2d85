"""What of a topology is other while it is profiled."""

from __future__ import annotations

import pytest

from actorstream import Event, Topology
from actorstream.connectors.null import NullSink
from actorstream.profiling.changed_keys import quiet


class Word(Event):
    text: str


@pytest.mark.parametrize("sink", ["memory-sink", "console-sink"])
def test_a_sink_that_keeps_or_prints_all_rows_of_a_run_without_end_is_replaced(sink: str) -> None:
    topology = Topology("words")
    topology.source([Word("a")], name="words")
    topology.actor("out", sink, ["words"])
    assert quiet(topology.graph(workers=1)).actors["out"].cls is NullSink
