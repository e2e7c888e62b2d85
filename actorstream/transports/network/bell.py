"""A worker's doorbell over a network: whoever looks at it also takes in what has come.

A socket has no bits. So `collect`, `wait` and `park` read the network first, on the worker's loop thread, and what is
read rings the bits. A parked worker sleeps in its event loop, which watches the transport's descriptor or timer. Where the
network has a descriptor, `wait` and `spin` sleep on it: a loop in Python would take the core that its threads need.
"""

from __future__ import annotations

from collections.abc import Callable
from os import sched_yield
from select import select
from time import monotonic_ns

from actorstream.native.doorbell import Doorbell

MOST_SELECTED = 1024
"""select takes descriptors below it; it takes microseconds, which poll does not."""


class PolledDoorbell(Doorbell):
    """A doorbell that reads the network before it says that nothing rang."""

    __slots__ = ("poll", "sleeps_on")

    poll: Callable[[], None]
    sleeps_on: tuple[int, ...]
    """Descriptors of the network and of the rings; none: `wait` looks again and again."""

    @classmethod
    def polling(
        cls, bits: int, eventfd: int, poll: Callable[[], None], descriptor: int | None
    ) -> PolledDoorbell:
        """A doorbell of this process alone. `poll` takes in what has come; it must not wait. `descriptor` is readable once
        something has come; None: there is none."""
        made = cls.create(bits, eventfd)
        assert isinstance(made, PolledDoorbell)
        made.poll = poll
        found = (eventfd, descriptor) if descriptor is not None else ()
        made.sleeps_on = found if max(found, default=0) < MOST_SELECTED else ()
        return made

    @classmethod
    def over(cls, bell: Doorbell, offset: int, poll: Callable[[], None]) -> PolledDoorbell:
        """One that rings where `bell` does, in the same memory at `offset`."""
        made = cls(bell.memory, offset, bell.bits, bell.eventfd)
        made.poll, made.sleeps_on = poll, ()  # memory that is shared needs no thread: it is looked at
        return made

    def collect(self) -> list[int]:
        self.poll()
        return super().collect()

    def wait(self, ns: int) -> list[int]:
        """Waits for up to `ns` nanoseconds until something has rung."""
        if self.sleeps_on:
            if self._sleep(ns):
                return super().collect()
            return self.collect()
        end = monotonic_ns() + ns
        while not (rung := self.collect()) and monotonic_ns() < end:
            sched_yield()  # a peer that has no core of its own could not send
        return rung

    def _sleep(self, ns: int) -> bool:
        """Sleeps for up to `ns` nanoseconds, unless something has rung already: then it returns True."""
        if not self.park():
            return True
        select(self.sleeps_on, (), (), ns / 1e9)
        self.unpark()
        return False

    def spin(self, ns: int) -> bool:
        if self.sleeps_on:
            if not self._sleep(ns):
                self.poll()
            return self.pending()
        end = monotonic_ns() + ns
        self.poll()
        while not self.pending() and monotonic_ns() < end:
            sched_yield()
            self.poll()
        return self.pending()

    def park(self) -> bool:
        self.poll()
        return super().park()
