"""Checks of memory: views outlive consumption, blocks come back, forwarding, large and tiny jumbo tuples."""

from __future__ import annotations

import gc

import numpy as np

from actorstream.testing.transport.check import Check, check
from actorstream.testing.transport.payload import SCHEMA, empty, numbers, opened, sample, verify, words
from actorstream.testing.transport.side import Side, expect
from actorstream.testing.transport.signals import finish, finished, signal, signalled
from actorstream.transports.base import Frame, Transport


def in_use(side: Side) -> int:
    """Bytes of this worker's arena that are in use; 0 for a transport without one."""
    arena = side.transport.arena
    return arena.statistics().in_use if arena is not None else 0


def crosses(transport: type[Transport]) -> bool:
    return transport.crosses_processes


# -- views outlive consumption ----------------------------------------------------------------------------------------

KEPT = 64


async def recycle(side: Side) -> None:
    for seed in range(4 * KEPT):
        await side.send(sample(side, seed, rows=200))
    await finish(side)
    await signalled(side, 1)
    side.collected()
    expect(in_use(side) == 0, f"{in_use(side)} B of the arena are in use after every view was dropped")
    await signal(side, 2)


async def keep_views(side: Side) -> None:
    kept: list[np.ndarray] = []
    for seed in range(4 * KEPT):
        frame = await side.receive()
        verify(frame, seed, rows=200)
        if seed < KEPT:
            kept.append(opened(frame)["square"][3:7])
        del frame
    await finished(side)
    for seed, view in enumerate(kept):
        number = numbers(seed, 200)[3:7]
        expect(
            np.array_equal(view, number * number),
            f"a view of jumbo tuple {seed} changed after it was consumed",
        )
    end = side.receiver()
    if side.transport.arena is not None:
        expect(
            end.statistics()["kept"] == KEPT, f"{KEPT} views are kept, statistics() says {end.statistics()}"
        )
    kept.clear()
    del view
    gc.collect()
    expect(end.statistics()["kept"] == 0, f"no view is left, statistics() says {end.statistics()}")
    await signal(side, 1)
    await signalled(side, 2)


# -- far more kept than fits in the ring ------------------------------------------------------------------------------

HOARD = 600


async def feed_hoard(side: Side) -> None:
    for seed in range(HOARD):
        await side.send(sample(side, seed, rows=4))
    await finish(side)
    await signalled(side, 1)


async def hoard(side: Side) -> None:
    frames = [await side.receive() for _ in range(HOARD)]
    await finished(side)
    for seed, frame in enumerate(frames):
        verify(frame, seed, rows=4)
    await signal(side, 1)


# -- views are read-only ----------------------------------------------------------------------------------------------


async def send_one(side: Side) -> None:
    await side.send(sample(side, 0))
    await signalled(side, 1)


async def try_to_write(side: Side) -> None:
    column = opened(await side.receive())["number"]
    expect(not column.flags.writeable, "a received column can be written to")
    await signal(side, 1)


# -- sizes ------------------------------------------------------------------------------------------------------------

SIZES = (1, 0, 300_000, 1, 2, 100_000, 3, 0, 1, 300_000)


async def send_sizes(side: Side) -> None:
    for seed, rows in enumerate(SIZES):
        await side.send(empty(seed) if rows == 0 else sample(side, seed, rows=rows))
        await side.send(words(side, seed, rows=rows + 1))
    await finish(side)
    await signalled(side, 1)


async def receive_sizes(side: Side) -> None:
    for seed, rows in enumerate(SIZES):
        frame = await side.receive()
        if rows == 0:
            expect(
                frame.payload is None and frame.sequence == seed, f"a piece of no rows arrived as {frame!r}"
            )
        else:
            verify(frame, seed, rows=rows)
        verify(await side.receive(), seed, rows=rows + 1)
    await finished(side)
    await signal(side, 1)


# -- one jumbo tuple to several consumers -----------------------------------------------------------------------------


