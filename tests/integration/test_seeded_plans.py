"""Theorem 3.5 on random consistent programs: whatever plan, partition, transport, processes and batches, the outputs are
the sequential program's multiset, and those of dependent events come in their order."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from actorstream.dgs.deployment import ProgramDeployment
from actorstream.dgs.optimizer.base import Question, TagTree, typed
from actorstream.dgs.plan import PlanWorker
from actorstream.dgs.sequential import InputStream, run_sequentially
from actorstream.dgs.tags import ImplementationTag
from actorstream.plan.compile import compile_job
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from tests.seeded_program import Item, SeededProgram, Seen, seeded_streams

OUTPUTS = ("default", "other", "last")


def topology(seed: int, program: SeededProgram, streams: list[InputStream], plan: str) -> Topology:
    """Streams as partitions of a source with some replicas, or as values of a field of its only partition, listed or
    found in the rows."""
    chance = random.Random(seed)
    found, inputs = Topology("seeded"), []
    for name in sorted(program.inputs_of):
        own = [stream.events for stream in streams if stream.input == name]
        if chance.random() < 0.5:
            items = {f"{number:03}": list(events) for number, events in enumerate(own)}
            source = found.actor(
                name, "memory-source", items=items, event=Item, replicas=chance.randint(1, len(own))
            )
        else:
            rows = sorted((event for events in own for event in events), key=lambda event: event.ts)  # type: ignore[attr-defined]
            values = [str(number) for number in range(len(own))]
            keys = {"streams": values} if chance.random() < 0.6 or not rows else {}
            source = found.actor(name, "memory-source", items=rows, event=Item, stream="stream", **keys)
        inputs.append({"from": source.source, "order": "dependency"})
    made = found.actor(
        "program", SeededProgram, inputs, seed=seed, plan=plan, plan_workers=chance.randint(1, 5)
    )
    for output in OUTPUTS:
        found.actor(output, "memory-sink", [made[output].source])
    return found


def planned(topology: Topology, **deploy: Any) -> ProgramDeployment:
    """The program as it will run."""
    return compile_job(topology.spec(), load_deploy(None, (), **deploy)).programs["program"]


def random_tree(deployment: ProgramDeployment, chance: random.Random) -> dict[str, Any]:
    """A valid tree with some tags higher up than they have to be."""
    question = Question(deployment.dependence, types=deployment.types)

    def below(left: list[ImplementationTag]) -> TagTree:
        own: list[ImplementationTag] = []
        while True:
            groups = question.dependence.components([tag for tag in left if tag not in own])
            if len(groups) > 1 and chance.random() < 0.7:
                break
            if len(own) >= len(left) - 1:
                return TagTree(frozenset(left))
            own.append(chance.choice([tag for tag in left if tag not in own]))
        chance.shuffle(groups)
        cut = chance.randint(1, len(groups) - 1)
        one, other = ([tag for group in half for tag in group] for half in (groups[:cut], groups[cut:]))
        return TagTree(frozenset(own), (below(one), below(other)))

    def plain(worker: PlanWorker) -> dict[str, Any]:
        return {
            "tags": [str(tag) for tag in worker.tags],
            "state": worker.state,
            "children": [plain(child) for child in worker.children],
        }

    return plain(typed(question, below(list(deployment.tags))).root)


def check_order(
    program: SeededProgram, deployment: ProgramDeployment, found: list[Seen], expected: list[Seen]
) -> None:
    """Outputs of events that change one cell, and so depend on each other, are in the order of the sequential program,
    whichever workers put them out."""
    changes = {"take", "assign"}
    for cell in {seen.cell for seen in expected}:
        tags = [tag for tag in deployment.tags if changes & program.does(frozenset([tag.tag]), cell)]
        names = {tag.tag.name for tag in tags}
        mine, its = (
            [seen for seen in all if seen.cell == cell and seen.tag in names] for all in (found, expected)
        )
        assert mine == its, cell


def check(seed: int, transport: str, workers: int, folder: Path) -> None:
    chance = random.Random(seed)
    program = SeededProgram(seed)
    streams = seeded_streams(program, seed, events=60)
    plan = chance.choice(["communication", "balanced", "tree", "tree"])
    deploy = {"transport": transport, "workers": workers, "batch_size": chance.choice([1, 7, 64, 4096])}
    if plan == "tree":
        plan = str(folder / "tree.json")
        first = planned(topology(seed, program, streams, "sequential"), **deploy)
        Path(plan).write_text(json.dumps(random_tree(first, chance)))
    expected: dict[str, list[Any]] = {output: [] for output in OUTPUTS}
    for put in run_sequentially(SeededProgram(seed), streams):
        expected[put.to].append(put.event)
    run = topology(seed, program, streams, plan)
    result = run.run(**deploy)
    assert {output: Counter(result[output]) for output in OUTPUTS} == {
        output: Counter(events) for output, events in expected.items()
    }
    for output in ("default", "other"):
        check_order(program, planned(run, **deploy), result[output], expected[output])


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_run_as_their_sequential_selves_do(seed: int, tmp_path: Path) -> None:
    check(seed, "local", 1 + seed % 3, tmp_path)


@pytest.mark.parametrize("seed", range(100, 103))
def test_random_programs_do_so_across_processes(seed: int, tmp_path: Path) -> None:
    check(seed, "shm", 2 + seed % 2, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("local", 3), ("shm", 2), ("shm", 4)])
@pytest.mark.parametrize("seed", range(1000, 1300))
def test_many_more_random_programs_do(seed: int, transport: str, workers: int, tmp_path: Path) -> None:
    check(seed, transport, workers, tmp_path)
