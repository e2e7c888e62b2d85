"""Random programs that are killed and go on, each time on another plan: the sequential program's outputs, once each."""

from __future__ import annotations

import csv
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actorstream.dgs.sequential import InputStream, run_sequentially
from actorstream.errors import WorkerDiedError
from actorstream.launch.launcher import Launcher
from actorstream.launch.resume import restore_job
from actorstream.launch.run import run_job
from actorstream.plan.compile import read_job
from tests.seeded_program import Item, SeededProgram, seeded_streams

PLANS = ("sequential", "balanced", "communication")
KILLS = 3
SOURCE = """
[actors.{name}]
type = "{type}"
path = "{name}"
event = "tests.seeded_program:Item"
time_unit = "ms"
{streams}
"""
PROGRAM = """
[actors.program]
type = "tests.seeded_program:SeededProgram"
seed = {seed}
inputs = [{inputs}]
"""
SINK = """
[actors.out-{name}]
type = "csv-sink"
inputs = ["program.{name}"]
path = "out/{name}"
"""


def write(folder: Path, seed: int, chance: random.Random) -> list[InputStream]:
    """The program's topology and its input; answers the input."""
    program = SeededProgram(seed)
    streams = seeded_streams(program, seed, events=300)
    inputs = list(dict.fromkeys(each.input for each in streams))
    text, more = f'name = "seeded-{seed}"\n', random.Random(f"more {seed}")
    for name in inputs:
        parts: list[Any] = [each.events for each in streams if each.input == name]
        told = f"replicas = {chance.choice((1, len(parts)))}"
        if chance.random() < 0.4:  # of one file, in which a field tells them
            values = [str(number) for number in range(len(parts))]
            parts = [sorted((event for events in parts for event in events), key=lambda event: event.ts)]
            told = 'stream = "stream"' + (f"\nstreams = {values}" if chance.random() < 0.5 else "")
        (folder / name).mkdir()
        for number, events in enumerate(parts):
            with (folder / name / f"{number}.csv").open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(Item.__struct_fields__)
                writer.writerows(msgspec.structs.astuple(each) for each in events)
        kind = "tests.integration.programs:SinglyCsv" if more.random() < 0.3 else "csv-source"
        text += SOURCE.format(name=name, type=kind, streams=told)
    references = ", ".join(f'{{ from = "{name}", order = "dependency" }}' for name in inputs)
    text += PROGRAM.format(seed=seed, inputs=references)
    text += "".join(SINK.format(name=name) for name in program.outputs)
    (folder / "topology.toml").write_text(text)
    (folder / "deploy.toml").write_text('[checkpoint]\npath = "state"\nevery = "5ms"\n')
    return streams


def launch(
    folder: Path, chance: random.Random, rate: float | None, kill: Callable[[Launcher], None] | None = None
) -> None:
    """One launch under a random deployment; goes on from what there is."""
    sets = [
        f'actors.program.plan="{chance.choice(PLANS)}"',
        f"actors.program.plan_workers={chance.randint(1, 6)}",
    ]
    sets += [f"deploy.workers={chance.randint(1, 3)}", f"deploy.batch_size={chance.choice((1, 7, 1000))}"]
    sets.append(f"deploy.edge_bytes={chance.choice((2_000, 1 << 20))}")
    if chance.random() < 0.2:
        sets.append('deploy.wait="spin"')
    if rate is not None:
        sets += [f"actors.{path.name}.rate={rate}" for path in folder.iterdir() if path.name.startswith("in")]
    job = read_job(folder / "topology.toml", folder / "deploy.toml", sets)
    restore_job(job)
    run_job(job, on_start=None if kill is None else lambda launcher, _: lambda: kill(launcher))


def check_seed(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    streams = write(folder, seed, chance)
    rate, kills = 400.0, 0
    while kills < KILLS:

        def kill(launcher: Launcher, kills: int = kills) -> None:
            assert launcher.checkpoints is not None
            if launcher.checkpoints.made > kills:
                chance.choice(launcher.workers).kill()

        try:
            launch(folder, chance, rate, kill)
        except WorkerDiedError:
            kills += 1
        else:  # all was read before a worker could be killed: anew, and slower
            shutil.rmtree(folder / "out")
            shutil.rmtree(folder / "state")
            rate, kills = rate / 2, 0
    launch(folder, chance, None)
    program = SeededProgram(seed)
    expected: dict[str, Counter[tuple[str, ...]]] = {name: Counter() for name in program.outputs}
    for output in run_sequentially(program, streams):
        expected[output.to][tuple(map(str, msgspec.structs.astuple(output.event)))] += 1
    for name in program.outputs:
        with (folder / "out" / name).open(newline="") as file:
            found = Counter(map(tuple, list(csv.reader(file))[1:]))
        assert found == expected[name], name


@pytest.mark.parametrize("seed", [1, 5])
def test_a_random_program_that_is_killed_and_goes_on_puts_out_what_it_does_sequentially(
    tmp_path: Path, seed: int
) -> None:
    check_seed(tmp_path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_more_random_programs_do(tmp_path: Path, seed: int) -> None:
    check_seed(tmp_path, seed)
