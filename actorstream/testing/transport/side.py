"""One worker's side of a transport under test: its transport, its channel ends, and waiting for the doorbell only.

A side never polls: a condition is looked at again when the doorbell rang, so a lost ring shows as a missed deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from actorstream.errors import BrokenError
from actorstream.transports.base import Channel, Fabric, Frame, ReceiveChannel, SendChannel, Transport

Result = TypeVar("Result")
PLAN = 0x5EED_1234_ABCD_0001
"""Plan fingerprint of every fabric that the suite makes."""


class CheckFailed(AssertionError):
    """A transport broke a rule of `actorstream.transports.base`; says which check, way, worker and what was seen."""


def expect(true: object, what: str) -> None:
    """Fails the running check with `what` unless `true`."""
    if not true:
        raise CheckFailed(what)


class Side:
    """What a role of a check works with. `channels` are the check's, in the order in which it lists them."""

    def __init__(
        self,
        transport_class: type[Transport],
        fabric: Fabric,
        worker: int,
        channels: list[Channel],
        *,
        deadline: float,
    ) -> None:
        self.transport = transport_class(fabric, worker)
        self.worker = worker
        self.channels = channels
        self.deadline = deadline
        self.rung: set[int] = set()
        """Bits that rang; a role takes out the ones that it has looked after."""
        self._senders: dict[int, SendChannel] = {}
        self._receivers: dict[int, ReceiveChannel] = {}

    def sender(self, index: int = 0) -> SendChannel:
        """The sending end of channel `index`, opened on first use."""
        if index not in self._senders:
            self._senders[index] = self.transport.sender(self.channels[index])
        return self._senders[index]

    def receiver(self, index: int = 0) -> ReceiveChannel:
        """The receiving end of channel `index`, opened on first use."""
        if index not in self._receivers:
            self._receivers[index] = self.transport.receiver(self.channels[index])
        return self._receivers[index]

    async def until(self, condition: Callable[[], Result | None], what: str) -> Result:
        """The first true answer of `condition`, asked again each time the doorbell rang."""
        while True:
            if value := condition():
                return value
            await self._ring(what)

    async def send(self, frame: Frame, index: int = 0) -> None:
        """Sends, waiting for credit as a producer does: for the ring of its send bit."""
        end = self.sender(index)

        def attempt() -> bool:
            end.poll()
            return end.send_nowait(frame)

        await self.until(attempt, f"credit for {frame!r} on channel {index}")

    async def receive(self, index: int = 0) -> Frame:
        """The next frame, consumed."""
        end = self.receiver(index)
        frame = await self.until(end.peek, f"a frame on channel {index}")
        end.consume()
        return frame

    async def broken(self, action: Callable[[], object], what: str) -> str:
        """Repeats `action` at every ring until it raises BrokenError; answers its message."""
        message = ""

        def attempt() -> bool:
            nonlocal message
            try:
                action()
            except BrokenError as error:
                message = str(error)
                return True
            return False

        await self.until(attempt, f"BrokenError from {what}")
        return message

    def collected(self, index: int = 0) -> None:
        """Expects that every loan of channel `index` has come back; call it after the receiver said that it let go."""
        end = self.sender(index)
        end.poll()
        loans = end.statistics()["loans"]
        expect(loans == 0, f"{loans} loans are still out although the receiver dropped every view")

    async def _ring(self, what: str) -> None:
        bell = self.transport.doorbell
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self.deadline):
                while not (bits := bell.collect()):
                    if not bell.park():
                        continue
                    woken: asyncio.Future[None] = loop.create_future()
                    loop.add_reader(bell.eventfd, _wake, woken)
                    try:
                        await woken
                    finally:
                        loop.remove_reader(bell.eventfd)
                        bell.unpark()
        except TimeoutError:
            raise CheckFailed(f"worker {self.worker} waited {self.deadline:g} s for {what}") from None
        self.rung.update(bits)


def _wake(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
