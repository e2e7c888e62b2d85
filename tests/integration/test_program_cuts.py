"""Each checkpoint of a run, not only one at which a worker was killed: its states join into that of the sequential program
after exactly the events that its sources have given and it has not kept (Lemma C.3)."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actorstream.checkpoint.checkpoint import Checkpoint
from actorstream.checkpoint.store import CheckpointStore
from actorstream.dgs.deployment import ProgramDeployment
from actorstream.dgs.outputs import Gathering
from actorstream.dgs.sequential import InputStream, merged
from actorstream.events.jumbo import from_bytes
from actorstream.plan.compile import read_job
from actorstream.runtime import barriers
from actorstream.runtime.dependency.checkpoint import RestoredProgram, kept_worker
from tests.integration.programs import (
    KeyedCounters,
    SinglyCsv,
    ValueBarrier,
    operation_streams,
    value_streams,
)
from tests.integration.test_program_checkpoints import Case, _path, run

LEAST, MOST = 5, 6
"""Checkpoints within a run that are looked at: of many, some of all its parts."""


def given(checkpoint: Checkpoint, case: Case) -> list[int]:
    """How many events each stream has given, by rank: what the sources say of their streams."""
    found: dict[str, int] = {}
    for replica in checkpoint.replicas:
        if replica.actor in case.streams:
            (edge,) = msgspec.msgpack.decode(replica.state, strict=False)["unit"]["programs"]
            found |= {name: rows for name, (_, _, rows, _) in edge["streams"].items()}
    return [found[name] for name in sorted(found)]


def kept(checkpoint: Checkpoint) -> Counter[str]:
    """How many events of each implementation tag are kept."""
    found: Counter[str] = Counter()
    for replica in checkpoint.replicas:
        if replica.actor == "program":
            for rows in kept_worker(replica).rows:
                found[rows.tag] += from_bytes(rows.rows).rows
    return found


def check(checkpoint: Checkpoint, case: Case, deployment: ProgramDeployment) -> None:
    program = case.program()
    assert sorted(each.name for each in deployment.streams) == [each.name for each in deployment.streams]
    streams = [InputStream(name, events) for name, parts in case.streams.items() for events in parts]
    rows, left = given(checkpoint, case), kept(checkpoint)
    tags = {(deployment.ranks[each], each.tag): str(each) for each in deployment.tags}
    processed = []
    for each in reversed(merged(program, streams)):
        text = tags[each.rank, each.tag]
        if each.position < rows[each.rank]:
            if left[text]:  # a worker has the events of a tag in their order
                left[text] -= 1
            else:
                processed.append(each)
    assert not +left
    restored = RestoredProgram(checkpoint, "program", deployment)
    if restored.done:
        assert rows == [len(each.events) for each in streams] and len(processed) == sum(rows)
        return
    gathering, expected = Gathering(program), program.init()
    for each in reversed(processed):
        gathering.take(program.update(expected, each.event, each.tag))
    assert restored.state() == expected


def check_run(folder: Path, case: Case, patch: pytest.MonkeyPatch) -> None:
    """Looks at up to `MOST` checkpoints of one run, and runs more slowly if there are too few."""
    found: list[Checkpoint] = []
    write: Any = CheckpointStore.write

    def note(store: CheckpointStore, checkpoint: Checkpoint) -> None:
        found.append(checkpoint)
        write(store, checkpoint)

    patch.setattr(CheckpointStore, "write", note)
    patch.setattr(
        barriers, "LARGE", 1 << 40
    )  # all in one file: those of others are gone when the run is over
    case.write(folder)
    rate = 3_000.0
    while sum(not each.ended for each in found) < LEAST:
        found.clear()
        run(folder, case, "out", rate=rate, workers=3, every="2ms", resume=False)
        rate /= 2
    job = read_job(folder / "topology.toml", folder / "deploy.toml")
    within = [each for each in found if not each.ended]
    for each in within[:: -(-len(within) // MOST)]:
        check(each, case, job.programs["program"])


def case_of(program: type, seed: int, rows: int) -> Case:
    """Odd seeds: whose sources give rows by themselves. For 100 rows there is about one checkpoint, then some four."""
    chance = random.Random(seed)
    source = _path(SinglyCsv) if seed % 2 else "csv-source"
    if program is ValueBarrier:
        return Case(program, value_streams(chance, 3, rows // 2, rows // 4), in_order=True, source=source)
    return Case(program, operation_streams(chance, rows), in_order=False, source=source)


@pytest.mark.parametrize(("program", "seed", "rows"), [(ValueBarrier, 2, 1_500), (KeyedCounters, 1, 500)])
def test_each_checkpoint_has_one_state_of_the_sequential_program(
    tmp_path: Path, program: type, seed: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_run(tmp_path, case_of(program, seed, rows), monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("program", [ValueBarrier, KeyedCounters])
@pytest.mark.parametrize("seed", range(1, 13))
def test_each_of_many_more_has(
    tmp_path: Path, program: type, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_run(tmp_path, case_of(program, seed, 8_000), monkeypatch)
