"""Checks of channels for producers outside the plan, for transports that have them: listen, attach, accept."""

from __future__ import annotations

import os
import signal as signals

from actorstream.errors import BrokenError, ConfigurationError
from actorstream.testing.transport.check import Check, check
from actorstream.testing.transport.payload import read_text, sample_for, send_text, verify
from actorstream.testing.transport.side import CheckFailed, Side, expect
from actorstream.testing.transport.signals import signal, signalled
from actorstream.transports.base import Frame, FrameKind, OutsideChannel, ReceiveChannel, Transport

BIT = 900
"""A doorbell bit that no channel of the plan has."""
SENT = 50


def listens(transport: type[Transport]) -> bool:
    return transport.listen is not Transport.listen


async def _next(side: Side, end: ReceiveChannel) -> Frame:
    frame = await side.until(end.peek, "a frame of the outside producer")
    end.consume()
    return frame


async def _attach(side: Side) -> OutsideChannel:
    return await type(side.transport).attach(await read_text(side, 0))


async def host(side: Side) -> None:
    token = await side.transport.listen(BIT, slots=4, budget=16 << 10)
    await send_text(side, token, 0)
    end = await side.transport.accept(token)
    for seed in range(SENT):
        verify(await _next(side, end), seed)
    mark = await _next(side, end)
    expect(mark.kind == FrameKind.END, f"expected the outside producer's end mark, got {mark!r}")
    frontier = (
        end.frontier()
    )  # raised before the end mark was sent, and maybe not before the last frame was seen
    expect(frontier == SENT, f"the outside frontier is {frontier}, was raised to {SENT}")
    await signalled(side, 1)
    expect(end.peek() is None, "an ended outside channel must stay empty after its producer left")
    end.close()


async def visit(side: Side) -> None:
    end = await _attach(side)
    try:
        for seed in range(SENT):
            await end.send(sample_for(end.arena, seed))
        end.advance(0, SENT)
        await end.send(Frame(FrameKind.END))
    finally:
        end.close()
    await signal(side, 1)


async def host_to_the_dead(side: Side) -> None:
    token = await side.transport.listen(BIT)
    await send_text(side, token, 0)
    end = await side.transport.accept(token)
    verify(await _next(side, end), 0)
    await side.broken(end.peek, "the receiver of an outside producer that was killed")


async def visit_and_die(side: Side) -> None:
    end = await _attach(side)
    await end.send(sample_for(end.arena, 0))
    os.kill(os.getpid(), signals.SIGKILL)


async def offer(side: Side) -> None:
    token = await side.transport.listen(BIT)
    await send_text(side, token, 0)
    await signalled(side, 1)


async def knock_wrongly(side: Side) -> None:
    token = await read_text(side, 0)
    wrong = token[:-4] + ("0000" if token[-4:] != "0000" else "1111")
    for bad in (wrong, "", "nonsense"):
        try:
            end = await type(side.transport).attach(bad)
        except (BrokenError, ConfigurationError):
            continue
        end.close()
        raise CheckFailed(f"attach() took the token {bad!r}")
    (await type(side.transport).attach(token)).close()
    await signal(side, 1)


OUTSIDE: tuple[Check, ...] = (
    check(
        (0, 1),
        answers=[(1, 0)],
        name="a producer outside the plan attaches, sends and ends",
        roles=(host, visit),
        applies=listens,
    ),
    check(
        (0, 1),
        name="a receiver learns that its outside producer was killed",
        roles=(host_to_the_dead, visit_and_die),
        dies=[1],
        applies=listens,
    ),
    check(
        (0, 1),
        answers=[(1, 0)],
        name="a wrong token is refused and does not use up the right one",
        roles=(offer, knock_wrongly),
        applies=listens,
    ),
)
