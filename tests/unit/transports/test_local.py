"""The local transport beyond the common rules: objects by reference, ends without a fabric, threads."""

from __future__ import annotations

import threading

import pytest

from actorstream.errors import ConfigurationError
from actorstream.transports.base import Channel, Frame, FrameKind
from actorstream.transports.local import LocalFabric, LocalTransport, local_channel


class Rings:
    """Counts rings; all that a channel needs of a doorbell."""

    def __init__(self) -> None:
        self.bits: list[int] = []
        self.rung = threading.Semaphore(0)

    def ring(self, bit: int) -> None:
        self.bits.append(bit)
        self.rung.release()


def test_frames_and_payloads_are_handed_over_as_the_objects_they_are() -> None:
    bell = Rings()
    sender, receiver = local_channel(Channel(0, 0, 0, 1, 2), bell, bell)
    payload = object()
    frame = Frame(FrameKind.DATA, payload, rows=1, nbytes=8)
    assert sender.send_nowait(frame)
    assert receiver.peek() is frame
    assert frame.payload is payload
    assert bell.bits == [2]


def test_credit_rings_only_a_sender_that_was_refused() -> None:
    bell = Rings()
    sender, receiver = local_channel(Channel(0, 0, 0, 1, 2, slots=1), bell, bell)
    sender.send_nowait(Frame(FrameKind.DATA))
    receiver.consume()
    sender.send_nowait(Frame(FrameKind.DATA))
    assert not sender.send_nowait(Frame(FrameKind.DATA))
    receiver.consume()
    assert bell.bits == [2, 2, 1]


def test_two_threads_hand_over_every_frame_without_losing_a_wake_up() -> None:
    sender_bell, receiver_bell = Rings(), Rings()
    sender, receiver = local_channel(Channel(0, 0, 0, 0, 0, slots=3, budget=50), sender_bell, receiver_bell)
    frames = [Frame(FrameKind.DATA, number, nbytes=number % 30) for number in range(5000)]

    def produce() -> None:
        for frame in frames:
            while not sender.send_nowait(frame):
                assert sender_bell.rung.acquire(timeout=20)

    producer = threading.Thread(target=produce)
    producer.start()
    seen = []
    while len(seen) < len(frames):
        frame = receiver.peek()
        if frame is None:
            assert receiver_bell.rung.acquire(timeout=20)
            continue
        seen.append(frame.payload)
        receiver.consume()
    producer.join()
    assert seen == list(range(5000))


def test_ends_can_be_closed_after_their_fabric() -> None:
    channel = Channel(0, 0, 1, 0, 0)
    fabric = LocalTransport.fabric(2, [channel], 1)
    sender = LocalTransport(fabric, 0).sender(channel)
    receiver = LocalTransport(fabric, 1).receiver(channel)
    fabric.close()
    sender.close()
    receiver.close()
    assert sender.statistics()["sent"] == 0


def test_an_option_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="arena_bytes"):
        LocalTransport.fabric(1, [], 1, arena_bytes=5)


def test_a_fabric_of_another_transport_is_refused() -> None:
    from actorstream.transports.shm import ShmTransport

    fabric = LocalFabric(1, [])
    with pytest.raises(TypeError, match="LocalFabric"):
        ShmTransport(fabric, 0)
    fabric.close()
