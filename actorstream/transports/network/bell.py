"""A worker's doorbell over a network: whoever looks at it also takes in what has come.

A socket has no bits. So `collect`, `wait` and `park` read the network first, on the worker's loop thread, and what is
read rings the bits. A parked worker sleeps in its event loop, which watches the transport's descriptor or timer. Where the
network has a descriptor, `wait` and `spin` look at it in C, and let the network's threads run between two looks.
"""

from __future__ import annotations

from os import sched_yield
from time import monotonic_ns
from typing import Protocol

from actorstream.native.doorbell import Doorbell


class Reader(Protocol):
    """Takes in what has come over the network, and never waits.

    `poll` takes in all, or much. `first` takes in one packet, for a worker that has waited and looks for more once it has dealt
    with the packet; it returns what the packet rings. `rest` is called before a worker sleeps, and takes in whatever would not
    wake it."""

    def poll(self) -> None: ...
    def first(self) -> list[int]: ...
    def rest(self) -> None: ...


class PolledDoorbell(Doorbell):
    """A doorbell that reads the network before it says that nothing rang."""

    __slots__ = ("descriptor", "reader")

    reader: Reader
    descriptor: int | None
    """Readable once something has come over the network; None: there is none, so `wait` looks again and again."""

    @classmethod
    def polling(cls, bits: int, eventfd: int, reader: Reader, descriptor: int | None) -> PolledDoorbell:
        """A doorbell of this process alone."""
        made = cls.create(bits, eventfd)
        assert isinstance(made, PolledDoorbell)
        made.reader, made.descriptor = reader, descriptor
        return made

    @classmethod
    def over(cls, bell: Doorbell, offset: int, reader: Reader) -> PolledDoorbell:
        """One that rings where `bell` does, in the same memory at `offset`."""
        made = cls(bell.memory, offset, bell.bits, bell.eventfd)
        made.reader, made.descriptor = reader, None  # memory that is shared needs no thread: it is looked at
        return made

    def collect(self) -> list[int]:
        self.reader.poll()
        return super().collect()

    def wait(self, ns: int) -> list[int]:
        """Waits for up to `ns` nanoseconds until something has rung."""
        if self.descriptor is not None:
            self.reader.rest()
            return self.reader.first() if self.look(self.descriptor, ns) else super().collect()
        end = monotonic_ns() + ns
        while not (rung := self.collect()) and monotonic_ns() < end:
            sched_yield()  # a peer that has no core of its own could not send
        return rung

    def spin(self, ns: int) -> bool:
        if self.descriptor is not None:
            self.reader.rest()
            if self.look(self.descriptor, ns):
                self.reader.poll()
            return self.pending()
        end = monotonic_ns() + ns
        self.reader.poll()
        while not self.pending() and monotonic_ns() < end:
            sched_yield()
            self.reader.poll()
        return self.pending()

    def park(self) -> bool:
        self.reader.rest()
        return super().park()
