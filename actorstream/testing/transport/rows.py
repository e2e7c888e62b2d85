"""Checks of rows that travel by themselves: their place among frames, what they carry, when they are refused."""

from __future__ import annotations

import struct
from typing import Any

from actorstream.events.event import Event
from actorstream.events.row_format import UNFIT, RowFormat
from actorstream.events.schema import Schema
from actorstream.testing.transport.check import Check, check
from actorstream.testing.transport.payload import sample, verify
from actorstream.testing.transport.side import Side, expect
from actorstream.testing.transport.signals import finish, finished, signal, signalled
from actorstream.transports.base import Frame, FrameKind, Transport
from actorstream.transports.fast_paths import EventSender, RowSender, RowTaker

LAYOUT = "qd?20p"
SCHEMA, PRODUCER, ENTERED = 2**64 - 3, 9, 2**40
ROUNDS = 60


def row(seed: int) -> tuple[Any, ...]:
    return -(2**62) + seed, seed / 4, seed % 2 == 0, b"word" * (seed % 5)


def sender_of(side: Side) -> RowSender:
    send = side.sender().rows(LAYOUT)
    expect(send is not None, f"a layout of {struct.calcsize('<' + LAYOUT)} bytes is refused")
    assert send is not None
    return send


def taker_of(side: Side) -> RowTaker:
    take = side.receiver().rows(LAYOUT)
    assert take is not None
    return take


async def send_row(side: Side, send: RowSender, seed: int) -> None:
    await side.until(lambda: side.sender().admits(2**62), "the receiver to consume everything")
    began = ENTERED + seed + 5_000 if seed % 3 else 0
    sent = send(row(seed), SCHEMA, PRODUCER, seed, ENTERED, ENTERED + seed, began)
    expect(sent, f"row {seed} was refused although everything is consumed")


def verify_row(found: tuple[tuple[Any, ...], int, int, int], seed: int) -> None:
    values, least, greatest, began = found
    expect(values == row(seed), f"row {seed} arrived as {values}")
    expect((least, greatest) == (ENTERED, ENTERED + seed), f"entry times of row {seed} changed on the way")
    waited = began - greatest if began else 0
    expect(waited == (5_000 if seed % 3 else 0), f"`began` of row {seed} says {waited} ns")


# -- rows, jumbo tuples, barriers and the end keep their places -------------------------------------------------------


async def send_mixed(side: Side) -> None:
    send = sender_of(side)
    for seed in range(ROUNDS):
        if seed % 4 == 1:
            await side.send(sample(side, seed, rows=3))
        elif seed % 4 == 3:
            await side.send(Frame(FrameKind.BARRIER, barrier=seed, sequence=seed))
        else:
            await send_row(side, send, seed)
    await finish(side)


async def receive_mixed(side: Side) -> None:
    take, end = taker_of(side), side.receiver()
    for seed in range(ROUNDS):
        if seed % 4 == 1:
            expect(take() is None, "a jumbo tuple was taken as a row")
            verify(await side.receive(), seed, rows=3)
        elif seed % 4 == 3:
            frame = await side.receive()
            expect((frame.kind, frame.barrier) == (FrameKind.BARRIER, seed), f"got {frame!r} for a barrier")
        else:
            verify_row(await side.until(take, f"row {seed}"), seed)
    expect(end.waiting() in (0, 1), "a row that was taken still waits")
    await finished(side)


# -- a row that is peeked is a frame ----------------------------------------------------------------------------------


async def send_peeked(side: Side) -> None:
    send = sender_of(side)
    for seed in range(8):
        await send_row(side, send, seed)
    await finish(side)


async def receive_peeked(side: Side) -> None:
    take = taker_of(side)
    for seed in range(8):
        frame = await side.until(side.receiver().peek, f"row {seed}")
        expect(take() is None, "a row was taken although it had been peeked")
        seen = (frame.kind, frame.rows, frame.first, frame.sequence, frame.schema, frame.producer)
        expect(seen == (FrameKind.DATA, 1, 0, seed, SCHEMA, PRODUCER), f"row {seed} was peeked as {seen}")
        values = struct.unpack_from(f"<{LAYOUT}", frame.payload)
        verify_row((values, frame.min_entry, frame.max_entry, frame.began), seed)
        side.receiver().consume()
    await finished(side)


# -- refused rows change nothing --------------------------------------------------------------------------------------


async def send_refused(side: Side) -> None:
    send = sender_of(side)
    expect(side.sender().rows("q" * 1000) is None, "a layout of 8,000 bytes is accepted")
    try:
        send((2**63, 0.0, True, b""), SCHEMA, PRODUCER, 0, 0, 0, 0)
    except struct.error:
        pass
    else:
        expect(False, "an integer of 65 bits was accepted for eight bytes")
    await side.send(sample(side, 0))
    expect(not send(row(1), SCHEMA, PRODUCER, 1, 0, 0, 0), "a row was sent although a frame waits before it")
    await signal(side, 1)
    await send_row(side, send, 1)
    side.sender().advance(0, 77)
    await finish(side)


