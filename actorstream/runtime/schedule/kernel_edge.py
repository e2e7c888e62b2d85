"""An edge to an operator that the loop calls and that may be the first of a chain. Without threads, each batch goes through
the chain in one call of C. With threads, these run the chain, or the operator's own kernel, if it takes long enough
(ordered-multicore sections 3 and 6). Results go on in the order of the input. Nothing here chooses a thread.

The event loop's thread runs the Python before and after a kernel. So no thread waits for the interpreter, and short kernels
are called as if there were no threads.
"""

from __future__ import annotations

import math
from collections import deque
from time import monotonic_ns
from typing import TYPE_CHECKING, NamedTuple

from actorstream.native.pool import KernelPool
from actorstream.runtime.output import DirectEdge
from actorstream.runtime.schedule.kernel_chain import KernelChain, is_ready

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.batch import Batch
    from actorstream.operators.prepared import Prepared
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.unit import Unit
    from actorstream.topology.deploy import DeploySpec

PAYS_NS = 30_000
"""A kernel of so many ns is worth a thread: to hand it over and take it back costs as much."""
AHEAD_NS = 2_000_000
"""Kernels that are under way for each thread, in ns at the measured cost. With 0.2 ms threads slept between the loop's turns,
and kernels of 50 us were slower with a second thread than without; from 0.8 ms on they were not."""
MOST_UNDER_WAY = 256
"""The most batches of one edge whose kernels wait, run, or have run and not been sent on."""


class _Started(NamedTuple):
    """A batch whose kernel was submitted. `end`: the serial number behind its own. `chain`: the chain whose kernel it is; None:
    it is the consumer's. `nbytes`: of the batch when it was submitted; a later estimate may differ."""

    end: int
    batch: Batch
    nbytes: int
    prepared: Prepared
    chain: KernelChain | None


