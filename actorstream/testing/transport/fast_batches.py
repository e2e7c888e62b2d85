"""Checks of the shortest way of whole jumbo tuples: what arrives, and when it is refused, is as with frames."""

from __future__ import annotations

import gc

from actorstream.native.arena import Arena
from actorstream.testing.transport.check import Check, check
from actorstream.testing.transport.payload import sample, sample_for, verify
from actorstream.testing.transport.side import Side, expect
from actorstream.testing.transport.signals import finish, finished, signal, signalled
from actorstream.transports.base import NO_TIME_MAX, NO_TIME_MIN
from actorstream.transports.fast_paths import WholeSender

WHOLES, PRODUCER = 120, 3
ROWS = 16


def foreign(seed: int) -> bool:
    """Whether a jumbo tuple lies in memory that the receiver does not know."""
    return seed % 10 == 7


async def send_wholes(side: Side) -> None:
    """Every third as a frame: both ways share one order and one account of credit."""
    send = side.sender().wholes(sample(side, 0).schema, PRODUCER)
    arena = Arena.create(1 << 20, 77) if side.transport.arena is not None else None
    for seed in range(WHOLES):
        if seed % 3 == 2:
            await side.send(sample(side, seed, ROWS, producer=PRODUCER))
        else:
            await send_whole(side, send, arena, seed)
    await finish(side)
    await signalled(side, 1)
    side.collected()
    await signal(side, 2)


async def send_whole(side: Side, send: WholeSender, arena: Arena | None, seed: int) -> None:
    """Sends one by `send`, however often it must wait for credit."""
    frame = sample_for(arena, seed, ROWS) if foreign(seed) else sample(side, seed, ROWS)
    jumbo, entered, poll = frame.payload, 1_000_000 * (seed + 1), side.sender().poll
    began = entered + 5000 if seed % 2 else 0

    def attempt() -> bool:
        poll()
        return send(jumbo, ROWS, seed, entered, entered + 1, began)

    await side.until(attempt, f"credit for jumbo tuple {seed}")


async def take_wholes(side: Side) -> None:
    for seed in range(WHOLES):
        frame = await side.receive()
        expect(frame.producer == PRODUCER, f"{frame!r} has another producer")
        if seed % 3 != 2:
            entered = 1_000_000 * (seed + 1)
            expect((frame.min_entry, frame.max_entry) == (entered, entered + 1), f"{frame!r}: entry times")
            expect(frame.first == 0, f"{frame!r} does not begin with its first row")
            times = (frame.min_time, frame.max_time)
            expect(times == (NO_TIME_MIN, NO_TIME_MAX), f"{frame!r} has event times {times}")
            began = frame.began - entered if frame.began else 0
            expect(bool(began) == bool(seed % 2) and 0 <= began < 10_000, f"{frame!r} began {began} ns later")
        verify(frame, seed, ROWS)
        del frame
    await finished(side)
    gc.collect()
    await signal(side, 1)
    await signalled(side, 2)


WHOLE_CHECKS: tuple[Check, ...] = tuple(
    check(
        (0, 1),
        answers=[(1, 0), (0, 1)],
        name=f"whole jumbo tuples arrive by their shortest way as by frames, {slots} slots of {budget} bytes",
        roles=(send_wholes, take_wholes),
        slots=slots,
        budget=budget,
    )
    for slots, budget in ((1, 4 << 20), (16, 1), (64, 4 << 20))
)
