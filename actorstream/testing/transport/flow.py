"""Checks of the flow: order, exactly once, headers, ends, barriers, many channels, waking."""

from __future__ import annotations

from actorstream.testing.transport.check import Check, check
from actorstream.testing.transport.payload import empty, sample, verify, words
from actorstream.testing.transport.side import Side, expect
from actorstream.testing.transport.signals import finish, finished, signal, signalled
from actorstream.transports.base import Frame, FrameKind

# -- order and exactly once -------------------------------------------------------------------------------------------

JUMBO_TUPLES = 300


async def send_many(side: Side) -> None:
    for seed in range(JUMBO_TUPLES):
        make = words if seed % 5 == 0 else sample
        await side.send(make(side, seed, rows=1 + seed % 40))
    await finish(side)


async def receive_many(side: Side) -> None:
    for seed in range(JUMBO_TUPLES):
        verify(await side.receive(), seed, rows=1 + seed % 40)
    await finished(side)


# -- headers ----------------------------------------------------------------------------------------------------------

HEADER = {
    "producer": 7,
    "serial": 2**62 + 5,
    "piece": 3,
    "pieces": 9,
    "min_time": -(2**40),
    "max_time": 2**62,
    "min_entry": 123_456_789_012,
    "max_entry": 123_456_789_999,
}
FIRST, ROWS = 30, 5


async def send_headers(side: Side) -> None:
    await side.send(sample(side, 1, **HEADER))
    part = sample(side, 2, rows=40)
    part.first, part.rows, part.nbytes = FIRST, ROWS, 240
    await side.send(part)
    await side.send(empty(3, **HEADER))
    await finish(side)


async def receive_headers(side: Side) -> None:
    whole = await side.receive()
    verify(whole, 1)
    part = await side.receive()
    expect(
        (part.first, part.rows, part.nbytes) == (FIRST, ROWS, 240), "first, rows or nbytes changed on the way"
    )
    nothing = await side.receive()
    expect(nothing.payload is None and nothing.rows == 0, f"a piece of no rows arrived as {nothing!r}")
    for frame in (whole, nothing):
        for name, value in HEADER.items():
            seen = getattr(frame, name)
            expect(
                seen == value, f"header field {name!r} of {frame!r} was sent as {value}, arrived as {seen}"
            )
    await finished(side)


# -- barriers and ends keep their place -------------------------------------------------------------------------------


async def send_barriers(side: Side) -> None:
    for seed in range(30):
        await side.send(sample(side, seed, rows=2))
        if seed % 3 == 0:
            await side.send(Frame(FrameKind.BARRIER, barrier=2**40 + seed, sequence=seed))
    await finish(side)
    side.sender().close()
    await signal(side, 1)
    await signalled(side, 2)


async def receive_barriers(side: Side) -> None:
    await signalled(side, 1)  # the sender has ended and closed its end before the first frame is taken
    for seed in range(30):
        verify(await side.receive(), seed, rows=2)
        if seed % 3 == 0:
            barrier = await side.receive()
            expect(barrier.kind == FrameKind.BARRIER, f"a barrier left its place: got {barrier!r}")
            expect(barrier.barrier == 2**40 + seed, f"barrier {2**40 + seed} arrived as {barrier.barrier}")
    await finished(side)
    expect(side.receiver().peek() is None, "an ended channel must stay empty after its sender closed")
    await signal(side, 2)


# -- peeking ahead ----------------------------------------------------------------------------------------------------


async def send_ahead(side: Side) -> None:
    for seed in range(4):
        await side.send(sample(side, seed))
    await signal(side, 1)
    await signalled(side, 2)


async def peek_ahead(side: Side) -> None:
    end = side.receiver()
    expect(end.peek(3) is None or end.waiting() >= 4, "peek(3) answered a frame that is not waiting")
    await signalled(side, 1)
    await side.until(lambda: end.waiting() == 4, "four waiting frames")
    expect(end.peek(4) is None, "peek(4) answered a frame although four wait")
    third = end.peek(2)
    frames = [end.peek(ahead) for ahead in range(4)]
    expect(frames[2] is third, "the same place was answered by two different frames")
    for taken in range(4):
        expect(end.waiting() == 4 - taken, f"{end.waiting()} frames wait after {taken} of 4 were consumed")
        head = end.peek()
        expect(head is frames[taken], "the frame at the head is not the one that was peeked before")
        verify(head, taken)  # type: ignore[arg-type]
        end.consume()
    expect(end.peek() is None, "an empty channel answered a frame")
    await signal(side, 2)


# -- statistics and emptiness -----------------------------------------------------------------------------------------


