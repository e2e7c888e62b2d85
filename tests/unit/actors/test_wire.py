from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.actors.wire import (
    HANDSHAKE_FRAME,
    HEADER,
    LENGTH_BYTES,
    ActorFrameKind,
    Credit,
    FrameReader,
    Hello,
    control_frame,
    read_control,
)
from actorstream.errors import BrokenError


def frame(kind: int, number: int, target: int, ask: int, body: bytes) -> bytes:
    return HEADER.pack(HEADER.size - LENGTH_BYTES + len(body), kind, 0, number, target, ask) + body


frames = st.lists(
    st.tuples(
        st.sampled_from([int(kind) for kind in ActorFrameKind]),
        st.integers(0, 0xFFFF),
        st.integers(0, 0xFFFFFFFF),
        st.integers(0, 0xFFFFFFFF),
        st.binary(max_size=300),
    ),
    max_size=12,
)


@given(frames, st.lists(st.integers(1, 200), min_size=1, max_size=30))
def test_frames_come_out_as_they_went_in_however_the_stream_is_split(
    sent: list[tuple[int, int, int, int, bytes]], cuts: list[int]
) -> None:
    stream = b"".join(frame(*each) for each in sent)
    reader, got, start, turn = FrameReader(), [], 0, 0
    while start < len(stream):
        size = cuts[turn % len(cuts)]
        got += [(*rest, bytes(body)) for *rest, body in reader.feed(stream[start : start + size])]
        start, turn = start + size, turn + 1
    assert got == sent


def test_a_frame_over_the_limit_is_refused_before_it_has_arrived() -> None:
    reader = FrameReader()
    with pytest.raises(BrokenError, match="allowed"):
        reader.feed(HEADER.pack(HANDSHAKE_FRAME + 1, 0, 0, 0, 0, 0))


def test_a_frame_shorter_than_its_header_is_refused() -> None:
    with pytest.raises(BrokenError):
        FrameReader().feed(HEADER.pack(3, 0, 0, 0, 0, 0))


def test_the_limit_can_be_raised_after_the_handshake() -> None:
    reader = FrameReader()
    reader.feed(control_frame(Hello(1, "a", 1, 1)))
    reader.limit = 1 << 20
    body = b"x" * (1 << 19)
    assert bytes(reader.feed(frame(1, 0, 0, 0, body))[0][4]) == body


def test_control_messages_are_typed_and_nothing_else_passes() -> None:
    for message in (Hello(1, "a", 7, 64), Credit(3, 4096)):
        (*_, body) = FrameReader().feed(control_frame(message))[0]
        assert read_control(body) == message
    for nonsense in (b"", b"\x93", b"\x92\xa6credit\x01", b"\x91\xa5panic", b"\xc1" * 10):
        with pytest.raises(BrokenError):
            read_control(nonsense)


def test_the_first_frame_keeps_its_bytes_so_that_versions_can_tell_each_other_apart() -> None:
    hello = Hello(protocol=1, name="a", identity=7, max_frame=64)
    assert (
        control_frame(hello)
        == bytes.fromhex("18000000 00 00 0000 00000000 00000000") + b"\x95\xa5hello\x01\xa1a\x07@"
    )


def test_a_text_that_is_none_is_refused() -> None:
    body = control_frame(Hello(protocol=1, name="town", identity=7, max_frame=64))[HEADER.size :]
    with pytest.raises(BrokenError, match="a control frame that is none"):
        read_control(body.replace(b"town", b"t\xffwn"))
