"""The source and the sink of a topology whose rows come from a streaming query and go to another, through memory."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.actors.contract import Contract
from actorstream.connectors.rows import batch_of
from actorstream.connectors.sink import END, Sink
from actorstream.connectors.source import Source
from actorstream.dataframes.memory_link import INPUT, OUTPUT, MemoryListener, answer
from actorstream.errors import DataError
from actorstream.spark.arrow_rows import arrow_rows, arrow_schema

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

MOST_BYTES = 64 << 20
"""Of rows that no query has asked for yet; the topology waits then."""
OTHER_RUN = (
    "is one of a run that has ended: rows that go through memory are lost with their run. Begin the queries anew, with new "
    "checkpoint locations, or let the rows go through files, which survive a run"
)


class QuerySource(Source):
    """The batches of a streaming query in their order. Tasks send rows, which count once the query commits their batch.

    Args:
        folder: of the queries.
        host: an address that tasks on other hosts reach, or "".
    """

    contract: ClassVar[Contract] = Contract(endless=True)

    def __init__(
        self,
        folder: Path,
        host: str = "",
        event: Any = None,
        schema: dict[str, str] | None = None,
        event_time: str | None = None,
        time_unit: str | None = None,
        max_out_of_orderness: Any = None,
        stream: str | None = None,
        streams: list[str] | None = None,
        **former: Any,
    ) -> None:
        super().__init__(
            event=event,
            schema=schema,
            event_time=event_time,
            time_unit=time_unit,
            max_out_of_orderness=max_out_of_orderness,
            stream=stream,
            streams=streams,
        )
        self._folder, self._host = folder, host
        self._staged: dict[tuple[int, str], list[Any]] = {}
        """Batch and attempt of a task -> its rows."""
        self._next = self._rows = 0
        self._queue: deque[Any] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._woken = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listener: MemoryListener | None = None

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        return cls.contract

    def on_start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = MemoryListener(self._folder, INPUT, self._host, self._serve)

    def on_stop(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._listener is not None:
            self._listener.close()

    async def read(self, max_rows: int) -> Batch | None:  # type: ignore[override]
        if not self._opened:
            return None
        while not self._queue:
            self._woken.clear()
            if not self._queue:
                await self._woken.wait()
        with self._changed:
            rows = self._queue.popleft()
            if rows.num_rows > max_rows:
                self._queue.appendleft(rows.slice(max_rows))
                rows = rows.slice(0, max_rows)
            self._changed.notify_all()
        schema = self.row_schema()
        batch, misfits = batch_of(schema, {name: rows.column(name) for name in schema.names()})
        if misfits:
            row, (name, why) = min(misfits.items())
            raise DataError(f"row {self._rows + row + 1}: {why}", column=name)
        self.row = self._rows
        self._rows += rows.num_rows
        return batch

    def _serve(self, link: socket.socket, hello: Mapping[str, Any]) -> None:
        """Answers a question of the query's writer."""
        if hello["what"] == "rows":
            self._stage(link, hello)
        elif hello["what"] == "commit":
            self._commit(link, int(hello["batch"]), hello["parts"])

    def _stage(self, link: socket.socket, hello: Mapping[str, Any]) -> None:
        """Takes the rows of an attempt of a task, which wait for the commit of their batch."""
        import pyarrow as pa

        with link.makefile("rb") as file:
            batches = [each for each in pa.ipc.open_stream(file) if each.num_rows]
        missing = [
            name for name in self.row_schema().names() if batches and name not in batches[0].schema.names
        ]
        if missing:
            answer(
                link,
                error=f"the query's rows have no column {missing[0]!r}; they have {batches[0].schema.names}",
            )
            return
        with self._changed:
            self._staged[int(hello["batch"]), str(hello["attempt"])] = batches
        answer(link)

    def _commit(self, link: socket.socket, batch: int, parts: list[list[Any]]) -> None:
        """Answers once actors have taken all rows of the batch. Spark may commit a batch again; it counts once."""
        with self._changed:
            lost = any((batch, attempt) not in self._staged for _, attempt in parts)
            if batch > self._next or (batch == self._next and lost):
                answer(link, error=f"batch {batch}, after {self._next} batches, {OTHER_RUN}")
                return
            if batch == self._next:
                for _, attempt in sorted(parts):
                    self._queue.extend(self._staged[batch, attempt])
                self._next += 1
                self._staged = {key: rows for key, rows in self._staged.items() if key[0] > batch}
                assert self._loop is not None
                self._loop.call_soon_threadsafe(self._woken.set)
            self._changed.wait_for(lambda: self._closed or not self._queue)
            if not self._closed:
                answer(link)