async def broadcast(side: Side) -> None:
    for seed in range(20):
        frame = sample(side, seed)
        for index in (0, 1):
            await side.send(frame, index)
        del frame
    for index in (0, 1):
        await finish(side, index)
        await signalled(side, 2 + index)
    for index in (0, 1):
        side.collected(index)
    expect(in_use(side) == 0, f"{in_use(side)} B of the arena are in use after both consumers let go")
    for index in (4, 5):
        await signal(side, index)


async def _listen(side: Side, index: int, answer: int, leave: int) -> None:
    for seed in range(20):
        verify(await side.receive(index), seed)
    await finished(side, index)
    gc.collect()
    await signal(side, answer)
    await signalled(side, leave)


async def listen_first(side: Side) -> None:
    await _listen(side, 0, 2, 4)


async def listen_second(side: Side) -> None:
    await _listen(side, 1, 3, 5)


# -- forwarding by reference ------------------------------------------------------------------------------------------


async def originate(side: Side) -> None:
    for seed in range(60):
        await side.send(sample(side, seed, rows=64), 0)
    await finish(side, 0)
    await signalled(side, 3)
    side.collected(0)
    expect(
        in_use(side) == 0, f"{in_use(side)} B are in use after the last consumer of forwarded blocks let go"
    )
    await signal(side, 4)
    await signal(side, 5)


async def forward(side: Side) -> None:
    for seed in range(60):
        frame = await side.receive(0)
        verify(frame, seed, rows=64)
        part = Frame(
            frame.kind,
            frame.payload,
            rows=32,
            first=16,
            nbytes=frame.nbytes // 2,
            schema=frame.schema,
            sequence=frame.sequence,
        )
        await side.send(part, 1)
        del frame, part
    await finished(side, 0)
    await finish(side, 1)
    await signalled(side, 2)
    gc.collect()
    side.collected(1)
    await signal(side, 3)
    await signalled(side, 4)


async def arrive(side: Side) -> None:
    kept = []
    for seed in range(60):
        frame = await side.receive(1)
        expect(frame.rows == 32 and frame.first == 16, f"the forwarded part arrived as {frame!r}")
        kept.append((seed, opened(frame)))
        del frame
    for seed, batch in kept:
        expect(batch.schema == SCHEMA and len(batch) == 32, "a forwarded batch has another shape")
        number = numbers(seed, 64)[16:48]
        expect(np.array_equal(batch["number"], number), f"forwarded jumbo tuple {seed} changed on the way")
    await finished(side, 1)
    del batch
    kept.clear()
    gc.collect()
    await signal(side, 2)
    await signalled(side, 5)


MEMORY: tuple[Check, ...] = (
    check(
        (0, 1),
        answers=[(1, 0), (0, 1)],
        name="views outlive consumption and give their memory back when dropped",
        roles=(recycle, keep_views),
        slots=16,
        budget=64 << 10,
    ),
    check(
        (0, 1),
        answers=[(1, 0)],
        name="a consumer may keep many more jumbo tuples than the ring has slots",
        roles=(feed_hoard, hoard),
        slots=4,
    ),
    check(
        (0, 1),
        answers=[(1, 0)],
        name="received columns are read-only",
        roles=(send_one, try_to_write),
        applies=crosses,
    ),
    check(
        (0, 1),
        answers=[(1, 0)],
        name="large, tiny and empty jumbo tuples mix",
        roles=(send_sizes, receive_sizes),
    ),
    check(
        (0, 1),
        (0, 2),
        answers=[(1, 0), (2, 0), (0, 1), (0, 2)],
        name="one jumbo tuple goes to several consumers",
        roles=(broadcast, listen_first, listen_second),
    ),
    check(
        (0, 1),
        (1, 2),
        answers=[(2, 1), (1, 0), (0, 1), (0, 2)],
        name="a received jumbo tuple is forwarded and outlives its forwarder's use",
        roles=(originate, forward, arrive),
        slots=8,
    ),
)
