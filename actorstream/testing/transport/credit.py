"""Checks of budgets and credit: what is refused, what is admitted alone, and that room again rings the sender."""

from __future__ import annotations

from actorstream.testing.transport.check import Check, check
from actorstream.testing.transport.payload import sample, verify
from actorstream.testing.transport.side import Side, expect
from actorstream.testing.transport.signals import finish, finished, signal, signalled
from actorstream.transports.base import Frame

SMALL = 16
"""Rows of a small jumbo tuple."""
LARGE = 4000
"""Rows of one that is larger than any budget here."""
BUDGET = 8 << 10
ROUNDS = 3


async def accepted_again(side: Side, frame: Frame, what: str) -> None:
    """Sends a frame that was refused before, as soon as a ring says so (a ring may also come for nothing)."""
    await side.until(lambda: side.sender().send_nowait(frame), what)


# -- bytes ------------------------------------------------------------------------------------------------------------


async def fill_bytes(side: Side) -> None:
    end = side.sender()
    sent = 0
    for _ in range(ROUNDS):
        accepted = 0
        while end.send_nowait(frame := sample(side, sent, rows=SMALL)):
            accepted += 1
            sent += 1
        wanted = BUDGET // frame.nbytes
        expect(
            accepted == wanted,
            f"{accepted} frames of {frame.nbytes} B fit into {BUDGET} B, expected {wanted}",
        )
        expect(
            not end.send_nowait(frame),
            "a frame was admitted right after it was refused, with nothing consumed",
        )
        expect(not end.admits(frame.nbytes), "admits() promises what send_nowait() refuses")
        seen = end.statistics()
        expect(seen["sent"] == sent, f"a refused frame was counted: {seen} after {sent} accepted ones")
        await signal(side, 1, accepted)
        await accepted_again(side, frame, "credit after everything was consumed")
        sent += 1
        await signal(side, 1, 1)
        await signalled(side, 2)
    await finish(side)


async def consume_bytes(side: Side) -> None:
    end = side.receiver()
    seed = 0
    for _ in range(ROUNDS):
        accepted = await signalled(side, 1)
        await side.until(lambda: end.waiting() == accepted, f"the {accepted} accepted frames")  # noqa: B023
        for _ in range(accepted + 1):
            verify(await side.receive(), seed, rows=SMALL)
            seed += 1
        await signalled(side, 1)
        await signal(side, 2)
    await finished(side)


# -- one jumbo tuple larger than the budget ---------------------------------------------------------------------------


async def send_oversized(side: Side) -> None:
    end = side.sender()
    large, small = sample(side, 0, rows=LARGE), sample(side, 1, rows=SMALL)
    expect(large.nbytes > BUDGET, "the suite's large frame is too small")
    expect(end.send_nowait(large), "a frame larger than the budget was refused on an empty channel")
    expect(not end.send_nowait(small), "a frame was admitted beside one that is larger than the budget")
    await signal(side, 1)
    await accepted_again(side, small, "credit after the large frame was consumed")
    large = sample(side, 2, rows=LARGE)
    expect(not end.send_nowait(large), "a frame larger than the budget was admitted beside another one")
    await signal(side, 1)
    await accepted_again(side, large, "credit for a large frame after the small one was consumed")
    await signal(side, 1)
    await finish(side)


async def receive_oversized(side: Side) -> None:
    for seed, rows in enumerate((LARGE, SMALL, LARGE)):
        await signalled(side, 1)
        verify(await side.receive(), seed, rows=rows)
    await finished(side)


# -- one slot ---------------------------------------------------------------------------------------------------------

TIMES = 120


async def send_one_by_one(side: Side) -> None:
    end = side.sender()
    await side.send(sample(side, 0, rows=1))
    expect(not end.send_nowait(sample(side, 1, rows=1)), "two frames were admitted into one slot")
    expect(not end.admits(1), "admits() promises a second frame in one slot")
    await signal(side, 1)
    for seed in range(1, TIMES):
        await side.send(sample(side, seed, rows=1))
    await finish(side)


async def receive_one_by_one(side: Side) -> None:
    await signalled(side, 1)
    for seed in range(TIMES):
        verify(await side.receive(), seed, rows=1)
    await finished(side)


# -- a wish that admits() made ----------------------------------------------------------------------------------------


async def ask_admission(side: Side) -> None:
    end = side.sender()
    frame = sample(side, 0, rows=SMALL)
    expect(end.admits(frame.nbytes), "an empty channel does not admit a small frame")
    sent = 0
    while end.admits(frame.nbytes):
        await side.send(sample(side, sent, rows=SMALL))
        sent += 1
    await signal(side, 1, sent)
    # no send_nowait was refused: admits() alone must have asked for the ring
    await side.until(lambda: end.admits(frame.nbytes), "credit that only admits() asked for")
    await signal(side, 1)


async def drain_admitted(side: Side) -> None:
    for seed in range(await signalled(side, 1)):
        verify(await side.receive(), seed, rows=SMALL)
    await signalled(side, 1)


CREDIT: tuple[Check, ...] = (
    check(
        (0, 1),
        answers=[(0, 1), (1, 0)],
        name="the budget bounds unconsumed bytes and consuming rings for credit",
        roles=(fill_bytes, consume_bytes),
        budget=BUDGET,
    ),
    check(
        (0, 1),
        answers=[(0, 1)],
        name="a jumbo tuple larger than the budget is admitted alone",
        roles=(send_oversized, receive_oversized),
        budget=BUDGET,
    ),
    check(
        (0, 1),
        answers=[(0, 1)],
        name="a channel of one slot carries one frame at a time",
        roles=(send_one_by_one, receive_one_by_one),
        slots=1,
    ),
    check(
        (0, 1),
        answers=[(0, 1)],
        name="a refusal by admits rings for credit as well",
        roles=(ask_admission, drain_admitted),
        budget=BUDGET,
    ),
)
