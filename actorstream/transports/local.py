"""Transport `local`: all workers of the plan in one process; frames are handed over as objects, nothing is copied.

The same channels join neighbours inside a process under every other transport. It knows no processes and no memory.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, ClassVar, Protocol

from actorstream.errors import BrokenError, ClosedError
from actorstream.native.doorbell import Doorbell
from actorstream.native.memory import create_eventfd
from actorstream.transports.base import (
    DATA,
    FRONTIER_MIN,
    Channel,
    Fabric,
    Frame,
    FrameKind,
    ReceiveChannel,
    SendChannel,
    Transport,
    follows,
)
from actorstream.transports.sizing import doorbell_bits, refuse_options

END = int(FrameKind.END)


class Bell(Protocol):
    """What a channel needs of a doorbell."""

    def ring(self, bit: int) -> None: ...


class LocalQueue:
    """What the two ends of a channel share. Each word has one writer, so the ends may live in different threads.

    The sender writes sent, bytes_sent, peak, frontiers, sender_closed; the receiver bytes_taken, taken,
    receiver_closed. `wish` is set by a sender that was refused, then it looks again; a receiver clears it after it
    has made room, then rings: so no credit is lost (Dekker; the interpreter's lock orders the accesses).
    """

    __slots__ = (
        "bytes_sent",
        "bytes_taken",
        "channel",
        "frames",
        "frontiers",
        "peak",
        "receiver_bell",
        "receiver_closed",
        "sender_bell",
        "sender_closed",
        "sent",
        "taken",
        "wish",
    )

    def __init__(self, channel: Channel, sender_bell: Bell, receiver_bell: Bell) -> None:
        self.channel = channel
        self.sender_bell = sender_bell
        self.receiver_bell = receiver_bell
        self.frames: list[Frame] = []  # 700 bytes less than a deque, in each of very many channels
        self.frontiers = [FRONTIER_MIN] * channel.frontiers
        self.bytes_sent = 0
        self.bytes_taken = 0
        self.sent = 0
        self.taken = 0
        self.peak = 0
        self.wish = False
        self.sender_closed = False
        self.receiver_closed = False

    def fits(self, nbytes: int) -> bool:
        frames = self.frames
        if not frames:
            return True
        return (
            self.bytes_sent - self.bytes_taken + nbytes <= self.channel.budget
            and len(frames) < self.channel.slots
        )


class LocalSendChannel(SendChannel):
    """The producer's end of a channel inside one process."""

    def __init__(self, link: LocalQueue) -> None:
        self.channel = link.channel
        self._link = link
        self._closed = False
        self._ring = link.receiver_bell.ring
        self._bit = link.channel.receive_bit

    def send_nowait(self, frame: Frame) -> bool:
        link = self._link
        if self._closed or link.receiver_closed:
            raise self._error()
        nbytes = frame.nbytes
        if not link.fits(nbytes) and not self.admits(nbytes):
            return False
        link.bytes_sent += nbytes
        link.sent += 1
        waiting = link.bytes_sent - link.bytes_taken
        if waiting > link.peak:
            link.peak = waiting
        link.frames.append(frame)
        self._ring(self._bit)
        return True

    def send_run_nowait(self, frame: Frame, step: int) -> int:
        link = self._link
        if self._closed or link.receiver_closed:
            raise self._error()
        nbytes, frames, sequence = frame.nbytes, link.frames, frame.sequence
        first, end, made = frame.first, frame.first + frame.rows, Frame.data
        while first < end:
            left = (end - first + step - 1) // step
            room = min(link.channel.slots - len(frames), left)
            if nbytes:
                room = min(room, (link.channel.budget - link.bytes_sent + link.bytes_taken) // nbytes)
            if room <= 0:
                if not self.admits(nbytes):
                    break
                room = 1
            for _ in range(room):
                rows = min(step, end - first)
                one = made(
                    frame.payload,
                    rows,
                    first,
                    nbytes,
                    frame.schema,
                    frame.producer,
                    frame.min_entry,
                    frame.max_entry,
                    frame.began,
                )
                one.sequence = sequence
                sequence += 1
                link.bytes_sent += nbytes
                link.sent += 1
                frames.append(one)
                first += rows
        sent = first - frame.first
        frame.first, frame.rows, frame.sequence = first, end - first, sequence
        link.peak = max(link.peak, link.bytes_sent - link.bytes_taken)
        if sent:
            self._ring(self._bit)
        return sent

    def advance(self, word: int, value: int, *, ring: bool = True) -> None:
        frontiers = self._link.frontiers
        if value > frontiers[word]:
            frontiers[word] = value
            if ring:
                self._ring(self._bit)

    def admits(self, nbytes: int) -> bool:
        link = self._link
        if link.fits(nbytes):
            return True
        link.wish = True
        if not link.fits(nbytes):  # looks again: the receiver may have made room before it could see the wish
            return False
        link.wish = False
        return True

    def is_empty(self) -> bool:
        return not self._link.frames

    def statistics(self) -> dict[str, int]:
        link = self._link
        return {
            "sent": link.sent,
            "waiting": len(link.frames),
            "waiting_bytes": link.bytes_sent - link.bytes_taken,
            "loans": 0,
            "peak_bytes": link.peak,
            "sent_bytes": link.bytes_sent,
        }

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._link.sender_closed = True
            with suppress(ClosedError):  # the fabric may have gone before its ends
                self._ring(self._bit)

    def _error(self) -> Exception:
        what = f"channel {self.channel.id} from worker {self.channel.sender} to {self.channel.receiver}"
        if self._closed:
            return ClosedError(f"{what}: this sending end was closed; nothing can be sent any more")
        return BrokenError(f"{what}: the receiver has closed before the end mark")


class LocalReceiveChannel(ReceiveChannel):
    """The consumer's end of a channel inside one process."""

    def __init__(self, link: LocalQueue) -> None:
        self.channel = link.channel
        self._link = link
        self._frames = link.frames
        self._closed = False
        self._ended = False

    def peek(self, ahead: int = 0) -> Frame | None:
        frames = self._frames
        if len(frames) > ahead and not self._closed:
            return frames[ahead]
        if self._closed or (self._link.sender_closed and not self._ended and not frames):
            raise self._error()
        return None

    def consume(self) -> None:
        if self._closed:
            raise self._error()
        link = self._link
        frame = link.frames.pop(0)
        link.bytes_taken += frame.nbytes
        link.taken += 1
        if frame.kind == END:
            self._ended = True
        if link.wish:
            link.wish = False
            link.sender_bell.ring(link.channel.send_bit)

    def run(self, most: int, ahead: int = 0) -> tuple[int, int]:
        head = self.peek(ahead)
        if head is None or head.kind != DATA:
            return 0, 0
        frames = self._frames
        count, rows = 1, head.rows
        for at in range(ahead + 1, min(ahead + most, len(frames))):
            each = frames[at]
            if not follows(each, head, head.first + rows):
                break
            count += 1
            rows += each.rows
        return count, rows

    def consume_run(self, count: int) -> None:
        link, frames = self._link, self._frames
        if self._closed:
            raise self._error()
        link.bytes_taken += sum(frame.nbytes for frame in frames[:count])
        del frames[:count]
        link.taken += count
        if link.wish:
            link.wish = False
            link.sender_bell.ring(link.channel.send_bit)

    def frontier(self, word: int = 0) -> int:
        return self._link.frontiers[word]

    def waiting(self) -> int:
        return len(self._frames)

    def statistics(self) -> dict[str, int]:
        return {"received": self._link.taken, "waiting": len(self._frames), "kept": 0}

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._link.receiver_closed = True
            with suppress(ClosedError):
                self._link.sender_bell.ring(self.channel.send_bit)

    def _error(self) -> Exception:
        what = f"channel {self.channel.id} from worker {self.channel.sender} to {self.channel.receiver}"
        if self._closed:
            return ClosedError(f"{what}: this receiving end was closed; nothing can be received any more")
        return BrokenError(f"{what}: the sender has closed without an end mark")


def local_channel(
    channel: Channel, sender_bell: Bell, receiver_bell: Bell
) -> tuple[LocalSendChannel, LocalReceiveChannel]:
    """Both ends of a channel whose two replicas live in one process, whatever transport joins the processes."""
    link = LocalQueue(channel, sender_bell, receiver_bell)
    return LocalSendChannel(link), LocalReceiveChannel(link)


class LocalFabric(Fabric):
    """A doorbell for each worker and a link for each channel, as plain objects."""

    def __init__(self, workers: int, channels: list[Channel]) -> None:
        bits = doorbell_bits(channels)
        self._eventfds = [create_eventfd() for _ in range(workers)]
        self.bells = [Doorbell.create(bits, eventfd) for eventfd in self._eventfds]
        self.links = {
            channel.id: LocalQueue(channel, self.bells[channel.sender], self.bells[channel.receiver])
            for channel in channels
        }

    def close(self) -> None:
        for bell in self.bells:
            bell.close()  # first: nobody can ring any more when the number of the eventfd is free for others
        for eventfd in self._eventfds:
            os.close(eventfd)
        self.bells.clear()
        self._eventfds.clear()


class LocalTransport(Transport):
    """One worker of a process that runs them all."""

    name: ClassVar[str] = "local"
    causal: ClassVar[bool] = True
    crosses_processes: ClassVar[bool] = False

    @classmethod
    def fabric(cls, workers: int, channels: list[Channel], plan: int, **options: Any) -> LocalFabric:
        """There is one process, so `plan` has nobody to disagree with. Takes no options."""
        refuse_options(cls.name, options)
        return LocalFabric(workers, channels)

    def __init__(self, fabric: Fabric, worker: int) -> None:
        if not isinstance(fabric, LocalFabric):
            raise TypeError(f"transport 'local' needs a LocalFabric, not a {type(fabric).__name__}")
        self.worker = worker
        self._fabric = fabric
        self._bell = fabric.bells[worker]
        self._ends: list[SendChannel | ReceiveChannel] = []

    async def start(self) -> None:
        """Nothing to connect: both ends of every channel are here."""

    @property
    def doorbell(self) -> Doorbell:
        return self._bell

    @property
    def arena(self) -> None:
        return None

    def sender(self, channel: Channel) -> LocalSendChannel:
        end = LocalSendChannel(self._fabric.links[channel.id])
        self._ends.append(end)
        return end

    def receiver(self, channel: Channel) -> LocalReceiveChannel:
        end = LocalReceiveChannel(self._fabric.links[channel.id])
        self._ends.append(end)
        return end

    async def close(self) -> None:
        """Closes every end that this worker opened; what waits in the channels stays with the other workers."""
        for end in self._ends:
            end.close()
        self._ends.clear()
