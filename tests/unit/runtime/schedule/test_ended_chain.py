"""A chain behind an inbox that ends in a state gives what the hooks of its members give."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorstream.runtime.schedule.kernel_chain import KernelChain
from actorstream.topology.builder import Topology
from tests.unit.runtime.fast_paths.chained import Ran, end_of
from tests.unit.runtime.fast_paths.test_read_chain import (
    AGGREGATES,
    STEPS,
    WINDOWS,
    columns_of,
    source,
    table,
)

CHAIN = "actorstream.runtime.schedule.kernel_chain"


class Inboxes:
    """Runs of a topology with and without chains that end in a state. `taken`: rows that such chains have taken."""

    def __init__(self, drawn: dict[str, Any], folder: Path, rows: int, seed: int, batch_size: Any) -> None:
        self.taken = 0

        def counted(chain: KernelChain, batch: Any) -> bool:
            done = run(chain, batch)
            self.taken += batch.rows if done and chain._end is not None else 0
            return done

        run = KernelChain.run
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(KernelChain, "run", counted)
            self.chain = Ran(*topology_of(drawn, folder, rows, seed), batch_size=batch_size)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"{CHAIN}._end", lambda consumer: None)
            self.hooks = Ran(*topology_of(drawn, folder, rows, seed), batch_size=batch_size)


def topology_of(drawn: dict[str, Any], folder: Path, rows: int, seed: int) -> tuple[Topology, list[Any]]:
    """A source, operators without a state behind an inbox, and what takes their rows in."""
    topology = Topology("inbox")
    columns = columns_of(rows, seed, drawn["disorder"])
    keys: dict[str, Any] = {"on_error": "dead-letter", "bad": False}
    if drawn["disorder"]:
        keys["max_out_of_orderness"] = timedelta(milliseconds=drawn["slack"])
    stream = source(topology, drawn["form"], folder, columns, **keys).by("kind").ordered(drawn["order"])
    out = []
    for number, (kind, given_keys) in enumerate(drawn["steps"]):
        stream = stream.through(kind, name=f"step{number}", on_error="dead-letter", **given_keys)
        out.append(stream["dead"].collect())
    chosen = {name: AGGREGATES[name] for name in drawn["aggregates"]}
    if drawn["join"]:
        stream = stream.through("static-join", name="joined", table=table(folder, 3), on="number", how="left")
        chosen |= {"weight": "sum(coalesce(weight, 0.25))"}
    made = end_of(stream, drawn, chosen)
    return topology, [made.collect(), made["late"].collect(), *out]


@st.composite
def topologies(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "form": draw(st.sampled_from(["csv", "batches", "rows"])),
        "order": draw(st.sampled_from(["none", "serial", "timestamp"])),
        "steps": draw(st.lists(st.sampled_from(STEPS), min_size=1, max_size=3, unique_by=str)),
        "join": draw(st.booleans()),
        "end": draw(st.sampled_from(["windows", "whole", "reduce"])),
        "window": draw(st.sampled_from(WINDOWS)),
        "key": draw(st.sampled_from([[], ["number"], ["text"], ["text", "number"]])),
        "aggregates": draw(st.lists(st.sampled_from(list(AGGREGATES)), min_size=1, unique=True)),
        "disorder": draw(st.sampled_from([0, 300])),
        "slack": draw(st.sampled_from([200, 300])),
    }


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(topologies(), st.integers(1, 900), st.integers(0, 99), st.sampled_from([1, 7, 100, "auto"]))
def test_a_chain_that_ends_in_a_state_gives_what_the_hooks_of_its_members_give(
    tmp_path: Path, drawn: dict[str, Any], rows: int, seed: int, batch_size: Any
) -> None:
    ran = Inboxes(drawn, tmp_path, rows, seed, batch_size)
    assert (ran.chain.rows, ran.chain.beside) == (ran.hooks.rows, ran.hooks.beside)
    assert ran.chain.counts == ran.hooks.counts


PLAIN: dict[str, Any] = {
    "form": "batches",
    "steps": [STEPS[0], STEPS[-3]],
    "join": True,
    "window": WINDOWS[0],
    "key": ["text"],
    "aggregates": ["rows", "share"],
    "disorder": 0,
    "slack": 300,
}


@pytest.mark.parametrize("order", ["none", "serial", "timestamp"])
@pytest.mark.parametrize("end", ["windows", "whole", "reduce"])
def test_batches_from_an_inbox_go_to_the_state_without_a_hook(end: str, order: str, tmp_path: Path) -> None:
    ran = Inboxes(PLAIN | {"end": end, "order": order}, tmp_path, 3000, 1, 100)
    assert ran.taken > 1000, "what comes before the first windows are over goes through the hooks"
    assert ran.chain.rows == ran.hooks.rows


def test_a_batch_with_a_late_row_goes_through_the_hooks(tmp_path: Path) -> None:
    drawn = PLAIN | {"end": "windows", "order": "none", "disorder": 300, "slack": 200, "steps": [STEPS[-3]]}
    ran = Inboxes(drawn, tmp_path, 5000, 1, 50)
    assert 0 < ran.taken < 5000
    assert ran.chain.beside == ran.hooks.beside
    assert ran.chain.beside[0] > 0
