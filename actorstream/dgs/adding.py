"""A worker of a plan whose children only add to the state asks them for their parts and adds these up. None of them waits for a
state to come back. Pure.

A program says by `additive` which tags these are; `docs/dgs.md` has the argument why the results stay the same.
"""

from __future__ import annotations

from typing import Any, final

from actorstream.dgs.messages import LAST, Request
from actorstream.dgs.operation import Operation
from actorstream.dgs.worker import HAS, LENT, WorkerProtocol

AHEAD = 256
"""Events that children may be asked for before the first of them is done: they run ahead of their parent by that much."""


@final
class AddingChildren:
    """Children whose parts are added up: the state stays at the worker, nothing is forked, and they begin with empty ones.

    A child answers a request with what it has made since its last answer, and goes on with an empty state at once. The
    worker adds these parts up, event by event: an event takes every part that began before it. So requests are made as
    soon as events are released, and many may be open. All tags below are additive, and so are all workers below with
    children of their own.
    """

    def __init__(self) -> None:
        self._ahead = 0
        """Events of begun operations that were not done when they were asked for."""
        self._covered = [0, 0]
        """How many events of the first operation each child has answered for, as far as its parts are added."""
        self._ending = False

    def ask(self, worker: WorkerProtocol, request: Request) -> None:
        self._ahead += len(request.times)
        for messages in worker.to_children:
            messages.append(request)

    def answered(self, worker: WorkerProtocol) -> bool:
        if worker.begun:
            return worker.phase is HAS and self._add(worker)
        return all(worker.answers)

    def step(self, worker: WorkerProtocol) -> bool:
        if self._ahead < AHEAD and worker.mailbox.moved:
            worker.release()
        if worker.queue:
            self._ask_ahead(worker)
        if worker.phase is LENT:
            return False
        if worker.begun:
            if not self._add(worker):
                return False
            if worker.begun or worker.queue or worker.mailbox.moved:
                return True
        return worker.is_at_end and self._finish(worker)

    def _ask_ahead(self, worker: WorkerProtocol) -> None:
        """Asks the children for their parts up to whatever was released, even while the parent has the state."""
        while worker.queue and self._ahead < AHEAD:
            operation = worker.queue.popleft()
            last = min(operation.last, operation.first + AHEAD - self._ahead)
            if last < operation.last:
                worker.queue.appendleft(Operation(operation.tag, operation.rows, last, operation.last))
                operation.last = last
            self.ask(worker, worker.request_for(operation))

    def _add(self, worker: WorkerProtocol) -> bool:
        """Adds parts for the first operation, and works on its events as far as both have answered; whether it could."""
        operation, covered = worker.begun[0], self._covered
        done = operation.first - operation.base
        for child, parts in enumerate(worker.answers):
            while parts and covered[child] <= done:
                part = parts.popleft()
                worker.state = worker.calls.add(worker.state, part.state, child)
                covered[child] = part.covered
        upto = min(covered)
        if upto <= done:
            return False
        worker.joins += 1
        last = operation.base + upto
        if operation.is_request:
            worker.lend(worker.state, last)
            if not worker.adds:
                return True
        else:
            worker.state = worker.calls.update(
                worker.state, operation.tag, operation.rows.item, operation.first, last
            )
        self._done(worker, operation, last)
        return True

    def _done(self, worker: WorkerProtocol, operation: Operation, upto: int) -> None:
        """The first operation is done up to an event."""
        operation.first = upto
        if upto == operation.last:
            worker.begun.popleft()
            self._ahead -= upto - operation.base
            self._covered = [0, 0]

    def take_state(self, worker: WorkerProtocol, state: Any, done: int) -> None:
        begun = worker.begun
        if begun and begun[0].is_request:  # else this is the first state
            self._done(worker, begun[0], done)
        worker.state, worker.phase = state, HAS

    def _finish(self, worker: WorkerProtocol) -> bool:
        """At the end of all input the children are asked for what they have, once more."""
        if not self._ending:
            self._ending = True
            self.ask(worker, LAST)
        if all(worker.answers):
            for child, parts in enumerate(worker.answers):
                worker.state = worker.calls.add(worker.state, parts.popleft().state, child)
            worker.give_up(worker.state)
        return False
