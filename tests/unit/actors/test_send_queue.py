from __future__ import annotations

from typing import Any

import msgspec
import pytest

from actorstream.actors import ActorRef, System
from actorstream.actors.actor import Actor
from actorstream.actors.failure import Failure
from actorstream.actors.send_queue import SendQueue
from actorstream.actors.wire import ActorFrameKind, DefineType, FrameReader, read_control
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
        box.encode(ActorFrameKind.TELL, 5, 0, Note(text))
    (control, *_, define), first, second = frames(box)
    assert control == ActorFrameKind.CONTROL
    message = read_control(define)
    assert isinstance(message, DefineType)
    assert message.name == f"{__name__}:Note"
    assert first == (ActorFrameKind.TELL, message.number, 5, 0, msgspec.msgpack.encode(Note("a")))
    assert second[4] == msgspec.msgpack.encode(Note("b"))
    assert frames(box) == []


def test_a_frame_can_be_taken_back_and_its_class_stays_defined() -> None:
    box = outbox()
    start = box.encode(ActorFrameKind.TELL, 5, 0, Note("a"))
    assert len(box.cut(start)) > 16
    assert [frame[0] for frame in frames(box)] == [ActorFrameKind.CONTROL]
    box.encode(ActorFrameKind.TELL, 5, 0, Note("b"))
    assert [frame[0] for frame in frames(box)] == [ActorFrameKind.TELL]


@pytest.mark.parametrize("message", [object(), 2**70, Note(object()), [object()], Note("x" * 2000)])  # type: ignore[arg-type]
def test_what_cannot_travel_leaves_nothing_behind(message: Any) -> None:
    box = outbox()
    with pytest.raises(ActorError):
        box.encode(ActorFrameKind.TELL, 5, 0, message)
    assert not [frame for frame in frames(box) if frame[0] == ActorFrameKind.TELL]


async def test_refs_travel_as_addresses_alone_and_in_fields() -> None:
    async with System("town") as system:
        ref = await system.spawn(Actor, name="baker")
        box = outbox()
        box.encode(ActorFrameKind.TELL, 5, 0, ref)
        box.encode(ActorFrameKind.TELL, 5, 0, Invitation(ref))
        bodies = [frame[4] for frame in frames(box) if frame[0] == ActorFrameKind.TELL]
        assert [msgspec.msgpack.decode(body) for body in bodies] == ["town/baker", {"host": "town/baker"}]


@pytest.mark.parametrize(
    "limit, failure, told",
    [
        (1000, Failure("a:B", "boom", ["boom", 7], {"line": 3}, "trace", "far/r"), None),
        (3000, Failure("a:B", "x" * 9999, ["x" * 9999], {}, "trace", "far/r"), "x" * 1024),
        (2000, Failure("a:B", "boom", ["boom"], {}, "t" * 9999, "far/r"), "boom"),
        (2000, Failure("a:B", "boom", [object()], {}, "trace", "far/r"), "boom"),
        (100, Failure("a:B", "x" * 200, [], {}, "trace", "far/r"), ""),
    ],
)
def test_a_failure_that_the_peer_does_not_take_is_told_in_short(
    limit: int, failure: Failure, told: str | None
) -> None:
    box = outbox(limit)
    box.failure(7, failure)
    box.stop(5, 8)
    (*error, body), stop = frames(box)
    assert (error, stop[0]) == ([ActorFrameKind.ERROR, 0, 0, 7], ActorFrameKind.STOP)
    found = msgspec.msgpack.decode(body, type=Failure)
    assert found.text == (failure.text if told is None else told)
    assert (found == failure) is (told is None)
