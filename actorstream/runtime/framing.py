"""Makes jumbo tuples of the rows that wait in a lane. Rows are encoded at most once, straight into the arena, or go by
reference. It does not decide when rows are sent, and knows no channel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from actorstream.errors import ResourceError
from actorstream.events.batch import Batch
from actorstream.events.fields import WATERMARK
from actorstream.events.jumbo import encode
from actorstream.events.sending import shared_jumbo, whole_jumbo
from actorstream.transports.base import Frame

if TYPE_CHECKING:
    from actorstream.events.jumbo import JumboTuple
    from actorstream.events.schema import Schema
    from actorstream.native.arena import Arena
    from actorstream.plan.edge_schemas import EdgeSchemas


class Framing:
    """Makes frames of batches, for one channel.

    Args:
        encodes: whether the channel takes jumbo tuples; else it hands batches over as they are (inside a process).
        arena: where jumbo tuples are built; None: on the heap.
        to_events: whether the consumer takes events rather than columns.
        unfit: makes the error of rows that cannot be encoded; it names who emitted them.

    Attributes:
        cut_bytes: a batch of far more bytes is cut into pieces of about as many (`pieces`).
    """

    __slots__ = (
        "_spare",
        "arena",
        "cut_bytes",
        "encodes",
        "plan",
        "producer",
        "schemas",
        "to_events",
        "unfit",
    )

    def __init__(
        self,
        arena: Arena | None,
        *,
        encodes: bool,
        schemas: EdgeSchemas,
        plan: int,
        producer: int,
        to_events: bool = False,
        unfit: Callable[[Exception], Exception],
    ) -> None:
        self.arena, self.encodes = arena, encodes
        self.schemas, self.plan, self.producer = schemas, plan, producer
        self.to_events, self.unfit = to_events, unfit
        self.cut_bytes = 0
        # a channel that hands over memory copies what a frame says, so one frame serves for all
        self._spare = None if arena is None else Frame.data(None, 0, 0, 0, 0, producer, 0, 0)

    def size(self, batch: Batch) -> int:
        """Bytes that a batch takes on a channel, as far as they are known without making its columns."""
        schema = self.schema(batch)
        return schema.row_bytes * batch.rows if schema.bounded else batch.nbytes

    def pieces(self, nbytes: int) -> int:
        """How many equal pieces rows of so many bytes are cut into. A piece has at most 1.5 times `cut_bytes`: a small rest would
        cost its consumers as much as a whole jumbo tuple."""
        return max(1, (2 * nbytes + self.cut_bytes) // (2 * self.cut_bytes)) if self.cut_bytes else 2

    def is_plain(self, batch: Batch) -> bool:
        """Whether a batch travels without the watermarks of its rows: none is behind its own, or nobody would look."""
        return self.schema(batch) is self.schemas.plain

    def schema(self, batch: Batch) -> Schema:
        """The schema that a batch travels in."""
        marked = self.schemas.marked
        return self.schemas.plain if marked is None or WATERMARK not in batch.carried() else marked

    def whole(self, batch: Batch) -> Frame | None:
        """A jumbo tuple of this batch alone, by reference if possible; None if the batch is too large and must be cut."""
        schema = self.schema(batch)
        whole = whole_jumbo(batch, schema) if self.arena is not None else None
        if whole is not None:
            return self.frame(batch, whole, 0, whole.nbytes, schema)
        found = shared_jumbo(batch, self.arena, schema)
        if found is not None:
            jumbo, first = found
            nbytes = jumbo.nbytes * batch.rows // jumbo.rows if first else jumbo.nbytes
            return self.frame(batch, jumbo, first, nbytes, schema)
        nbytes = self.size(batch)
        if batch.rows > 1 and self.pieces(nbytes) > 1:
            return None
        if not self.encodes:
            if batch.is_selection and not schema.fixed and not self.to_events:
                # gathered in C here, 3 ns a string; by Arrow in the consumer, 11
                made = Batch.from_jumbo(schema, self._encode((batch,), None, schema))
                made.entry_min, made.entry_max, made.began = batch.entry_min, batch.entry_max, batch.began
                batch = made
            return self.frame(batch, batch, 0, nbytes, schema)
        jumbo = self._encode((batch,), self.arena, schema)
        return self.frame(batch, jumbo, 0, jumbo.nbytes, schema)

    def joined(self, parts: list[Batch], nbytes: int) -> Frame:
        """A jumbo tuple of several batches; all of them have rows behind their watermark, or none has."""
        made: Any
        schema = self.schema(parts[0])
        if not self.encodes:
            made = self._one_batch(parts, schema)
        else:
            made = self._encode(parts, self.arena, schema)
            nbytes = made.nbytes
        frame = self.frame(parts[0], made, 0, nbytes, schema)
        for part in parts[1:]:
            frame.rows += part.rows
            frame.min_entry = min(frame.min_entry, part.entry_min)
            frame.max_entry = max(frame.max_entry, part.entry_max)
        return frame

    def frame(self, batch: Batch, payload: Any, first: int, nbytes: int, schema: Schema) -> Frame:
        frame = self._spare
        if frame is None:
            entered = batch.entry_min, batch.entry_max, batch.began
            return Frame.data(payload, batch.rows, first, nbytes, schema.fingerprint, self.producer, *entered)
        frame.payload, frame.rows, frame.first, frame.nbytes = payload, batch.rows, first, nbytes
        frame.schema, frame.min_entry, frame.max_entry = schema.fingerprint, batch.entry_min, batch.entry_max
        frame.began = batch.began
        return frame

    def _one_batch(self, parts: list[Batch], schema: Schema) -> Batch:
        """One batch for a consumer in this process. Events stay events if it takes events; all else is copied once, in C."""
        if len(parts) == 1:
            return parts[0]
        if self.to_events and not schema.system and all(part.has_events for part in parts):
            return Batch.of_events(schema, [event for part in parts for event in part.events()])
        return Batch.from_jumbo(schema, self._encode(parts, None, schema))

    def _encode(self, parts: Sequence[Batch], arena: Arena | None, schema: Schema) -> JumboTuple:
        try:
            return encode(parts, arena, schema, self.plan)
        except ResourceError:
            raise
        except Exception as error:
            raise self.unfit(error) from error


def handed_over(frame: Frame) -> Batch:
    """The rows of a frame inside a process."""
    return frame.payload  # type: ignore[no-any-return]
