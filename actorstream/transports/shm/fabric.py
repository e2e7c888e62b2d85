"""What the workers of a run share on one host: control memory, an arena each, an eventfd each. No names, only memfds.

Made before the workers are started; forks inherit it, others are handed the descriptors. It opens no end and allocates no block.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence

import msgspec
import numpy as np

from actorstream.errors import ConfigurationError
from actorstream.native.channel import lay_out_channel
from actorstream.native.doorbell import Doorbell
from actorstream.native.line import CacheLine
from actorstream.native.memory import ControlMemory, create_eventfd, create_memfd
from actorstream.transports.base import Channel, Fabric, HandedOver
from actorstream.transports.shm.layout import HEADER, MAGIC, VERSION, ControlLayout
from actorstream.transports.shm.limits import Limits, arena_limit
from actorstream.transports.shm.retired import sweep
from actorstream.transports.sizing import doorbell_bits

MASK = 2**64 - 1
MOST_WORKERS_BITS = 12


class _Kept(msgspec.Struct):
    """What of a fabric its plan and its memory do not say."""

    arena_base: int
    arena_limit: int
    commit_step: int
    huge_pages: bool


class ShmFabric(Fabric):
    """Control memory with a doorbell a worker and a ring a channel, and an empty arena a worker that uses it.

    Attributes:
        arena_limit: address space of each arena in bytes; memory is committed as blocks need it.
        arena_ids: of all workers' arenas; blocks in them can be forwarded by reference.
        eventfds, arena_fds: by worker.
    """

    def __init__(
        self,
        workers: int,
        channels: list[Channel],
        plan: int,
        *,
        arena_bytes: int | None = None,
        commit_step: int = 0,
        huge_pages: bool = False,
        bits: int | None = None,
        here: Sequence[int] | None = None,
    ) -> None:
        """Raises ResourceError when a limit of the machine is too small. `arena_bytes` overrides the arenas' size. `bits`: of
        each doorbell, if it rings for other channels than these, too. `here`: the workers that use it; None: all."""
        self.workers = workers
        self.channels = {channel.id: channel for channel in channels}
        self.plan = plan & MASK
        self._arena_base = secrets.randbits(20) << MOST_WORKERS_BITS
        self.arena_ids = frozenset(self.arena_id(worker) for worker in range(workers))
        self.commit_step = commit_step
        self.huge_pages = huge_pages
        self.layout = ControlLayout.of(workers, channels, bits or doorbell_bits(channels))
        budgets = [0] * workers
        for channel in channels:
            budgets[channel.sender] += channel.budget
        here = range(workers) if here is None else here
        limit = arena_limit(Limits.read(), len(here), budgets, self.layout.size)
        self.arena_limit = limit if arena_bytes is None else arena_bytes
        self.eventfds: dict[int, int] = {}
        self.arena_fds: dict[int, int] = {}
        self.control = ControlMemory(self.layout.size, name="actorstream-control")
        try:
            self._lay_out(channels)
            for worker in here:
                self.eventfds[worker] = create_eventfd()
                self.arena_fds[worker] = create_memfd(self.arena_name(worker), self.arena_limit)
        except BaseException:
            self.close()
            raise

    def hand_over(self) -> HandedOver:
        """The descriptors are those of the control memory, the eventfds and the arenas."""
        kept = _Kept(self._arena_base, self.arena_limit, self.commit_step, self.huge_pages)
        descriptors = [self.control.fd, *self.eventfds.values(), *self.arena_fds.values()]
        return HandedOver(msgspec.msgpack.encode(kept), descriptors)

    @classmethod
    def taken_over(
        cls,
        workers: int,
        channels: list[Channel],
        plan: int,
        handed: HandedOver,
        bits: int | None = None,
        here: Sequence[int] | None = None,
    ) -> ShmFabric:
        """The fabric that another process has made with these arguments. ConfigurationError: it was made with others."""
        kept = msgspec.msgpack.decode(handed.description, type=_Kept)
        control, *fds = handed.descriptors
        self = cls.__new__(cls)
        self.workers, self.channels = workers, {channel.id: channel for channel in channels}
        self.plan = plan & MASK
        self._arena_base, self.arena_limit = kept.arena_base, kept.arena_limit
        self.commit_step, self.huge_pages = kept.commit_step, kept.huge_pages
        self.arena_ids = frozenset(self.arena_id(worker) for worker in range(workers))
        self.layout = ControlLayout.of(workers, channels, bits or doorbell_bits(channels))
        here = range(workers) if here is None else here
        count = len(here)
        size = os.fstat(control).st_size
        if size != self.layout.size or len(fds) != 2 * count:
            raise ConfigurationError(
                f"the fabric that was handed over has {size} bytes of control memory and {len(fds)} descriptors, and "
                f"this plan needs {self.layout.size} and {2 * count}; start all workers from the same plan"
            )
        self.eventfds, self.arena_fds = dict(zip(here, fds[:count])), dict(zip(here, fds[count:]))
        self.control = ControlMemory(size, fd=control)
        return self

    def _lay_out(self, channels: list[Channel]) -> None:
        layout, control = self.layout, self.control
        for bell in layout.bells:
            Doorbell.lay_out(control, bell, layout.bits)
        for channel in channels:
            place = layout.channels[channel.id]
            lay_out_channel(control, place.ring, place.slots, place.returns, place.frontiers, self.plan)
        header = HEADER.pack(MAGIC, VERSION, self.workers, len(channels), self.plan, layout.size)
        control.words(0, len(header), np.uint8)[:] = np.frombuffer(header, np.uint8)

    def arena_id(self, worker: int) -> int:
        """Id of a worker's arena: unlike those of any other fabric, so that a foreign block is told from ours."""
        return self._arena_base + worker

    def arena_name(self, worker: int) -> str:
        """What /proc calls a worker's arena; nothing is ever opened by it."""
        return f"actorstream-arena-{self.arena_id(worker):x}"

    def worker_of(self, arena_id: int) -> int:
        """The worker that owns one of this fabric's arenas."""
        return arena_id - self._arena_base

    def header(self) -> tuple[int, ...]:
        """magic, version, workers, channels, plan, size: as they stand in the shared memory."""
        return HEADER.unpack(self.control.words(0, HEADER.size, np.uint8).tobytes())

    def line(self, offset: int) -> CacheLine:
        """A worker's or channel's line."""
        return CacheLine(self.control, offset)

    def close(self) -> None:
        """Closes this process's descriptors. Mappings go with their last user."""
        sweep()
        self.control.close()
        for fd in (*self.eventfds.values(), *self.arena_fds.values()):
            os.close(fd)
        self.eventfds.clear()
        self.arena_fds.clear()