async def receive_refused(side: Side) -> None:
    await signalled(side, 1)
    verify(await side.receive(), 0)
    end, take = side.receiver(), taker_of(side)
    await side.until(lambda: end.frontier(0) == 77, "the frontier behind the row")
    expect(end.waiting() >= 1, "a frontier overtook the row before it")
    found = take()
    expect(found is not None, "the row that the frontier covers cannot be taken")
    assert found is not None
    verify_row(found, 1)
    await finished(side)


# -- events by functions compiled for them ---------------------------------------------------------------------------


class Reading(Event):
    """What the layout of the other checks says."""

    number: int
    weight: float
    good: bool
    name: bytes


def reading(seed: int) -> Reading:
    return Reading(*row(seed))


async def send_events(side: Side) -> None:
    rows = RowFormat.of(Schema.of(Reading), side.transport.row_bytes)
    assert rows is not None
    send = side.sender().events(rows, SCHEMA, PRODUCER)
    if send is None:
        send = _by_rows(side, rows)
    too_long = Reading(0, 0.0, True, b"x" * 1000)
    expect(not send(too_long, 0, 0), "an event that does not fit was sent")
    for seed in range(ROUNDS):
        await side.until(lambda: side.sender().admits(2**62), "the receiver to consume everything")
        if seed % 4 == 1:
            await side.send(sample(side, seed, rows=3))
            expect(not send(reading(seed), seed, 0), "an event was sent although a frame waits before it")
            await signal(side, 1, seed)
        else:
            expect(
                send(reading(seed), seed, ENTERED + seed),
                f"event {seed} was refused although all is consumed",
            )
    await finish(side)


def _by_rows(side: Side, rows: RowFormat) -> EventSender:
    send = side.sender().rows(rows.layout)
    assert send is not None

    def send_event(event: Event, sequence: int, entered: int) -> bool:
        try:
            return send(rows.values(event), SCHEMA, PRODUCER, sequence, entered, entered, 0)
        except UNFIT:
            return False

    return send_event


async def receive_events(side: Side) -> None:
    rows = RowFormat.of(Schema.of(Reading), side.transport.row_bytes)
    assert rows is not None
    watch, end, bell = side.receiver().watch_events(rows), side.receiver(), side.transport.doorbell
    for seed in range(ROUNDS):
        if seed % 4 == 1:
            expect(await signalled(side, 1) == seed, "signals came in another order")
            verify(await side.receive(), seed, rows=3)
            continue
        found = watch.wait(0) if watch is not None else bell.collect()
        if (
            type(found) is list
        ):  # not yet, or something else rang, too: it is where it would be without a watch
            side.rung.update(found)
            frame = await side.until(end.peek, f"event {seed}")
            marks = frame.min_entry, frame.max_entry, frame.began
            found = rows.event(struct.unpack_from(f"<{rows.layout}", frame.payload))
            end.consume()
        else:
            assert watch is not None
            marks = watch.marks()
        expect(found == reading(seed), f"event {seed} arrived as {found!r}")
        expect(marks == (ENTERED + seed, ENTERED + seed, 0), f"event {seed} entered at {marks}")
    await finished(side)


# -- losses -----------------------------------------------------------------------------------------------------------


async def send_and_close(side: Side) -> None:
    await send_row(side, sender_of(side), 4)
    side.sender().close()


async def receive_unended(side: Side) -> None:
    verify_row(await side.until(taker_of(side), "a row"), 4)
    await side.broken(side.receiver().peek, "peek on a channel whose sender closed without an end mark")


async def send_to_closed(side: Side) -> None:
    send = sender_of(side)
    await send_row(side, send, 0)
    await side.broken(lambda: send(row(1), SCHEMA, PRODUCER, 1, 0, 0, 0), "a row to a receiver that closed")


async def close_receiver(side: Side) -> None:
    await side.until(taker_of(side), "a row")
    side.receiver().close()


def _carries_rows(transport: type[Transport]) -> bool:
    return transport.row_bytes >= struct.calcsize(f"<{LAYOUT}")


ROWS: tuple[Check, ...] = (
    check(
        (0, 1),
        name="rows that travel by themselves keep their place among frames",
        roles=(send_mixed, receive_mixed),
        applies=_carries_rows,
    ),
    check(
        (0, 1),
        name="rows that travel by themselves pass a channel of one slot",
        roles=(send_mixed, receive_mixed),
        slots=1,
        applies=_carries_rows,
    ),
    check(
        (0, 1),
        name="a row that is peeked is a frame",
        roles=(send_peeked, receive_peeked),
        applies=_carries_rows,
    ),
    check(
        (0, 1),
        answers=[(0, 1)],
        name="a refused row changes nothing, and no promise overtakes a row",
        roles=(send_refused, receive_refused),
        applies=_carries_rows,
    ),
    check(
        (0, 1),
        answers=[(0, 1)],
        name="events that travel by themselves keep their place among frames",
        roles=(send_events, receive_events),
        applies=_carries_rows,
    ),
    check(
        (0, 1),
        name="a sender that closes behind a row without an end mark is noticed",
        roles=(send_and_close, receive_unended),
        applies=_carries_rows,
    ),
    check(
        (0, 1),
        name="a row to a receiver that closed is refused",
        roles=(send_to_closed, close_receiver),
        applies=_carries_rows,
    ),
)