class KernelEdge(DirectEdge):
    """A direct edge that runs the consumer and the neighbours behind it as one chain, on a pool if there is one.

    If there is no pool, or kernels are short and nothing is under way, a batch goes through at once, as through any direct
    edge. Else its kernel is prepared and submitted, and `collect` sends its result on in its turn. Promises of event time, and
    batches that cannot be prepared, keep their place among the kernels.

    An edge to an operator with a state is `exclusive`: one batch is under way at a time, from `prepare` to `finish`,
    whichever thread runs the kernel. A kernel edge may also stand before the head of a unit, behind its inbox.
    """

    def __init__(
        self, consumer: Replica, input_name: str, unit: Unit, deploy: DeploySpec, *, exclusive: bool = False
    ) -> None:
        """`unit`: the unit of both ends. `deploy`: says how many batches and bytes may be under way at once. `exclusive`:
        whether the consumer has a state."""
        super().__init__(consumer, input_name)
        self.unit, self.exclusive = unit, exclusive
        self.at_head = consumer is unit.head
        """Whether the edge stands before the head of a unit, which takes its input by channels."""
        self.inner = False
        """Whether the edge is within the chain of another edge, and has no jobs of its own."""
        self._chain: KernelChain | None = None
        """The chain that one job runs; None: a job runs the consumer's kernel."""
        self._linked = exclusive
        """Whether a chain has been looked for."""
        self.pool: KernelPool | None = None
        self.lane = 0
        self.blocked = False
        self.kernel_ns = 0.0
        """Time that the kernel of a batch takes, smoothed."""
        self.took_ns = 0
        """Time that threads have spent in kernels since `Kernels.worked` was called last."""
        self.called_ns = 0
        """Time that the loop's thread has spent in kernels that it called at once."""
        self._delay_ns: Callable[[], int] | None = None
        self._window = min(deploy.reorder_window, MOST_UNDER_WAY)
        self._limit = self._window
        self._most = deploy.edge_bytes
        self._bytes = 0
        self._submitted = self._collected = 0
        self._waiting: deque[_Started | Batch | int] = deque()
        """Kernels that were submitted, batches without a kernel, and promises, in order."""
        self._behind: deque[Batch | int] = deque()
        """Batches and promises that came when no place was left."""

    def open(self, pool: KernelPool, lane: int, delay_ns: Callable[[], int] | None = None) -> None:
        """Gives the edge a lane of a pool. `delay_ns` draws by how long each kernel is delayed, as `[testing]` says; all
        kernels are submitted then, however short they are."""
        self.pool, self.lane, self._delay_ns = pool, lane, delay_ns

    # -- input

    def push(self, batch: Batch) -> None:
        if not self._linked and not self.inner:
            self._link(batch)
        if self.pool is None:
            chain = self._chain
            if chain is None or not chain.fits(batch) or not chain.run(batch):
                self.consumer.accept(batch, self.input)
        elif not self._waiting and not self._behind and self._at_once():
            self._call(batch)
        else:
            if self._behind or self._is_full():
                self._behind.append(batch)
            else:
                self._start(batch)
            if self._behind or self._is_full():
                self._block()

    def _link(self, batch: Batch) -> None:
        """Finds out how far a chain goes, at the first batch for which the tables of all its members are complete. Those of its
        own unit are."""
        if not is_ready(self):
            return
        self._linked = True
        self._chain = KernelChain.behind(self, batch)
        if self._chain is not None:
            for edge in self._chain.own[1:]:
                edge.inner = True
            for unit in (self.unit, *(gate.taker for gate in self._chain.gates.values())):
                unit.closers.append(self._chain.count)

    def _at_once(self) -> bool:
        return self.inner or (self.kernel_ns < PAYS_NS and self._delay_ns is None)

    def advance(self, frontier: int) -> None:
        if self._behind:
            self._behind.append(frontier)
        else:
            self._start(frontier)

    def _call(self, batch: Batch) -> None:
        """Runs the kernel at once, on the loop's thread."""
        found = self._prepare(batch)
        if found is None:
            self.consumer.accept(batch, self.input)
        else:
            KernelPool.run(found.job)
            self.called_ns += found.job.took_ns
            self._complete(batch, found, self._chain)

    def _prepare(self, batch: Batch) -> Prepared | None:
        """The job of a batch; None: the batch has none."""
        chain = self._chain
        try:
            if chain is None:
                return self.consumer.actor.prepare(batch)  # type: ignore[attr-defined, no-any-return]
            return chain.prepare(batch) if chain.fits(batch) else None
        except Exception:
            return None  # the hook will raise the error in its turn

    def _start(self, item: Batch | int) -> None:
        """Submits the kernel of a batch. What has none, as a promise has, goes on in its turn among the kernels."""
        if not isinstance(item, int) and (prepared := self._prepare(item)) is not None:
            self._submit(item, prepared)
        elif self._waiting:
            self._waiting.append(item)
        else:
            self._pass_on(item)

    def _submit(self, batch: Batch, prepared: Prepared) -> None:
        if self._delay_ns is not None:
            prepared.job.delay_ns = self._delay_ns()
        submitted = self.pool.submit(self.lane, prepared.job)  # type: ignore[union-attr]
        assert submitted, "a lane holds as many as may be under way"
        self._submitted += 1
        nbytes = batch.nbytes
        self._bytes += nbytes
        self._waiting.append(_Started(self._submitted, batch, nbytes, prepared, self._chain))

    def _pass_on(self, item: Batch | int) -> None:
        """Gives the consumer what has no kernel."""
        if isinstance(item, int):
            self.consumer.advance(item)
        else:
            self.consumer.accept(item, self.input)

    def _is_full(self) -> bool:
        if self.exclusive:
            return bool(self._waiting)
        under_way = self._submitted - self._collected
        return under_way >= self._limit or (under_way > 0 and self._bytes >= self._most)

    def _block(self) -> None:
        if not self.blocked:
            self.blocked = True
            self.unit.on_blocked(self)  # type: ignore[arg-type] # it does what a unit asks of a lane

    # -- results

    def flush(self) -> bool:
        """Sends results on. False: there is no place for more input yet; `on_blocked` was called."""
        self.collect()
        if self.blocked and (self._behind or self._is_full()):
            self.unit.on_blocked(self)  # type: ignore[arg-type]
            return False
        if self.blocked:
            self.blocked = False
            self.unit.worker.mark(self.unit)  # nothing else would wake the unit
        return True

    def is_done(self) -> bool:
        """Whether `collect` would send something on."""
        return (
            self._collected < self._submitted
            and self.pool.ready(self.lane) > self._collected  # type: ignore[union-attr]
            and not self._has_no_credit()
        )

    def is_running(self) -> bool:
        """Whether the next kernel in order is not done yet; the loop will be told when it is."""
        return (
            self._collected < self._submitted and self.pool.ready(self.lane) == self._collected  # type: ignore[union-attr]
        )

    def is_under_way(self) -> bool:
        return bool(self._waiting)

    def collect(self) -> None:
        """Sends on the results that are done, in order, while the outputs have credit; then starts batches that had no place."""
        waiting, ready = self._waiting, -1
        while waiting:
            first = waiting[0]
            if isinstance(first, _Started):
                if ready < first.end:
                    ready = self.pool.ready(self.lane)  # type: ignore[union-attr]
                    if ready < first.end:
                        break
                if self._has_no_credit():
                    break
                waiting.popleft()
                self._finish(first)
            else:
                waiting.popleft()
                self._pass_on(first)
        while self._behind and not self._is_full():
            self._start(self._behind.popleft())

    def settle(self) -> None:
        """Sends on the results of all input. Runs kernels while it waits for others. Outputs without credit keep the results."""
        while self._waiting or self._behind:
            self.pool.settle(self.lane)  # type: ignore[union-attr]
            blocked, self.unit.blocked = self.unit.blocked, []
            self.collect()
            self.unit.blocked += [lane for lane in blocked if lane not in self.unit.blocked]
        self.blocked = False
        if self in self.unit.blocked:
            self.unit.blocked.remove(self)  # type: ignore[arg-type]

    def _has_no_credit(self) -> bool:
        return any(lane is not self and not isinstance(lane, KernelEdge) for lane in self.unit.blocked)

    def _finish(self, started: _Started) -> None:
        """Takes back one kernel, and sends its result on."""
        self._bytes -= started.nbytes
        self._collected = started.end
        self.pool.collected(self.lane, started.end)  # type: ignore[union-attr]
        self.took_ns += started.prepared.job.took_ns
        self._complete(started.batch, started.prepared, started.chain)

    def _complete(self, batch: Batch, prepared: Prepared, chain: KernelChain | None) -> None:
        """Sends on the result of a kernel that has run."""
        consumer, job = self.consumer, prepared.job
        began, took = monotonic_ns(), job.took_ns
        self.kernel_ns = took if not self.kernel_ns else self.kernel_ns + (took - self.kernel_ns) / 8
        if self.exclusive:  # its state has changed, so nothing is run again; `finish` raises errors
            consumer.begin(batch, self.input)
            made = consumer.calls[self.input].finished(batch, prepared.finish)  # type: ignore[union-attr]
            consumer.execute_ns += took + monotonic_ns() - began
            _send(consumer, made)
            return
        made, failed = None, job.outcome != 0
        if not failed:
            try:
                made = prepared.finish()
            except Exception:
                failed = True  # the hook will raise the error
        if failed:
            consumer.accept(batch, self.input)  # the hook finds the error again, and on_error decides
        elif chain is not None:
            consumer.execute_ns += monotonic_ns() - began
            if made is not None:
                chain.tail.forward(made)
        else:
            consumer.begin(batch, self.input)
            consumer.execute_ns += took + monotonic_ns() - began
            _send(consumer, made)

    def plan(self, slice_ns: int, workers: int) -> None:
        """Decides by the measured cost how many batches a thread takes before it looks at other kernels (a slice's worth,
        section 6), and how many are under way (enough that no thread waits for the loop)."""
        if self.kernel_ns > 0:
            self.pool.allot(self.lane, max(1, int(slice_ns / self.kernel_ns)))  # type: ignore[union-attr]
            ahead = max(2, math.ceil(AHEAD_NS / self.kernel_ns))
            self._limit = min(self._window, ahead * workers)


def _send(consumer: Replica, made: Batch | None) -> None:
    """Sends on what a hook or its kernel has returned, and what the hook has emitted."""
    if consumer.descent is not None or consumer.outbox.touched:
        if made is not None:
            consumer.outbox.emit(made)
        consumer.dispatch()
    elif made is not None and made.rows:
        consumer.forward(made)
