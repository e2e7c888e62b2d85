"""How the roles of a check talk: numbered barriers on an answer channel, small and in order."""

from __future__ import annotations

from actorstream.testing.transport.side import Side, expect
from actorstream.transports.base import Frame, FrameKind


async def signal(side: Side, index: int, number: int = 1) -> None:
    """Tells the other role `number` over channel `index`."""
    await side.send(Frame(FrameKind.BARRIER, barrier=number), index)


async def signalled(side: Side, index: int) -> int:
    """The number of the next signal on channel `index`."""
    frame = await side.receive(index)
    expect(frame.kind == FrameKind.BARRIER, f"expected a signal on channel {index}, got {frame!r}")
    return frame.barrier


async def finish(side: Side, index: int = 0) -> None:
    """Ends channel `index` in order."""
    await side.send(Frame(FrameKind.END), index)


async def finished(side: Side, index: int = 0) -> None:
    """Expects the end mark as the next frame, and nothing behind it."""
    frame = await side.receive(index)
    expect(frame.kind == FrameKind.END, f"expected the end mark on channel {index}, got {frame!r}")
    expect(side.receiver(index).peek() is None, f"something follows the end mark on channel {index}")
