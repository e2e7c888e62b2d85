"""Links between processes: what is said arrives in its order, short messages in the ring's own entries."""

from __future__ import annotations

import random
from typing import Any

import msgspec

from actorstream.dgs.worker import Promise, StateUp
from actorstream.runtime.dependency.links import SHORT, TreeReceiver, TreeSender
from actorstream.runtime.dependency.messages import Codec
from actorstream.transports.base import Channel
from actorstream.transports.shm import ShmTransport

CHANNEL = Channel(0, 0, 1, 0, 0, slots=4, budget=1 << 12)


class State(msgspec.Struct):
    text: str = ""


def test_messages_of_any_length_arrive_in_their_order() -> None:
    fabric = ShmTransport.fabric(2, [CHANNEL], 77)
    above, below = ShmTransport(fabric, 0), ShmTransport(fabric, 1)
    out, into = above.sender(CHANNEL), below.receiver(CHANNEL)
    assert above.arena is not None
    sender = TreeSender(out, above.arena, Codec(Any, "program, w1"))
    receiver = TreeReceiver(into, Codec(State, "program, w1"))
    chance = random.Random(5)
    said: list[Any] = []
    heard: list[Any] = []
    for number in range(400):
        message: Any = StateUp(State("x" * chance.choice([0, 3, SHORT - 10, SHORT, 1000])), number)
        if chance.random() < 0.3:
            message = Promise(number, number)
        said.append(message)
        sender.say([message])
        if chance.random() < 0.7:
            sender.flush()
        if chance.random() < 0.5:
            heard += receiver.take()
    while not sender.flush():
        heard += receiver.take()
    heard += receiver.take()
    into.close()
    out.close()
    fabric.close()
    assert heard == said
