"""Checks of what goes wrong: ends closed by this side, by the other side, and a peer that is killed. Nothing hangs."""

from __future__ import annotations

import os
import signal as signals
from collections.abc import Callable

from actorstream.errors import ClosedError
from actorstream.testing.transport.check import Check, check
from actorstream.testing.transport.payload import numbers, opened, sample, verify
from actorstream.testing.transport.side import CheckFailed, Side, expect
from actorstream.testing.transport.signals import signal, signalled


def closed(action: Callable[[], object], what: str) -> None:
    """Expects ClosedError, because this side closed the end itself."""
    try:
        action()
    except ClosedError:
        return
    raise CheckFailed(f"{what} did not raise ClosedError")


# -- this side --------------------------------------------------------------------------------------------------------


async def use_closed_sender(side: Side) -> None:
    end = side.sender()
    frame = sample(side, 0)
    await signalled(side, 1)
    end.close()
    end.close()
    closed(lambda: end.send_nowait(frame), "send_nowait() on an end that this side closed")


async def use_closed_receiver(side: Side) -> None:
    end = side.receiver()
    end.close()
    end.close()
    closed(end.peek, "peek() on an end that this side closed")
    closed(end.consume, "consume() on an end that this side closed")
    await signal(side, 1)


# -- the other side closes --------------------------------------------------------------------------------------------


async def send_to_closed(side: Side) -> None:
    await side.send(sample(side, 0))
    await signal(side, 1)
    frame = sample(side, 1)
    message = await side.broken(lambda: side.sender().send_nowait(frame), "a sender whose receiver closed")
    expect(message, "BrokenError says nothing")


async def close_early(side: Side) -> None:
    await signalled(side, 1)
    verify(await side.receive(), 0)
    side.receiver().close()


async def leave_without_end(side: Side) -> None:
    await signalled(side, 1)
    for seed in range(3):
        await side.send(sample(side, seed))
    side.sender().close()


async def drain_then_break(side: Side) -> None:
    end = side.receiver()
    await signal(side, 1)
    for seed in range(3):
        verify(await side.receive(), seed)
    message = await side.broken(end.peek, "a receiver whose sender closed without an end mark")
    expect(message, "BrokenError says nothing")


async def leave_altogether(side: Side) -> None:
    await signalled(side, 1)
    side.sender()
    await side.transport.close()


async def notice_absence(side: Side) -> None:
    await signal(side, 1)
    await side.broken(side.receiver().peek, "a receiver whose sender's transport was closed")


# -- killed -----------------------------------------------------------------------------------------------------------


async def send_and_die(side: Side) -> None:
    for seed in range(3):
        await side.send(sample(side, seed, rows=50))
    await signalled(side, 1)
    os.kill(os.getpid(), signals.SIGKILL)


async def survive_sender(side: Side) -> None:
    end = side.receiver()
    first = await side.receive()
    view = opened(first)["number"]
    await side.until(
        lambda: end.waiting() == 2, "two more frames"
    )  # a killed process does not send what it still has
    await signal(side, 1)
    for seed in (1, 2):
        verify(await side.receive(), seed, rows=50)
    await side.broken(end.peek, "a receiver whose sender was killed")
    expect((view == numbers(0, 50)).all(), "a view of a killed sender's memory changed")


async def receive_and_die(side: Side) -> None:
    verify(await side.receive(), 0)
    os.kill(os.getpid(), signals.SIGKILL)


async def survive_receiver(side: Side) -> None:
    await side.send(sample(side, 0))
    frame = sample(side, 1)
    await side.broken(lambda: side.sender().send_nowait(frame), "a sender whose receiver was killed")


async def wait_full_and_survive(side: Side) -> None:
    end = side.sender()
    await side.send(sample(side, 0))
    frame = sample(side, 1)
    expect(not end.send_nowait(frame), "two frames were admitted into one slot")
    await signal(side, 1)
    await side.broken(lambda: end.send_nowait(frame), "a blocked sender whose receiver was killed")


async def die_when_full(side: Side) -> None:
    await signalled(side, 1)
    os.kill(os.getpid(), signals.SIGKILL)


LOSS: tuple[Check, ...] = (
    check(
        (0, 1),
        answers=[(1, 0)],
        name="an end that this side closed raises ClosedError",
        roles=(use_closed_sender, use_closed_receiver),
    ),
    check(
        (0, 1),
        answers=[(0, 1)],
        name="a sender learns that its receiver closed",
        roles=(send_to_closed, close_early),
    ),
    check(
        (0, 1),
        answers=[(1, 0)],
        name="a receiver drains, then learns that its sender closed without an end mark",
        roles=(leave_without_end, drain_then_break),
    ),
    check(
        (0, 1),
        answers=[(1, 0)],
        name="a receiver learns that its sender's whole transport was closed",
        roles=(leave_altogether, notice_absence),
    ),
    check(
        (0, 1),
        answers=[(1, 0)],
        name="a receiver drains and keeps its views, then learns that its sender was killed",
        roles=(send_and_die, survive_sender),
        dies=[0],
    ),
    check(
        (0, 1),
        name="a sender learns that its receiver was killed",
        roles=(survive_receiver, receive_and_die),
        dies=[1],
    ),
    check(
        (0, 1),
        answers=[(0, 1)],
        name="a sender that waits for credit learns that its receiver was killed",
        roles=(wait_full_and_survive, die_when_full),
        dies=[1],
        slots=1,
    ),
)
