"""Checks of runs: hand-overs of a few rows each that share a payload, sent together and taken one by one or together."""

from __future__ import annotations

import gc

import numpy as np

from actorstream.events.batch import Batch
from actorstream.testing.transport.check import Check, check
from actorstream.testing.transport.payload import numbers, opened, sample
from actorstream.testing.transport.side import Side, expect
from actorstream.testing.transport.signals import finish, finished, signal, signalled
from actorstream.transports.base import Frame, FrameKind

RUNS, SPACING = 60, 1000
"""How many, and what is between the sequence numbers at which they begin."""


def rows_of(seed: int) -> int:
    return 1 + seed * 7 % 41


def step_of(seed: int) -> int:
    """Rows of one hand-over."""
    return 1 + seed % 3


async def send_run(side: Side, frame: Frame, step: int) -> None:
    """Sends a frame as hand-overs of `step` rows, however often it must wait for credit."""
    end = side.sender()

    def attempt() -> int:
        end.poll()
        return end.send_run_nowait(frame, step)

    while frame.rows:
        await side.until(attempt, f"credit for a run of {frame!r}")


async def send_runs(side: Side) -> None:
    for seed in range(RUNS):
        frame = sample(side, seed, rows=rows_of(seed), min_entry=5, max_entry=seed + 5)
        frame.nbytes, frame.sequence = 8 * step_of(seed), SPACING * seed
        await send_run(side, frame, step_of(seed))
        hand_overs = frame.sequence - SPACING * seed
        expect(hand_overs == -(-rows_of(seed) // step_of(seed)), f"run {seed} went as {hand_overs}")
        expect(frame.first == rows_of(seed), f"run {seed} was sent up to row {frame.first}")
        if seed % 10 == 9:
            await side.send(Frame(FrameKind.BARRIER, barrier=seed))
    await finish(side)
    await signalled(side, 1)
    side.collected()
    await signal(side, 2)


async def take_runs(side: Side) -> None:
    """Takes every third run hand-over by hand-over, the others by as many as there are, at most 5 or 100; of the latter it looks
    at a run's rest and at its last hand-over first."""
    end = side.receiver()
    for seed in range(RUNS):
        taken = 0
        while taken < rows_of(seed):
            head = await side.until(end.peek, f"row {taken} of run {seed}")
            sequence = SPACING * seed + taken // step_of(seed)
            expect((head.first, head.sequence) == (taken, sequence), f"{head!r} is not row {taken} of {seed}")
            expect((head.min_entry, head.max_entry) == (5, seed + 5), f"{head!r} changed its entry times")
            count, rows = (1, head.rows) if seed % 3 == 0 else end.run(5 if seed % 3 == 1 else 100)
            expect(1 <= count <= (5 if seed % 3 == 1 else 100), f"a run of {count} frames")
            left = rows_of(seed) - taken
            expect(rows == min(count * step_of(seed), left), f"{count} frames of run {seed} have {rows} rows")
            if seed % 3 == 2 and count > 1:
                behind, others = end.run(100, 1)
                expect(behind >= count - 1, f"{behind} frames behind the first of a run of {count}")
                expect(others >= rows - head.rows, f"{others} rows behind {head!r} in a run of {rows}")
                expect(end.peek(count - 1) is not None, f"frame {count - 1} of a run of {count} is not there")
            head.rows = rows
            verify_part(opened(head), seed, taken, rows)
            del head
            end.consume_run(count)
            taken += rows
        if seed % 10 == 9:
            expect(end.run(5) == (0, 0) or end.peek() is not None, "a run where nothing waits")
            mark = await side.receive()
            expect((mark.kind, mark.barrier) == (FrameKind.BARRIER, seed), f"barrier {seed} came as {mark!r}")
    await finished(side)
    gc.collect()
    await signal(side, 1)
    await signalled(side, 2)


def verify_part(batch: Batch, seed: int, first: int, rows: int) -> None:
    number = numbers(seed, rows_of(seed))[first : first + rows]
    expect(np.array_equal(batch["number"], number), f"rows {first} on of run {seed} have other contents")


RUN_CHECKS: tuple[Check, ...] = tuple(
    check(
        (0, 1),
        answers=[(1, 0), (0, 1)],
        name=f"runs of hand-overs that share a payload arrive whole, {slots} slots",
        roles=(send_runs, take_runs),
        slots=slots,
        budget=budget,
    )
    for slots, budget in ((1, 4 << 20), (16, 256), (256, 4 << 20))
)
