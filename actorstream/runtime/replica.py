"""One replica of an actor inside a worker: its instance, hooks, outputs and counters. It never waits and has no queue.

`accept` runs the hook on a batch and pushes what it produced; the unit that owns the replica decides when.
"""

from __future__ import annotations

from functools import partial
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.actors.actor import Actor
from actorstream.actors.operator_errors import unfit
from actorstream.errors import ChannelError, OperatorError, ResourceError, RunError, SchemaError
from actorstream.events.batch import Batch
from actorstream.events.event_columns import emitted
from actorstream.events.fields import WATERMARK
from actorstream.metrics.counters import COUNTER_WORDS, HISTOGRAM_WORDS, Counter, bucket_of
from actorstream.plan.hook_shapes import hook_for
from actorstream.runtime.context import OperatorContext
from actorstream.runtime.failures import Failures
from actorstream.runtime.hooks import BatchCall, EventCall, Outbox
from actorstream.runtime.lineage import Descent
from actorstream.runtime.output import takes_events
from actorstream.runtime.pausing import Pausing
from actorstream.runtime.portions import widths_of
from actorstream.runtime.promises import Promises
from actorstream.runtime.rowless_hooks import RowlessHooks

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from actorstream.actors.contract import Contract
    from actorstream.events.event_columns import EventColumns
    from actorstream.events.feed import Feed
    from actorstream.events.schema import Schema
    from actorstream.native.arena import Arena
    from actorstream.runtime.output import OutEdge
    from actorstream.runtime.ports import UnitPort
    from actorstream.runtime.stamp import Stamp


