"""An end of a channel that dies behind each of its stores in turn leaves its successor a channel that works."""

from __future__ import annotations

from pathlib import Path

from tests.native.sanitized import PROGRAMS, run, sources

CHANNEL = ("channel", "producer", "consumer", "doorbell", "arena", "blocks", "hold", "process", "memory")


def test_whichever_store_an_end_of_a_channel_dies_behind_its_successor_loses_nothing(tmp_path: Path) -> None:
    stepped = ("-include", str(PROGRAMS / "stepped.h"), "-pthread")
    run(tmp_path, "takeover", sources(*CHANNEL), 1, *stepped, seeds=(1,))
