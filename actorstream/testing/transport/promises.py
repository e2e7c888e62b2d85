"""Checks of frontiers: they only rise, never overtake data, and a full channel does not hold them up."""

from __future__ import annotations

from actorstream.testing.transport.check import Check, check
from actorstream.testing.transport.payload import sample, verify
from actorstream.testing.transport.side import Side, expect
from actorstream.testing.transport.signals import finish, signal, signalled
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, FrameKind

# -- words ------------------------------------------------------------------------------------------------------------

WORDS = 5


async def raise_words(side: Side) -> None:
    end = side.sender()
    await signalled(side, 2)
    end.advance(0, -(2**50))
    await signalled(side, 2)
    end.advance(0, -(2**55))
    for word in range(1, WORDS):
        end.advance(word, 100 * word, ring=word == WORDS - 1)
    await signalled(side, 2)
    end.advance(0, FRONTIER_END)
    await signalled(side, 2)


async def read_words(side: Side) -> None:
    end = side.receiver()
    for word in range(WORDS):
        expect(end.frontier(word) == FRONTIER_MIN, f"word {word} starts at {end.frontier(word)}")
    await signal(side, 2)
    await side.until(lambda: end.frontier() == -(2**50), "a frontier without data")
    await signal(side, 2)
    await side.until(lambda: end.frontier(WORDS - 1) == 100 * (WORDS - 1), "the last frontier word")
    for word in range(1, WORDS):
        expect(
            end.frontier(word) == 100 * word,
            f"word {word} is {end.frontier(word)}, was raised to {100 * word}",
        )
    expect(end.frontier(0) == -(2**50), f"a lower value changed word 0 to {end.frontier(0)}")
    await signal(side, 2)
    await side.until(lambda: end.frontier() == FRONTIER_END, "the frontier's end")
    expect(end.waiting() == 0 and end.peek() is None, "frontiers alone left a frame in the channel")
    await signal(side, 2)


# -- never before the data --------------------------------------------------------------------------------------------

STEPS = 400


async def promise_after_data(side: Side) -> None:
    for step in range(STEPS):
        await side.send(sample(side, step, rows=1, max_time=step))
        side.sender().advance(0, step)
    await finish(side)


async def act_on_promises(side: Side) -> None:
    end = side.receiver()
    seen = -1
    ended = False

    def turn() -> bool:
        nonlocal seen, ended
        promise = end.frontier()
        for _ in range(end.waiting()):
            frame = end.peek()
            expect(frame is not None, "waiting() counted a frame that peek() does not answer")
            if frame.kind == FrameKind.END:  # type: ignore[union-attr]
                ended = True
            else:
                verify(frame, seen + 1, rows=1)  # type: ignore[arg-type]
                seen += 1
            end.consume()
        expect(promise <= seen, f"the frontier promised {promise} when only frames up to {seen} had arrived")
        return ended

    await side.until(turn, "the end of the channel")
    await side.until(lambda: end.frontier() == STEPS - 1, "the last promise")


# -- not held up by a full channel ------------------------------------------------------------------------------------


async def promise_when_full(side: Side) -> None:
    end = side.sender()
    sent = 0
    while end.send_nowait(sample(side, sent, rows=1)):
        sent += 1
    expect(sent == 2, f"two slots took {sent} frames")
    end.advance(0, 10)
    await signalled(side, 2)
    end.advance(1, 11)
    await signalled(side, 2)


async def read_when_full(side: Side) -> None:
    end = side.receiver()
    await side.until(lambda: end.frontier(0) == 10, "a frontier on a full channel")
    expect(end.waiting() == 2, f"{end.waiting()} frames wait, not 2")
    await signal(side, 2)
    await side.until(lambda: end.frontier(1) == 11, "another frontier on a full channel")
    for seed in range(2):
        verify(await side.receive(), seed, rows=1)
    await signal(side, 2)


PROMISES: tuple[Check, ...] = (
    check(
        (0, 1),
        answers=[(0, 1), (1, 0)],
        name="frontier words only rise, each for itself, and ring",
        roles=(raise_words, read_words),
        frontiers=WORDS,
    ),
    check(
        (0, 1),
        name="a frontier never overtakes the frames sent before it",
        roles=(promise_after_data, act_on_promises),
        slots=8,
    ),
    check(
        (0, 1),
        answers=[(0, 1), (1, 0)],
        name="a full channel does not hold up its frontiers",
        roles=(promise_when_full, read_when_full),
        slots=2,
        frontiers=2,
    ),
)
