"""Words that one process writes and others read; threads drive them in test_stress."""

from __future__ import annotations

import os

import pytest

from actorstream.native.line import CacheLine
from actorstream.native.memory import ControlMemory


def test_another_process_reads_what_was_written_and_neighbours_stay_as_they_were() -> None:
    memory = ControlMemory(256)
    lines = [CacheLine(memory, offset) for offset in (0, 64, 128)]
    lines[0][15], lines[2][0] = 7, 8
    child = os.fork()
    if child == 0:
        lines[1][0], lines[1][15] = 2**32 - 1, lines[0][15] + lines[2][0]
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert [lines[1][0], lines[1][1], lines[1][15]] == [2**32 - 1, 0, 15]
    assert (lines[0][15], lines[2][0]) == (7, 8)
    memory.close()


def test_words_and_lines_that_are_not_there_are_refused() -> None:
    memory = ControlMemory(128)
    with pytest.raises(IndexError):
        CacheLine(memory, 64)[16]
    for offset in (-64, 8, 128):
        with pytest.raises(ValueError, match="multiples of 64 inside"):
            CacheLine(memory, offset)
    memory.close()
