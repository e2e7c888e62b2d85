"""`actors`: messages to control actors, in a process and between two, on uvloop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import uvloop

from actorstream import Actor, ActorRef, System
from actorstream.errors import MailboxFullError
from benchmarks import job
from benchmarks.suite import Case, Probe, Settings, Suite, probe

MAILBOX_BYTES = 4 << 20
START_SECONDS = 20.0


class Add(msgspec.Struct):
    """Is counted."""

    number: int


class Total(msgspec.Struct):
    """Is answered with the sum of what was told."""


class Adder(Actor):
    def __init__(self) -> None:
        self.sum = 0

    def on_message(self, message: Add | Total) -> int | None:
        if isinstance(message, Total):
            return self.sum
        self.sum += message.number
        return None


async def tells(ref: ActorRef, messages: int) -> float:
    """Messages a second, from the first tell until the actor has handled the last."""
    before = await ref.ask(Total())
    begun = time.monotonic()
    for _ in range(messages):
        message = Add(1)
        try:
            ref.tell(message)
        except MailboxFullError:
            await ref.send(message)
    total = await ref.ask(Total())
    seconds = time.monotonic() - begun
    if total - before != messages:
        raise ValueError(f"{messages} messages were told and {total - before} arrived")
    return messages / seconds


async def asks(ref: ActorRef, times: int) -> list[float]:
    """p50 and p99 in µs of one ask after the other."""
    ages = []
    for _ in range(times + times // 10):
        begun = time.perf_counter_ns()
        await ref.ask(Total())
        ages.append(time.perf_counter_ns() - begun)
    return [float(age) for age in np.percentile(ages[times // 10 :], [50, 99]) / 1e3]


def tell_here(messages: int) -> float:
    """In one process."""

    async def run() -> float:
        async with System("here") as system:
            ref = await system.spawn(Adder, mailbox_bytes=MAILBOX_BYTES)
            await tells(ref, messages // 10)
            return await tells(ref, messages)

    return uvloop.run(run())


def serve(socket: str) -> None:
    """The other process: an adder, until its standard input ends."""

    async def run() -> None:
        async with System("there", listen=f"unix:{socket}", mailbox_bytes=MAILBOX_BYTES) as system:
            await system.spawn(Adder, name="adder", mailbox_bytes=MAILBOX_BYTES)
            await asyncio.to_thread(sys.stdin.read)

    uvloop.run(run())


def from_there(tell: int, ask: int) -> list[float]:
    """[tells a second] or [p50, p99] to an actor in another process; the one of `tell` and `ask` that is not 0."""
    with tempfile.TemporaryDirectory() as folder:
        socket = Path(folder) / "there"
        command = [
            sys.executable,
            "-c",
            f"from benchmarks.suites.actors import serve; serve({str(socket)!r})",
        ]
        with subprocess.Popen(command, stdin=subprocess.PIPE) as other:
            ends = time.monotonic() + START_SECONDS
            while not socket.exists() and other.poll() is None and time.monotonic() < ends:
                time.sleep(0.01)

            async def run() -> list[float]:
                async with System("here", mailbox_bytes=MAILBOX_BYTES) as system:
                    await system.connect(f"unix:{socket}")
                    ref = system.ref("there/adder")
                    if ask:
                        return await asks(ref, ask)
                    await tells(ref, tell // 10)
                    return [await tells(ref, tell)]

            return uvloop.run(run())


def suite(settings: Settings) -> Suite:
    here = "benchmarks.suites.actors"
    local = partial(job.call, f"{here}:tell_here", messages=settings.scale(1_000_000, 300_000))
    remote = partial(job.call, f"{here}:from_there", tell=settings.scale(500_000, 100_000), ask=0)
    asking: partial[Sequence[float]] = partial(
        job.call, f"{here}:from_there", tell=0, ask=settings.scale(10_000, 3_000)
    )
    return Suite(
        "actors",
        (
            probe("tell", "messages/s", local),
            Probe((Case("tell-ipc", "messages/s"),), remote),
            Probe((Case("ask", "µs"), Case("ask-p99", "µs")), asking),
        ),
        notes=("tell: in a process; tell-ipc and ask (round trip, one at a time): between two processes",),
    )