class Replica:
    """An actor instance with everything it needs to turn input batches into output batches.

    Args:
        id: number of the replica in the plan; the row of its counters.
        name, replica, replicas: the actor's name, which replica this is, and of how many.
        inputs: input name -> schema, in the order of the actor's inputs.
        outputs: output name -> schema, for every output the actor may emit to.
        row: its row of the counter table, int64.
        inherits: whether what it emits must carry system columns of the rows it descends from. marks: whether it must do so
            where some of these rows are behind their watermark.
        hooked: whether its inputs have hooks; a program has none. contract: of its keys; None: its class's.
    """

    def __init__(
        self,
        actor: Actor,
        *,
        id: int,
        name: str,
        replica: int,
        replicas: int,
        inputs: dict[str, Schema],
        outputs: dict[str, Schema],
        on_error: str,
        row: np.ndarray,
        inherits: bool = False,
        marks: bool = False,
        hooked: bool = True,
        contract: Contract | None = None,
    ) -> None:
        self.actor, self.id, self.name, self.replica = actor, id, name, replica
        self.contract = contract or type(actor).contract
        self.schemas = outputs
        self.outbox = Outbox(outputs, name)
        self.failures = Failures(name, replica, on_error, self.outbox)
        self.unfit = partial(unfit, name, replica)
        """Makes the error for emitted rows that do not fit. Batches hold it, which the garbage collector does not look into: it
        must not lead back to this replica."""
        self.edges: dict[str, list[OutEdge]] = {output: [] for output in outputs}
        self.shared: set[str] = set()
        """Outputs that several neighbours take as events, which are made once for all."""
        self.calls: dict[str, EventCall | BatchCall] = {}
        for source in inputs if hooked else ():
            hook, batched = hook_for(actor, source)
            if batched:
                self.calls[source] = BatchCall(hook, self.outbox, self.failures, self.contract.stateless)
            else:
                self.calls[source] = EventCall(hook, self.outbox, self.failures)
        self.row = row
        self.descent = Descent(self.outbox) if inherits else None
        self._behind = Descent(self.outbox) if marks and not inherits else None
        """The descent from a batch with rows behind their watermark, where that from others matters to nobody."""
        self.stamp: Stamp | None = None
        """Gives emitted rows their place in an order; None: no consumer asks for an order."""
        self.unit: UnitPort | None = None
        self.started = False  # on_start was called, so that on_stop is due
        self.busy = 0  # how many of its hooks await something, or are due to
        self.ended = False
        """Whether on_end was called, in this run or before the checkpoint that it resumes from; it emits no more."""
        self.paused = False
        """Whether a hook waits for room in an output; everything that comes in waits behind it."""
        self.pausing = Pausing(self)
        rowless = RowlessHooks(self)
        self.start = rowless.start
        self.call, self.dispatch_of = rowless.call, rowless.dispatch
        self.arena: Arena | None = None
        """Holds batches that are written in place; None: they lie on the heap, because none of them leaves the process."""
        self._fits: dict[str, Schema] = {}
        """Output name -> a schema that equals the output's but is another object."""
        self.is_sink = type(actor).role == "sink"
        self.hands_on = not self.is_sink
        self.promises = Promises(self)
        self.advance = self.promises.advance
        self.has_run = False
        """Whether a hook has run since the actor was last asked for a promise."""
        self.entry_min = self.entry_max = self.began = 0
        self.events_in = self.events_out = self.jumbo_in = self.execute_ns = self.made_bytes = 0
        self._latency = row[COUNTER_WORDS : COUNTER_WORDS + HISTOGRAM_WORDS]
        self._processing = row[COUNTER_WORDS + HISTOGRAM_WORDS :]
        self.context = OperatorContext(self, replicas, inputs)
        actor._bind(self.context)
        if type(actor).emit is Actor.emit:
            actor.emit = self.outbox.emit  # type: ignore[method-assign] # 250 ns less for each event that is emitted
        if type(actor).allocate is Actor.allocate:
            actor.allocate = self.context.allocate  # type: ignore[method-assign]

    def connected(self) -> None:
        """All edges are known. Where no consumer takes events, event hooks give columns at once; where several neighbours
        take the same ones, these are made once for all."""
        self.shared = {output for output, edges in self.edges.items() if sum(map(takes_events, edges)) > 1}
        widths = widths_of(self.schemas, self.edges)
        for each in self.calls.values():
            each.bound(widths)
        schema = self.schemas.get("default")
        calls = [call for call in self.calls.values() if isinstance(call, EventCall)]
        if (
            schema is not None
            and self.descent is None
            and len(calls) == len(self.calls)
            and not any(map(takes_events, self.edges["default"]))
        ):
            for call in calls:
                call.gather(schema.user)

    @property
    def is_async(self) -> bool:
        """Whether any input hook awaits; such a replica is never called directly by its neighbour."""
        return any(call.is_async for call in self.calls.values())

    # -- input

    def accept(self, batch: Batch, source: str) -> None:
        """Runs the hook of input `source` on a batch and pushes what it produced. OperatorError under on_error=fail."""
        if self.paused:
            self.pausing.later(partial(self.accept, batch, source))
            return
        call = self.calls[source]
        self.begin(batch, source)
        started = monotonic_ns()
        portions: Iterator[None] | None = None
        if type(call) is EventCall:
            portions = self.run_events(call, batch.feed(), 0)
        elif self.outbox.touched:
            call.run(batch)  # type: ignore[arg-type]
        else:
            made = call.result(batch)  # type: ignore[union-attr]
            if call.rest is not None:  # type: ignore[union-attr]
                portions = call.portions(batch)  # type: ignore[union-attr,arg-type]
            elif self.hands_on and not self.outbox.touched:  # its only batch goes on without the outbox
                self.execute_ns += monotonic_ns() - started
                if made is not None and made.rows:
                    if self.descent is not None:
                        self.descent.give("default", made)
                    self.forward(made)
                return
            if made is not None:
                self.outbox.emit(made)
        if portions is None:
            self.ran(started, batch.rows)
        else:
            self.pausing.run(portions, partial(self.ran, started, batch.rows))

    def ran(self, started: int, rows: int) -> None:
        """The hook has run on these rows since `started`, and on nothing else since."""
        now = monotonic_ns()
        self.execute_ns += now - started
        self.finish(rows, now)

    def run_events(self, call: Any, events: list[Any] | Feed, first: int) -> Iterator[None] | None:
        """Runs an event hook on events that are rows `first` and following of the batch that `begin` was told. What it
        returns is to be run by `pausing`; None: the hook has run."""
        if self.descent is not None:
            return self.descent.portions(call, events, first)
        if call.in_portions:
            return call.portions(events)  # type: ignore[no-any-return]
        call.run(events)
        return None

    def begin(self, batch: Batch, source: str) -> None:
        """Notes what comes in, before the hook runs on it."""
        if self._behind is not None:
            self.descent = self._behind if WATERMARK in batch.carried() else None
        if self.descent is not None:
            self.descent.source = batch
        self.context.input = source
        self.failures.given = (batch.schema, batch._unfit)
        self.count_input(batch.rows, batch.entry_min, batch.entry_max, batch.began or monotonic_ns())

    def count_input(self, rows: int, entry_min: int, entry_max: int, began: int) -> None:
        """Counts rows that come in together, whichever way they came. `began`: when the first operator took them."""
        self.has_run = True
        self.entry_min, self.entry_max, self.began = entry_min, entry_max, began
        self.events_in += rows
        self.jumbo_in += 1

    def finish(self, rows: int, now: int = 0) -> None:
        """Pushes what the hook produced; a sink records how long these `rows` took to get here. `now`: 0: not known."""
        if self.is_sink and self.entry_max:
            now = now or monotonic_ns()
            self._latency[bucket_of(now - self.entry_max)] += rows
            self._processing[bucket_of(now - self.began)] += rows
        self.dispatch()

    def dispatch(self) -> None:
        """Pushes everything in the outbox along the edges of its outputs."""
        self.has_run = True
        for output, batch in self.outbox.take(self._batch_of):
            if batch.rows:
                if self.descent is not None:
                    self.descent.give(output, batch)
                self.forward(batch, output)

    def forward(self, batch: Batch, output: str = "default") -> None:
        """Sends a batch that was emitted to an output, with the entry times of the current input."""
        if self.stamp is None:
            self.send(batch, output)
        else:
            self.stamp.forward(batch, output)

    def send(self, batch: Batch, output: str) -> None:
        """Pushes a batch along the edges of an output."""
        schema = self.schemas[output] if output in self.schemas else self._schema(output)
        if type(batch) is not Batch:
            batch = batch.sealed()  # type: ignore[assignment]
        if batch.schema is not schema:
            batch = self.fitting(batch, output)
        batch.entry_min, batch.entry_max, batch.began = self.entry_min, self.entry_max, self.began
        self.events_out += batch.rows
        if not schema.bounded:
            self.made_bytes += batch.nbytes
        if output in self.shared:
            batch.events()
        self._push(batch, output)

    def fitting(self, batch: Batch, output: str) -> Batch:
        """The batch as rows of the type of an output. OperatorError: it does not fit."""
        schema = self._schema(output)
        if type(batch) is not Batch:
            batch = batch.sealed()  # type: ignore[assignment]
        if batch.schema is not schema and batch.schema is not self._fits.get(output):
            batch = self._conforming(batch, schema, output)
        return batch

    def _push(self, batch: Batch, output: str) -> None:
        """Pushes a batch that fits its output along the edges."""
        try:
            for edge in self.edges[output]:
                edge.push(batch)
        except (RunError, ChannelError, ResourceError):
            raise
        except Exception as error:
            raise self.unfit(error) from error

    def _batch_of(self, output: str, events: list[Any] | EventColumns) -> Batch:
        schema = self._schema(output)
        if type(events) is list:
            return emitted(schema, events, self.unfit)
        batch = events.batch()  # type: ignore[union-attr]
        batch._unfit = self.unfit
        return batch

    def _schema(self, output: str) -> Schema:
        try:
            return self.schemas[output]
        except KeyError:
            raise OperatorError(
                self.name,
                self.replica,
                f"a hook returned, yielded or emitted something, but there is no output {output!r}; declare its type "
                "in the class attribute `outputs` or as the hook's return annotation, or return None",
            ) from None

    def _conforming(self, batch: Batch, schema: Schema, output: str) -> Batch:
        try:
            made = batch.cast(schema)
            if made is batch:
                self._fits[output] = batch.schema
            return made
        except SchemaError as error:
            raise OperatorError(
                self.name,
                self.replica,
                f"emitted a batch to output {output!r} that does not fit its type: {error}",
            ) from error

    # -- counters

    def publish(self) -> None:
        """Writes the counters to shared memory; once a turn."""
        row = self.row
        row[Counter.EVENTS_IN] = self.events_in
        row[Counter.EVENTS_OUT] = self.events_out
        row[Counter.JUMBO_IN] = self.jumbo_in
        row[Counter.EXECUTE_NS] = self.execute_ns
        if self.failures.dead:
            row[Counter.DEAD] = self.failures.dead
        if self.context.late:
            row[Counter.LATE] = self.context.late
        if (size := getattr(self.actor, "state_bytes", None)) is not None:
            row[Counter.STATE_BYTES] = size
        if passed := getattr(self.actor, "passed_rows", 0):
            row[Counter.PASSED] = passed