async def count_sent(side: Side) -> None:
    end = side.sender()
    expect(end.is_empty(), "a channel that was never used is not empty")
    frames = [sample(side, seed) for seed in range(3)]
    for frame in frames:
        await side.send(frame)
    await signal(side, 1)
    seen = end.statistics()
    weight = sum(frame.nbytes for frame in frames)
    wanted = {"sent": 3, "waiting": 3, "waiting_bytes": weight, "peak_bytes": weight, "sent_bytes": weight}
    for name, value in wanted.items():
        expect(
            seen[name] == value,
            f"statistics()[{name!r}] is {seen[name]} with three frames waiting, not {value}",
        )
    expect("loans" in seen, "statistics() of a sending end lacks 'loans'")
    expect(not end.is_empty(), "is_empty() is true with three frames waiting")
    await signal(side, 1)
    await signalled(side, 2)
    await side.until(end.is_empty, "an empty channel after everything was consumed")
    seen = end.statistics()
    expect(
        seen["waiting"] == 0 and seen["waiting_bytes"] == 0, f"the channel is empty, statistics() says {seen}"
    )
    expect(seen["sent"] == 3 and seen["peak_bytes"] == weight, f"sent or peak_bytes were lost: {seen}")


async def count_received(side: Side) -> None:
    end = side.receiver()
    await signalled(side, 1)
    await side.until(lambda: end.waiting() == 3, "three waiting frames")
    expect(end.statistics()["waiting"] == 3, f"three frames wait, statistics() says {end.statistics()}")
    await signalled(side, 1)
    for seed in range(3):
        verify(await side.receive(), seed)
    seen = end.statistics()
    wanted = {"received": 3, "waiting": 0, "kept": 0}
    expect(seen == wanted, f"statistics() is {seen} after three frames, not {wanted}")
    await signal(side, 2)


# -- many channels ----------------------------------------------------------------------------------------------------

MANY = 140


async def both_ways(side: Side, outgoing: int, incoming: int) -> None:
    ends = {side.channels[n].receive_bit: n for n in range(incoming, incoming + MANY)}
    for n in range(incoming, incoming + MANY):
        side.receiver(n)
    for seed in range(4):
        for n in range(outgoing, outgoing + MANY):
            await side.send(sample(side, 10 * n + seed, rows=1 + n % 3), n)
        for n in range(outgoing, outgoing + MANY):
            if seed == 3:
                await finish(side, n)
    open_ends = set(ends.values())
    taken = dict.fromkeys(open_ends, 0)

    def drain() -> bool:
        """Looks only at channels whose bit rang."""
        for bit in [bit for bit in side.rung if bit in ends]:
            side.rung.discard(bit)
            n = ends[bit]
            end = side.receiver(n)
            while (frame := end.peek()) is not None:
                if frame.kind == FrameKind.END:
                    expect(taken[n] == 4, f"channel {n} ended after {taken[n]} of 4 frames")
                    open_ends.discard(n)
                else:
                    verify(frame, 10 * n + taken[n], rows=1 + n % 3)
                    taken[n] += 1
                end.consume()
        return not open_ends

    await side.until(drain, "the end of all channels, each announced by its own doorbell bit")


async def many_first(side: Side) -> None:
    await both_ways(side, 0, MANY)


async def many_second(side: Side) -> None:
    await both_ways(side, MANY, 0)


# -- waking -----------------------------------------------------------------------------------------------------------

ROUNDS = 400


async def ping(side: Side) -> None:
    for number in range(ROUNDS):
        await signal(side, 0, number)
        answer = await signalled(side, 1)
        expect(answer == number, f"signal {number} was answered by {answer}")


async def pong(side: Side) -> None:
    for _ in range(ROUNDS):
        await signal(side, 1, await signalled(side, 0))


FLOW: tuple[Check, ...] = (
    check(
        (0, 1),
        name="everything accepted arrives once and in order",
        roles=(send_many, receive_many),
        slots=16,
        budget=16 << 10,
    ),
    check(
        (0, 1), name="every field of a header arrives as it was sent", roles=(send_headers, receive_headers)
    ),
    check(
        (0, 1),
        answers=[(0, 1), (1, 0)],
        name="barriers and the end mark keep their place among the data",
        roles=(send_barriers, receive_barriers),
    ),
    check(
        (0, 1),
        answers=[(0, 1), (1, 0)],
        name="peeking ahead consumes nothing and answers the same frames",
        roles=(send_ahead, peek_ahead),
    ),
    check(
        (0, 1),
        answers=[(0, 1), (1, 0)],
        name="statistics tell what waits on both ends",
        roles=(count_sent, count_received),
    ),
    check(
        *[(0, 1)] * MANY,
        *[(1, 0)] * MANY,
        name="many channels run both ways, each with its own bit",
        roles=(many_first, many_second),
        slots=8,
    ),
    check((0, 1), (1, 0), name="no ring of a parked worker is lost", roles=(ping, pong), slots=1),
)
