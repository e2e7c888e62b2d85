"""jsonl-sink: rows as JSON lines files. How rows look is json_text.py's business."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.connectors.file_sink import FileSink
from actorstream.connectors.json_text import json_lines

if TYPE_CHECKING:
    from actorstream.events.batch import Batch


class JsonlSink(FileSink):
    """Writes one JSON object a line: UTF-8, LF, fields in the schema's order, null as null, times in ISO
    8601 (UTC), bytes in base64, `nan` and `inf` as strings.

    Args:
        path: the file, or with `replicas` the folder of parts.
    """

    extension = ".jsonl"

    def rows(self, batch: Batch) -> bytes:
        return json_lines(batch)