class QuerySink(Sink):
    """Keeps rows until the query that reads them has committed them; the topology waits while there are many that no query
    has asked for.

    Args:
        folder: of the queries.
        host: an address that tasks on other hosts reach, or "".
    """

    contract: ClassVar[Contract] = Contract(one_stream=True, destination="nowhere")
    input_schema: Schema | None = None

    def __init__(self, folder: Path, host: str = "", **former: Any) -> None:
        self._folder, self._host = folder, host
        self._held: deque[Any] = deque()
        self._first = self._rows = self._offered = self._unasked = 0
        """Numbers of rows: the first one that is held; how many have come; how many of these a query knows of. `_unasked`:
        bytes of the rows that no query knows of."""
        self._lock = threading.Lock()
        self._asked = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listener: MemoryListener | None = None

    def on_start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._listener = MemoryListener(self._folder, OUTPUT, self._host, self._serve)

    def on_stop(self) -> None:
        if self._listener is not None:
            self._listener.close()

    async def on_batch(self, batch: Batch) -> None:
        rows = arrow_rows(batch)
        while self._unasked > MOST_BYTES:
            self._asked.clear()
            if self._unasked > MOST_BYTES:
                await self._asked.wait()
        with self._lock:
            self._held.append(rows)
            self._rows += rows.num_rows
            self._unasked += rows.nbytes

    def prepare(self, barrier: int) -> Any:
        return True if barrier == END else None

    def commit(self, token: Any) -> None:
        """Nothing: the rows are with the query."""

    def _serve(self, link: socket.socket, hello: Mapping[str, Any]) -> None:
        import pyarrow as pa

        assert self._listener is not None
        assert self._loop is not None
        if hello["what"] == "count":
            with self._lock:
                self._offered, self._unasked = self._rows, 0
            self._loop.call_soon_threadsafe(self._asked.set)
            answer(link, rows=self._offered, run=self._listener.run)
        elif hello["what"] == "drop":
            if (
                hello["run"] == self._listener.run
            ):  # a query may still commit the rows of a run before this one
                self._drop(int(hello["end"]))
            answer(link)
        elif hello["what"] == "read":
            start, end = int(hello["start"]), int(hello["end"])
            with self._lock:
                found = list(self._rows_between(start, end))
                lost = hello["run"] != self._listener.run or start < self._first
            if lost and end > start:
                answer(link, error=f"row {start} {OTHER_RUN}")
                return
            answer(link)
            assert self.input_schema is not None
            with link.makefile("wb") as file, pa.ipc.new_stream(file, arrow_schema(self.input_schema)) as out:
                for rows in found:
                    out.write_batch(rows)

    def _drop(self, end: int) -> None:
        """Lets go of the rows before `end`, which the query has committed."""
        with self._lock:
            while self._held and self._first + self._held[0].num_rows <= end:
                self._first += self._held.popleft().num_rows

    def _rows_between(self, start: int, end: int) -> Any:
        at = self._first
        for rows in self._held:
            low, high = max(start - at, 0), min(end - at, rows.num_rows)
            if low < high:
                yield rows.slice(low, high - low)
            at += rows.num_rows
