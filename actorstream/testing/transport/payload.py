"""The jumbo tuples that the suite sends: contents follow from a seed, so a receiver knows what must have arrived."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorstream.errors import BrokenError
from actorstream.events.batch import Batch
from actorstream.events.jumbo import JumboTuple, decode, encode
from actorstream.events.schema import Schema
from actorstream.native.arena import Arena
from actorstream.testing.transport.side import PLAN, Side, expect
from actorstream.transports.base import Frame, FrameKind

SCHEMA = Schema.from_dict(
    {"number": "int", "square": "int", "half": "float"}, name="Sample", event_time="number"
)
WORDS = Schema.from_dict({"number": "int", "word": "str?"}, name="Word", event_time="number")
TEXT = Schema.from_dict({"text": "str"}, name="Text")


def numbers(seed: int, rows: int) -> np.ndarray:
    """The `number` column of the jumbo tuple with this seed."""
    return np.arange(seed * 1000, seed * 1000 + rows, dtype=np.int64)


def sample(side: Side, seed: int, rows: int = 16, **header: Any) -> Frame:
    """A data frame of `rows` rows of SCHEMA, built where the transport wants it; `sequence` is the seed."""
    return sample_for(side.transport.arena, seed, rows, **header)


def sample_for(arena: Arena | None, seed: int, rows: int = 16, **header: Any) -> Frame:
    """The same in a given arena."""
    number = numbers(seed, rows)
    batch = Batch.of_columns(SCHEMA, {"number": number, "square": number * number, "half": number / 2})
    return _frame(arena, batch, seed, header)


def words(side: Side, seed: int, rows: int = 16, **header: Any) -> Frame:
    """The same with a nullable variable-width column: every third word is missing."""
    number = numbers(seed, rows)
    text = [None if n % 3 == 0 else "w" * int(n % 50) for n in number.tolist()]
    batch = Batch.of_columns(WORDS, {"number": number, "word": text})
    return _frame(side.transport.arena, batch, seed, header)


async def send_text(side: Side, text: str, index: int) -> None:
    """Sends a word to the other role."""
    batch = Batch.of_columns(TEXT, {"text": [text]})
    await side.send(_frame(side.transport.arena, batch, 0, {"min_time": 0, "max_time": 0}), index)


async def read_text(side: Side, index: int) -> str:
    """The word that the other role sent."""
    frame = await side.receive(index)
    return str(decode(TEXT, frame.payload)["text"][0])


def empty(seed: int, **header: Any) -> Frame:
    """A piece of no rows: a header without a block."""
    return Frame(FrameKind.DATA, None, sequence=seed, **header)


def _frame(arena: Arena | None, batch: Batch, seed: int, header: dict[str, Any]) -> Frame:
    payload = encode([batch], arena, batch.schema.fingerprint, PLAN)
    times = batch.time_range() or (0, 0)
    header = {
        "rows": batch.rows,
        "nbytes": payload.nbytes,
        "schema": batch.schema.fingerprint,
        "sequence": seed,
        "min_time": times[0],
        "max_time": times[1],
        **header,
    }
    return Frame(FrameKind.DATA, payload, **header)


def opened(frame: Frame) -> Batch:
    """The rows of a received data frame."""
    expect(isinstance(frame.payload, JumboTuple), f"{frame!r} carries {type(frame.payload).__name__}")
    schema = WORDS if frame.schema == WORDS.fingerprint else SCHEMA
    try:
        batch = decode(schema, frame.payload)
    except BrokenError as error:
        raise AssertionError(f"{frame!r} cannot be decoded: {error}") from error
    if frame.first or frame.rows != batch.rows:
        batch = batch.slice(frame.first, frame.rows)
    return batch


def verify(frame: Frame, seed: int, rows: int = 16) -> None:
    """Expects exactly the jumbo tuple that `sample` or `words` made from this seed."""
    expect(frame.kind == FrameKind.DATA, f"expected jumbo tuple {seed}, got {frame!r}")
    expect(frame.sequence == seed, f"expected sequence {seed}, got {frame!r}: lost, doubled or out of order")
    expect(frame.rows == rows, f"expected {rows} rows, got {frame!r}")
    batch = opened(frame)
    number = numbers(seed, rows)
    expect(
        np.array_equal(batch["number"], number), f"column `number` of {frame!r} has other contents than sent"
    )
    if frame.schema == WORDS.fingerprint:
        text = [None if n % 3 == 0 else "w" * int(n % 50) for n in number.tolist()]
        expect(batch["word"].to_pylist() == text, f"column `word` of {frame!r} has other contents than sent")
    else:
        expect(np.array_equal(batch["square"], number * number), f"column `square` of {frame!r} differs")
        expect(np.array_equal(batch["half"], number / 2), f"column `half` of {frame!r} differs")
