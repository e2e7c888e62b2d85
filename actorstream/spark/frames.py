"""Frames: what a Spark task and a source actor say to each other over a stream socket. Pure bytes, no sockets here.

    task  → source   hello: one line of JSON (token, lane, range)
    source → task    where: one line of JSON (state, batch, digest, window)
    task  → source   frames: kind (1 byte), number of the batch (8), digest (16), bytes of the payload (8), payload
    source → task    one byte CREDIT for each batch that has been taken; TAKEN after the end; STAY or LEAVE after ASK

Batches of a lane are numbered from 0 in each range. A digest covers all batches of the range up to this one, so that two
digests are equal only if everything before was equal, too.
"""

from __future__ import annotations

import struct
from typing import Any

from actorstream.native.kernels import combine, hash_buffer

HEADER = struct.Struct("<BQ16sQ")
BATCH, END, DIFFERS, ASK = 1, 2, 3, 4
"""ASK: the task has waited for credit for long; may it leave its slot to a lane that has no task?"""
CREDIT, TAKEN, STAY, LEAVE = b"c", b"t", b"s", b"l"
GO, DONE = "go", "done"
_DIGEST = struct.Struct("<QQ")
NOTHING = bytes(_DIGEST.size)
"""The digest before the first batch."""
MOST_BYTES = 1 << 31
"""A frame that says it is longer is no frame."""


def digest_of(before: bytes, payload: bytes | memoryview) -> bytes:
    """The digest of a batch, `before` being that of the batches before it. It tells tables apart that have changed; it is no
    protection against a table that is made to look the same."""
    first, second = _DIGEST.unpack(before)
    found = hash_buffer(memoryview(payload))
    return _DIGEST.pack(combine(first, found), combine(found, second))


def encode_batch(batch: Any) -> memoryview:
    """A record batch as a stream of Arrow's IPC format. Spark fills what lies below a null with
    zeros, so equal rows of a task give equal bytes."""
    import pyarrow as pa

    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema) as writer:
        writer.write_batch(batch)
    return memoryview(out.getvalue())


def decode_batch(payload: bytes | memoryview) -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(payload) as reader:
        return reader.read_next_batch()
