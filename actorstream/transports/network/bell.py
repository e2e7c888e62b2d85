"""A worker's doorbell over a network: whoever looks at it also takes in what has come.

A socket has no bits. So `collect`, `wait` and `park` read the network first, on the worker's loop thread, and what is
read rings the bits. A parked worker sleeps in its event loop, which watches the transport's descriptor or timer.
"""

from __future__ import annotations

from os import sched_yield
from time import monotonic_ns
from typing import TYPE_CHECKING, Protocol

from actorstream.native.doorbell import Doorbell

if TYPE_CHECKING:
    from actorstream.transports.network.link import Port


class Reader(Protocol):
    """Takes in what has come over the network by its `port`, and never waits.

    `poll` takes in all, or much. `first` takes in one packet, for a worker that has waited and looks for more once it has dealt
    with the packet; it returns what the packet rings. `rest` is called before a worker waits, and takes in whatever neither the
    port's `look` nor the event loop would notice."""

    port: Port

    def poll(self) -> None: ...
    def first(self) -> list[int]: ...
    def rest(self) -> None: ...


class PolledDoorbell(Doorbell):
    """A doorbell that reads the network before it says that nothing rang."""

    __slots__ = ("reader",)

    reader: Reader

    @classmethod
    def polling(cls, bits: int, eventfd: int, reader: Reader) -> PolledDoorbell:
        """A doorbell of this process alone."""
        made = cls.create(bits, eventfd)
        assert isinstance(made, PolledDoorbell)
        made.reader = reader
        return made

    @classmethod
    def over(cls, bell: Doorbell, offset: int, reader: Reader) -> PolledDoorbell:
        """One that rings where `bell` does, in the same memory at `offset`."""
        made = cls(bell.memory, offset, bell.bits, bell.eventfd)
        made.reader = reader
        return made

    def collect(self) -> list[int]:
        self.reader.poll()
        return super().collect()

    def wait(self, ns: int) -> list[int]:
        """Waits for up to `ns` nanoseconds until something has rung."""
        self.reader.rest()
        come = self.reader.port.look(self, ns)
        if come is not None:
            return self.reader.first() if come else super().collect()
        end = monotonic_ns() + ns
        while not (rung := self.collect()) and monotonic_ns() < end:
            sched_yield()  # a peer that has no core of its own could not send
        return rung

    def park(self) -> bool:
        self.reader.rest()
        return super().park()
