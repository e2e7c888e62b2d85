from __future__ import annotations

import asyncio
from time import perf_counter

from actorstream.actors.turns import RUN_SECONDS, RunQueue


class Busy:
    """Runs `left` more turns, and counts."""

    def __init__(self, log: list[str], name: str, left: int, until: float = 0.0) -> None:
        self.log, self.name, self.left, self.until = log, name, left, until

    def turn(self, end: float) -> bool:
        self.log.append(self.name)
        self.left -= 1
        while self.until and perf_counter() < end:
            pass
        return self.left > 0


class Writer:
    def __init__(self, log: list[str]) -> None:
        self.log = log

    def flush(self) -> None:
        self.log.append("flush")


async def test_actors_take_turns_and_links_are_written_last() -> None:
    log: list[str] = []
    turns = RunQueue(asyncio.get_running_loop())
    turns.dirty(Writer(log))
    turns.ready(Busy(log, "a", 2))
    turns.ready(Busy(log, "b", 1))
    await asyncio.sleep(0)
    assert log == ["a", "b", "a", "flush"]
    assert turns.idle


async def test_the_event_loop_gets_its_turn_when_the_time_is_over() -> None:
    log: list[str] = []
    turns = RunQueue(asyncio.get_running_loop())
    turns.ready(Busy(log, "slow", 3, until=RUN_SECONDS))
    for expected in (1, 2, 3):
        assert not turns.idle
        await asyncio.sleep(0)
        assert len(log) == expected
    assert turns.idle


async def test_running_at_once_spares_an_iteration_and_is_harmless_within_a_turn() -> None:
    log: list[str] = []
    turns = RunQueue(asyncio.get_running_loop())

    class Nested(Busy):
        def turn(self, end: float) -> bool:
            turns.run()
            return super().turn(end)

    turns.ready(Nested(log, "a", 1))
    turns.run()
    assert log == ["a"]
    await asyncio.sleep(0)
    assert log == ["a"]
