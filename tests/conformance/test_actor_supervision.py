"""Random trees of actors that fail in every hook, under random supervision: whatever happens, everything ends."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random
from functools import partial
from typing import Any

import pytest

from actorstream.actors import Actor, ManualClock, Supervision, System, cell, turns
from actorstream.errors import ActorDeadError, ActorError, AskTimeoutError

GROUPINGS: tuple[Any, ...] = ("one_for_one", "one_for_all", "rest_for_one")
STRATEGIES: tuple[Any, ...] = ("restart", "restart", "resume", "stop", "escalate")


STEPS = (0, 0, 0, 0.0005, 0.003)
"""Seconds between two looks at the time."""


class Planned(Exception):
    """A failure that the test made."""


class Node(Actor):
    """Fails now and then in each of its hooks; spawns children to a given depth."""

    def __init__(self, chance: random.Random, depth: int) -> None:
        self.chance = chance
        self.depth = depth

    def _maybe_fail(self, probability: float) -> None:
        if self.chance.random() < probability:
            raise Planned

    async def on_start(self) -> None:
        chance = self.chance
        self._maybe_fail(0.05)
        for number in range(chance.randint(0, 3) if self.depth else 0):
            rules = Supervision(
                chance.choice(STRATEGIES), max_restarts=chance.randint(0, 3), backoff=chance.choice((0, 0, 1))
            )
            try:
                child = await self.spawn(
                    Node,
                    name=str(number),
                    chance=chance,
                    depth=self.depth - 1,
                    supervision=rules,
                    grouping=chance.choice(GROUPINGS),
                    mailbox_bytes=chance.choice((1, 1000, 1 << 20)),
                )
            except (Planned, ActorError):
                continue
            if chance.random() < 0.5:
                self.watch(child)
        if chance.random() < 0.3:
            self.set_timer("tick", after=chance.random() * 3, every=chance.choice((None, 1)))

    def on_timer(self, name: str) -> None:
        self._maybe_fail(0.2)

    def on_message(self, message: Any) -> Any:
        self._maybe_fail(0.1)
        if self.chance.random() < 0.02:
            self.stop()
        return self._slowly() if self.chance.random() < 0.4 else message

    async def _slowly(self) -> None:
        for _ in range(self.chance.randint(0, 3)):
            await asyncio.sleep(0)
        self._maybe_fail(0.1)

    async def on_stop(self) -> None:
        await asyncio.sleep(0)
        self._maybe_fail(0.1)

    def on_failure(self, error: BaseException) -> None:
        self._maybe_fail(0.05)


async def play(
    system: System, clock: ManualClock, chance: random.Random, calls: list[asyncio.Future[Any]]
) -> None:
    for _ in range(3):
        try:
            await system.spawn(
                Node,
                chance=chance,
                depth=3,
                supervision=chance.choice(STRATEGIES),
                grouping=chance.choice(GROUPINGS),
            )
        except (Planned, ActorError):
            continue
    for _ in range(150):
        if not system.names:
            return
        ref = system.ref(chance.choice(system.names))
        move = chance.random()
        try:
            if move < 0.5:
                ref.tell("x")
            elif move < 0.9:
                calls.append(asyncio.ensure_future(ref.ask("x" * chance.choice((1, 300)), timeout=100)))
            else:
                calls.append(asyncio.ensure_future(ref.stop()))
        except ActorError:
            pass
        if chance.random() < 0.3:
            await asyncio.sleep(0)
        if chance.random() < 0.05:
            clock.advance(0.5)


# seed of what happens, and of how fast the machine is, on which it depends where a turn ends
SEEDS = [*((seed, seed) for seed in range(60)), (42, 67), (58, 13)]


@pytest.mark.parametrize(("seed", "pace"), SEEDS)
async def test_every_call_is_answered_every_actor_ends_and_nothing_is_left(
    seed: int, pace: int, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.CRITICAL + 1, "actorstream.actors")
    time = itertools.accumulate(iter(partial(random.Random(pace).choice, STEPS), None))
    for module in (cell, turns):
        monkeypatch.setattr(module, "perf_counter", partial(next, time))
    chance = random.Random(seed)
    clock = ManualClock()
    calls: list[asyncio.Future[Any]] = []
    before = asyncio.all_tasks()
    system = System(grouping=chance.choice(GROUPINGS), clock=clock, stop_timeout=50)
    try:
        async with system:
            await play(system, clock, chance, calls)
    except Planned:
        pass  # escalated from the top
    for answer in await asyncio.gather(*calls, return_exceptions=True):
        assert not isinstance(answer, AskTimeoutError)
        assert not isinstance(answer, BaseException) or isinstance(answer, (Planned, ActorDeadError))
    assert system.names == []
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert system.turns.idle
