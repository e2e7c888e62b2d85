"""How a process is told that something of its was published: a bitmap in shared memory and one eventfd."""

from __future__ import annotations

from typing import Any

from actorstream.errors import ClosedError, ConfigurationError
from actorstream.native._core import ffi, lib
from actorstream.native.memory import ControlMemory
from actorstream.native.status import opened, raise_status

_ring = lib.as_doorbell_ring
_collect = lib.as_doorbell_collect
_pending = lib.as_doorbell_pending
_wait = lib.as_doorbell_wait
_park = lib.as_doorbell_park
_unpark = lib.as_doorbell_unpark
_look = lib.as_doorbell_look


class Doorbell:
    """One process's doorbell as this process sees it. `ring` is for anyone; the rest is for its owner's loop
    thread.

    The owner's loop: `collect` the bits that rang, work on them, and when nothing is left `park`; if that
    answers True, sleep until `eventfd` is readable, then `unpark`."""

    __slots__ = ("_bell", "bits", "eventfd", "memory", "most", "out")

    @staticmethod
    def size(bits: int) -> int:
        """Bytes of control memory that a doorbell of `bits` bits takes."""
        return int(lib.as_doorbell_size(bits))

    @staticmethod
    def lay_out(memory: ControlMemory, offset: int, bits: int) -> None:
        """Makes a doorbell at `offset`. Once, before anyone opens it. ValueError: no bits, or a bad
        offset."""
        code = lib.as_doorbell_init(memory.pointer(offset), bits)
        if code != lib.AS_OK:
            raise_status(code, f"doorbell of {bits} bits at offset {offset}")

    @classmethod
    def create(cls, bits: int, eventfd: int) -> Doorbell:
        """A doorbell in control memory of its own, e.g. for the threads of one process."""
        memory = ControlMemory(cls.size(bits), name="actorstream-doorbell")
        memory.close()
        cls.lay_out(memory, 0, bits)
        return cls(memory, 0, bits, eventfd)

    def __init__(self, memory: ControlMemory, offset: int, bits: int, eventfd: int) -> None:
        """Opens the doorbell at `offset`; `eventfd` is the owner's, and stays the caller's to close."""
        handle = opened(lib.as_doorbell_open(memory.pointer(offset), eventfd), f"doorbell at offset {offset}")
        self._bell = ffi.gc(handle, lib.as_doorbell_close)
        self.memory = memory
        self.bits = bits
        self.most = min(bits, 4096)
        self.out = ffi.new("uint32_t[]", self.most)
        self.eventfd = eventfd

    @property
    def handle(self) -> Any:
        """What the core's functions take. ClosedError after `close`."""
        if self._bell is None:
            raise ClosedError("this doorbell was closed")
        return self._bell

    def listed(self, count: int) -> list[int]:
        """The first bits that a function of the core has listed in `out`."""
        return ffi.unpack(self.out, count)  # type: ignore[no-any-return]

    def require(self, bit: int, whose: str) -> None:
        """ConfigurationError: this doorbell has no such bit, so ringing it would wake nobody. `whose`: for the message."""
        if not 0 <= bit < self.bits:
            raise ConfigurationError(
                f"{whose}: doorbell bit {bit} is not one of its worker's doorbell; allowed: 0 to {self.bits - 1}; start all "
                "workers from the same plan"
            )

    def ring(self, bit: int) -> None:
        """Sets `bit`, and wakes the owner if it sleeps. From any thread and process."""
        _ring(self._bell or self.handle, bit)

    def collect(self) -> list[int]:
        """The bits that rang, cleared. Whatever was published before a ring is visible afterwards."""
        count = _collect(self._bell or self.handle, self.out, self.most)
        return ffi.unpack(self.out, count) if count else []

    def pending(self) -> bool:
        """Whether a bit is set."""
        return bool(_pending(self._bell or self.handle))

    def wait(self, ns: int) -> list[int]:
        """Spins without the GIL, up to `ns` nanoseconds, until something rings; then as `collect`."""
        count = _wait(self._bell or self.handle, ns, self.out, self.most)
        if count == 1:
            return [self.out[0]]
        return ffi.unpack(self.out, count) if count else []

    def park(self) -> bool:
        """True: the next ring will write the eventfd, so sleep on it now. False: something has rung, do
        not sleep."""
        return bool(_park(self._bell or self.handle) == 0)

    def unpark(self) -> None:
        """After waking, for whatever reason: rings need not write the eventfd any more; empties it."""
        _unpark(self._bell or self.handle)

    def look(self, descriptor: int, ns: int) -> bool:
        """Looks without the GIL, up to `ns` nanoseconds, whether `descriptor` is readable. False: no, or something has rung."""
        return bool(_look(self._bell or self.handle, descriptor, ns) == 0)

    def close(self) -> None:
        """Gives the handle up. Rings over which this doorbell is rung keep it until they are closed."""
        self._bell = None
