"""console-sink: rows on standard output, at once. One write a batch, so that lines of workers do not mix."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from actorstream.actors.contract import Contract
from actorstream.connectors.csv_text import csv_text, header_line
from actorstream.connectors.direct_file import wait_for_room, write_all
from actorstream.connectors.json_text import json_lines
from actorstream.connectors.sink import Sink

if TYPE_CHECKING:
    from actorstream.events.batch import Batch


class ConsoleSink(Sink):
    """Prints rows as lines on standard output.

    Args:
        format: "text": the only field of rows that have one, else the fields separated by tabs; "csv": as
        csv-sink,
            with a header where there is one replica; "jsonl": as jsonl-sink.
    """

    contract: ClassVar[Contract] = Contract(one_stream=True, destination="console")

    def __init__(self, *, format: Literal["text", "csv", "jsonl"] = "text") -> None:
        self.format = format
        self._headed = False

    def on_batch(self, batch: Batch) -> None:
        self._print(self._lines(batch))

    def _lines(self, batch: Batch) -> bytes | memoryview:
        if self.format == "jsonl":
            return json_lines(batch)
        if self.format == "text":
            return text_lines(batch)
        if self._headed or (self._context is not None and self._context.replicas > 1):
            return csv_text(batch)
        self._headed = True
        return header_line(batch.schema.names()) + csv_text(batch)

    def _print(self, text: bytes | memoryview) -> None:
        stream: Any = sys.stdout
        try:
            descriptor = stream.fileno()
        except (OSError, ValueError, AttributeError):  # a notebook, or a test that captures
            stream.write(bytes(text).decode(errors="replace"))
            stream.flush()
            return
        while True:
            try:
                stream.flush()
            except BlockingIOError:  # what is not written yet, the next flush writes
                wait_for_room(descriptor)
            else:
                break
        write_all(descriptor, text)


def text_lines(batch: Batch) -> bytes:
    """The fields of each row as text, separated by tabs, unquoted; null is empty."""
    columns = [
        ["" if value is None else _shown(value) for value in each.tolist()] for each in batch.columns()
    ]
    return "".join("\t".join(row) + "\n" for row in zip(*columns)).encode(errors="replace")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    isoformat = getattr(value, "isoformat", None)
    return isoformat().replace("+00:00", "Z") if isoformat is not None else str(value)
