"""Theorem 3.5 end to end: random programs, streams, plans, cuts, transports and delays give the sequential outputs."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from actorstream.dgs.sequential import run_sequentially
from actorstream.topology.builder import Topology
from tests.integration.programs import Singly
from tests.seeded_program import Item, SeededProgram, Seen, seeded_streams

PLANS = ("sequential", "balanced", "communication")


def check_seed(seed: int) -> None:
    """One program under a random deployment; with a delay of hand-overs, events that come one by one, and workers that
    spin now and then."""
    chance, more = random.Random(seed), random.Random(f"more {seed}")
    program = SeededProgram(seed)
    streams = seeded_streams(program, seed)
    topology = Topology("seeded")
    inputs = []
    for name in dict.fromkeys(each.input for each in streams):
        parts = [list(each.events) for each in streams if each.input == name]
        source = topology.actor(
            name,
            Singly if more.random() < 0.3 else "memory-source",
            items={f"{number:03}": part for number, part in enumerate(parts)},
            event=Item,
            replicas=chance.choice((1, len(parts))),
        )
        inputs.append({"from": source.source, "order": "dependency"})
    keys = {"seed": seed, "plan": chance.choice(PLANS), "plan_workers": chance.randint(1, 6)}
    topology.actor("program", SeededProgram, inputs, **keys)
    outputs = {
        f"out-{name}": name for name in ("default", *(each for each in program.outputs if each != "default"))
    }
    for sink, name in outputs.items():
        topology.actor(sink, "memory-sink", [f"program.{name}"])
    transport, workers = chance.choice((("local", 1), ("local", 3), ("shm", 2), ("shm", 3)))
    deploy = {"batch_size": chance.choice((1, 5, 1000)), "edge_bytes": chance.choice((2_000, 1 << 20))}
    if chance.random() < 0.3:
        deploy["testing"] = {"delay": "2ms", "seed": seed}
    if more.random() < 0.2:
        deploy["wait"] = "spin"
    result = topology.run(transport=transport, workers=workers, **deploy)
    expected = list(run_sequentially(program, streams))
    for sink, name in outputs.items():
        found: list[Seen] = result[sink]
        own = [output.event for output in expected if output.to == name]
        assert Counter(found) == Counter(own), (name, keys, transport, workers, deploy)


@pytest.mark.parametrize("seed", [*range(16), 47])
def test_a_random_program_puts_out_what_it_does_sequentially(seed: int) -> None:
    check_seed(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(16, 2000))
def test_many_more_random_programs_do(seed: int) -> None:
    check_seed(seed)
