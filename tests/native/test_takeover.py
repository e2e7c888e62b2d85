"""An end of a channel that dies behind each of its stores in turn leaves its successor a channel that works."""

from __future__ import annotations

from tests.native.built import ADDRESS, PROGRAMS, Way, sources

CHANNEL = (
    "channel",
    "producer",
    "consumer",
    "doorbell",
    "arena",
    "blocks",
    "hold",
    "node",
    "process",
    "memory",
)
STEPPED = Way("stepped", (*ADDRESS.flags, "-include", str(PROGRAMS / "stepped.h")))
"""Each atomic store is a step, behind which an end can die."""


def test_whichever_store_an_end_of_a_channel_dies_behind_its_successor_loses_nothing() -> None:
    program = STEPPED.built("takeover", sources(*CHANNEL))
    assert STEPPED.run(program, 1, 1) == "ok\n"
