"""The actors that Spark puts in the place of a topology's own sink or source. The keys of the former one stay in the topology
and mean nothing."""

from __future__ import annotations

import socket
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.actors.contract import Contract
from actorstream.connectors.parquet_source import ParquetSource
from actorstream.connectors.sink import END, Sink
from actorstream.events.event import Event
from actorstream.spark.arrow_rows import arrow_rows, arrow_schema
from actorstream.spark.sink import SparkSink
from actorstream.spark.stream_source import SparkStreamSource

if TYPE_CHECKING:
    from actorstream.errors import Problem
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema


class Forward(Sink):
    """Sends its rows to a task's socket as a stream of Arrow, which ends when the run has committed. It waits while the task
    does not read.

    Args:
        address: of the task's socket, a name without a file.
        token: says that it is this run that connects.
    """

    contract: ClassVar[Contract] = Contract(one_stream=True, destination="nowhere")
    input_schema: Schema | None = None

    def __init__(self, address: str, token: str, **former: Any) -> None:
        self.address, self.token = address, token
        self._socket: socket.socket | None = None
        self._writer: Any = None

    def on_start(self) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(f"\0{self.address}")
        self._socket.sendall(self.token.encode())

    def on_batch(self, batch: Batch) -> None:
        self._stream(batch.schema).write_batch(arrow_rows(batch))

    def commit(self, token: Any) -> None:
        if self.input_schema is not None:
            self._stream(self.input_schema)
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def prepare(self, barrier: int) -> Any:
        return True if barrier == END else None

    def on_stop(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def _stream(self, schema: Schema) -> Any:
        import pyarrow as pa

        if self._writer is None:
            assert self._socket is not None
            out = pa.PythonFile(self._socket.makefile("wb", buffering=0), mode="w")
            self._writer = pa.ipc.new_stream(out, arrow_schema(schema))
        return self._writer


class VisibleRows(SparkSink):
    """A spark-sink of one folder."""

    def __init__(self, path: Path, **former: Any) -> None:
        super().__init__(path)

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        return super().check({"path": keys["path"]}, inputs, base)


class _InPlace:
    """The constructor of a source that reads a folder of files in the place of another one."""

    def __init__(
        self,
        path: Path,
        event: type[Event] | None = None,
        schema: dict[str, str] | None = None,
        event_time: str | None = None,
        time_unit: str | None = None,
        max_out_of_orderness: timedelta | None = None,
        rate: float | None = None,
        stream: str | None = None,
        streams: list[str] | None = None,
        **former: Any,
    ) -> None:
        super().__init__(  # type: ignore[call-arg]
            path,
            event=event,
            schema=schema,
            event_time=event_time,
            time_unit=time_unit,
            max_out_of_orderness=max_out_of_orderness,
            rate=rate,
            stream=stream,
            streams=streams,
        )


class GivenRows(_InPlace, ParquetSource):
    """The files that the tasks of a query have written."""


class StreamedRows(_InPlace, SparkStreamSource):
    """The batches that a streaming query writes."""
