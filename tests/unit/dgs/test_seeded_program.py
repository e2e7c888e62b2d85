"""SeededProgram: every kind of tag, state and fork is among them, and a seed is one program."""

from __future__ import annotations

import numpy as np
import pytest

from actorstream.dgs.sequential import run_sequentially
from tests.seeded_program import Item, SeededProgram, seeded_streams

PROGRAMS = [SeededProgram(seed) for seed in range(60)]


def test_a_seed_is_always_the_same_program_and_input() -> None:
    one, other = SeededProgram(7), SeededProgram(7)
    assert (one.tags, one.operations, one.forks) == (other.tags, other.operations, other.forks)
    assert seeded_streams(one, 3) == seeded_streams(other, 3)


def test_there_are_programs_of_every_kind() -> None:
    taggings = [tagging for program in PROGRAMS for tagging in program.taggings().values()]
    assert any(tagging.classes for tagging in taggings)
    assert any(tagging.keys for tagging in taggings)
    assert any(not tagging.key for tagging in taggings)
    assert any(len(tagging.names) > 1 for tagging in taggings)
    assert any(program.ticks() for program in PROGRAMS)
    assert any(tagging.key and not tagging.listed for tagging in taggings)
    assert any(tagging.modulo for tagging in taggings)
    assert {tagging.key for tagging in taggings} == {"", "key", "word"}
    assert {len(program.ticks()) for program in PROGRAMS} == {0, 1, 2}
    assert {len(program.state_types().forks) for program in PROGRAMS} == {1, 3, 9}
    assert {len(program.state_types().handles) for program in PROGRAMS} == {1, 2, 3}
    assert {bool(program.additive) for program in PROGRAMS} == {True, False}
    assert {program.weights for program in PROGRAMS} == {0, 3, 700}
    assert {len(program.taggings()) for program in PROGRAMS} == {1, 2, 3}


def test_an_array_that_is_not_that_of_its_state_is_found() -> None:
    program = next(program for program in PROGRAMS if program.weights)
    state = program.State({"c0": [1]}, weights=np.zeros(program.weights, np.int64))
    with pytest.raises(RuntimeError, match="weights"):
        list(
            program.update(state, Item(1, "", 0, 0, 1), next(iter(program.taggings().values())).tags([0])[0])
        )


@pytest.mark.parametrize("seed", range(20))
def test_batches_put_out_what_single_events_do(seed: int) -> None:
    program, streams = PROGRAMS[seed], seeded_streams(PROGRAMS[seed], seed)
    assert list(run_sequentially(program, streams, batches=True)) == list(run_sequentially(program, streams))
