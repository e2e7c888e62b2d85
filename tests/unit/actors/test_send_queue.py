from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actorstream.actors import ActorRef, System
from actorstream.actors.actor import Actor
from actorstream.actors.send_queue import SendQueue
from actorstream.actors.wire import DefineType, FrameKind, FrameReader, read_control
from actorstream.errors import ActorError


class Note(msgspec.Struct):
    text: str


class Invitation(msgspec.Struct):
    host: ActorRef


def outbox(limit: int = 1000) -> SendQueue:
    box = SendQueue()
    box.limit = limit
    return box


def frames(box: SendQueue) -> list[Any]:
    return [(*rest, bytes(body)) for *rest, body in FrameReader().feed(bytes(box.take()))]


def test_a_class_is_defined_before_its_first_message_and_only_then() -> None:
    box = outbox()
    for text in ("a", "b"):
        box.encode(FrameKind.TELL, 5, 0, Note(text))
    (control, *_, define), first, second = frames(box)
    assert control == FrameKind.CONTROL
    message = read_control(define)
    assert isinstance(message, DefineType)
    assert message.name == f"{__name__}:Note"
    assert first == (FrameKind.TELL, message.number, 5, 0, msgspec.msgpack.encode(Note("a")))
    assert second[4] == msgspec.msgpack.encode(Note("b"))
    assert frames(box) == []


def test_a_frame_can_be_taken_back_and_its_class_stays_defined() -> None:
    box = outbox()
    start = box.encode(FrameKind.TELL, 5, 0, Note("a"))
    assert len(box.cut(start)) > 16
    assert [frame[0] for frame in frames(box)] == [FrameKind.CONTROL]
    box.encode(FrameKind.TELL, 5, 0, Note("b"))
    assert [frame[0] for frame in frames(box)] == [FrameKind.TELL]


@pytest.mark.parametrize("message", [object(), 2**70, Note(object()), [object()], Note("x" * 2000)])  # type: ignore[arg-type]
def test_what_cannot_travel_leaves_nothing_behind(message: Any) -> None:
    box = outbox()
    with pytest.raises(ActorError):
        box.encode(FrameKind.TELL, 5, 0, message)
    assert not [frame for frame in frames(box) if frame[0] == FrameKind.TELL]


async def test_refs_travel_as_addresses_alone_and_in_fields() -> None:
    async with System("town") as system:
        ref = await system.spawn(Actor, name="baker")
        box = outbox()
        box.encode(FrameKind.TELL, 5, 0, ref)
        box.encode(FrameKind.TELL, 5, 0, Invitation(ref))
        bodies = [frame[4] for frame in frames(box) if frame[0] == FrameKind.TELL]
        assert [msgspec.msgpack.decode(body) for body in bodies] == ["town/baker", {"host": "town/baker"}]
