"""The conformance suite finds transports that break a rule: each mutant of `local` here fails the check it should."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from actorstream.testing import CheckFailed, check_transport
from actorstream.testing.transport import CHECKS, TransportCase, Way
from actorstream.transports.base import Channel, Frame, FrameKind, SendChannel
from actorstream.transports.local import LocalReceiveChannel, LocalSendChannel, LocalTransport


class Mutant(LocalTransport):
    """A local transport whose ends are replaced."""

    send_end: ClassVar[type[LocalSendChannel]] = LocalSendChannel
    receive_end: ClassVar[type[LocalReceiveChannel]] = LocalReceiveChannel

    def sender(self, channel: Channel) -> LocalSendChannel:
        end = self.send_end(self._fabric.links[channel.id])
        self._ends.append(end)
        return end

    def receiver(self, channel: Channel) -> LocalReceiveChannel:
        end = self.receive_end(self._fabric.links[channel.id])
        self._ends.append(end)
        return end


def mutant(sends: dict[str, Any] | None = None, receives: dict[str, Any] | None = None) -> type[Mutant]:
    """A transport whose ends differ from local's in the given methods."""
    members = {
        "send_end": type("MutantSend", (LocalSendChannel,), sends or {}),
        "receive_end": type("MutantReceive", (LocalReceiveChannel,), receives or {}),
    }
    return type("Mutated", (Mutant,), members)


def lose_a_frame(self: SendChannel, frame: Frame) -> bool:
    if frame.kind == FrameKind.DATA and frame.sequence == 17:
        return True
    return LocalSendChannel.send_nowait(self, frame)  # type: ignore[arg-type]


def double_a_frame(self: SendChannel, frame: Frame) -> bool:
    sent = LocalSendChannel.send_nowait(self, frame)  # type: ignore[arg-type]
    if sent and frame.kind == FrameKind.DATA and frame.sequence == 17:
        LocalSendChannel.send_nowait(self, frame)  # type: ignore[arg-type]
    return sent


def swap_frames(self: Any, frame: Frame) -> bool:
    sent = LocalSendChannel.send_nowait(self, frame)
    frames = self._link.frames
    if sent and len(frames) > 1:
        frames[-1], frames[-2] = frames[-2], frames[-1]
    return sent


def admit_everything(self: Any, frame: Frame) -> bool:
    self._link.frames.append(frame)
    self._ring(self._bit)
    return True


def refuse_the_oversized(self: Any, frame: Frame) -> bool:
    return frame.nbytes <= self.channel.budget and LocalSendChannel.send_nowait(self, frame)


def never_ring_credit(self: Any) -> None:
    self._link.wish = False
    LocalReceiveChannel.consume(self)


def lower_frontiers(self: Any, word: int, value: int, *, ring: bool = True) -> None:
    self._link.frontiers[word] = value
    self._ring(self._bit)


def never_ring_frontiers(self: Any, word: int, value: int, *, ring: bool = True) -> None:
    LocalSendChannel.advance(self, word, value, ring=False)


def promise_early(self: Any, frame: Frame) -> bool:
    if frame.kind == FrameKind.DATA:
        self._link.frontiers[0] = max(self._link.frontiers[0], frame.max_time)
    return LocalSendChannel.send_nowait(self, frame)


def close_silently(self: Any) -> None:
    self._closed = True


def drop_when_closed(self: Any, ahead: int = 0) -> Frame | None:
    if self._link.sender_closed:
        self._frames.clear()
    return LocalReceiveChannel.peek(self, ahead)


def break_when_closed(self: Any, ahead: int = 0) -> Frame | None:
    self._ended = False
    return LocalReceiveChannel.peek(self, ahead)


def consume_on_peek(self: Any, ahead: int = 0) -> Frame | None:
    frame = LocalReceiveChannel.peek(self, ahead)
    if frame is not None and frame.kind == FrameKind.DATA:
        LocalReceiveChannel.consume(self)
    return frame


def count_nothing(self: Any) -> dict[str, int]:
    return {"sent": 0, "waiting": 0, "waiting_bytes": 0, "loans": 0, "peak_bytes": 0, "sent_bytes": 0}


def keep_a_serial(self: Any, frame: Frame) -> bool:
    frame.serial = 0
    return LocalSendChannel.send_nowait(self, frame)


MUTANTS = {
    "everything accepted arrives once and in order": [
        mutant({"send_nowait": lose_a_frame}),
        mutant({"send_nowait": double_a_frame}),
        mutant({"send_nowait": swap_frames}),
    ],
    "every field of a header arrives as it was sent": [mutant({"send_nowait": keep_a_serial})],
    "barriers and the end mark keep their place among the data": [
        mutant({"send_nowait": swap_frames}),
        mutant({}, {"peek": drop_when_closed}),
        mutant({}, {"peek": break_when_closed}),
    ],
    "peeking ahead consumes nothing and answers the same frames": [mutant({}, {"peek": consume_on_peek})],
    "statistics tell what waits on both ends": [mutant({"statistics": count_nothing})],
    "the budget bounds unconsumed bytes and consuming rings for credit": [
        mutant({}, {"consume": never_ring_credit})
    ],
    "a jumbo tuple larger than the budget is admitted alone": [
        mutant({"send_nowait": refuse_the_oversized}),
        mutant({"send_nowait": admit_everything}),
    ],
    "a channel of one slot carries one frame at a time": [mutant({"send_nowait": admit_everything})],
    "a refusal by admits rings for credit as well": [mutant({}, {"consume": never_ring_credit})],
    "frontier words only rise, each for itself, and ring": [
        mutant({"advance": lower_frontiers}),
        mutant({"advance": never_ring_frontiers}),
    ],
    "a frontier never overtakes the frames sent before it": [mutant({"send_nowait": promise_early})],
    "a receiver drains, then learns that its sender closed without an end mark": [
        mutant({"close": close_silently}),
        mutant({}, {"peek": drop_when_closed}),
    ],
    "a sender learns that its receiver closed": [mutant({}, {"close": close_silently})],
}
CASES = [(name, each) for name, mutants in MUTANTS.items() for each in mutants]


@pytest.mark.parametrize(
    ("name", "transport"), CASES, ids=[f"{name} {n}" for n, (name, _) in enumerate(CASES)]
)
def test_a_transport_that_breaks_the_rule_fails_its_check(name: str, transport: type[Mutant]) -> None:
    (check,) = [check for check in CHECKS if check.name == name]
    with pytest.raises(CheckFailed, match=name):
        TransportCase(transport, check, Way.TOGETHER, deadline=0.2).run()


def test_check_transport_runs_every_case_and_counts_them() -> None:
    together = [check for check in CHECKS if not check.dies]
    count = check_transport(LocalTransport)
    assert 20 <= count <= len(together)


def test_check_transport_names_all_that_failed() -> None:
    with pytest.raises(CheckFailed) as caught:
        check_transport(mutant({"statistics": count_nothing}), deadline=0.2)
    text = str(caught.value)
    assert "statistics tell what waits on both ends" in text
    assert "worker 0" in text
    assert "'local'" in text


def test_check_names_are_sentences_and_differ() -> None:
    names = [check.name for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(" " in name for name in names)
