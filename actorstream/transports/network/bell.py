"""A worker's doorbell over a network: whoever looks at it also takes in what has come.

A socket has no bits. So `collect`, `wait` and `park` read the network first, on the worker's loop thread, and what is
read rings the bits. A parked worker sleeps in its event loop, which watches the transport's descriptor or timer.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic_ns

from actorstream.native.doorbell import Doorbell


class PolledDoorbell(Doorbell):
    """A doorbell that reads the network before it says that nothing rang."""

    __slots__ = ("poll",)

    poll: Callable[[], None]

    @classmethod
    def polling(cls, bits: int, eventfd: int, poll: Callable[[], None]) -> PolledDoorbell:
        """A doorbell of this process alone. `poll` takes in what has come; it must not wait."""
        made = cls.create(bits, eventfd)
        assert isinstance(made, PolledDoorbell)
        made.poll = poll
        return made

    @classmethod
    def over(cls, bell: Doorbell, offset: int, poll: Callable[[], None]) -> PolledDoorbell:
        """One that rings where `bell` does, in the same memory at `offset`."""
        made = cls(bell.memory, offset, bell.bits, bell.eventfd)
        made.poll = poll
        return made

    def collect(self) -> list[int]:
        self.poll()
        return super().collect()

    def wait(self, ns: int) -> list[int]:
        """Reads the network again and again, for up to `ns` nanoseconds."""
        end = monotonic_ns() + ns
        while not (rung := self.collect()) and monotonic_ns() < end:
            pass
        return rung

    def spin(self, ns: int) -> bool:
        end = monotonic_ns() + ns
        self.poll()
        while not self.pending() and monotonic_ns() < end:
            self.poll()
        return self.pending()

    def park(self) -> bool:
        self.poll()
        return super().park()
