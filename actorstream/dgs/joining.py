"""A worker of a plan whose children have its state between its events joins their states, updates the joined one, and forks it
again. Pure."""

from __future__ import annotations

from typing import Any, final

from actorstream.dgs.messages import LAST, Request, StateDown, StateUp
from actorstream.dgs.worker import GATHERING, HAS, LENT, WorkerProtocol


@final
class JoinedChildren:
    """Children whose states are joined for each operation, and forked behind it.

    While a request is open the children work on whatever comes before it, and workers elsewhere go on. The events of one
    released slice share a join as far as neither child has anything between them: a child says how many it covers, and is
    asked again for the rest.
    """

    def ask(self, worker: WorkerProtocol, request: Request) -> None:
        for messages in worker.to_children:
            messages.append(request)
        worker.phase = GATHERING

    def answered(self, worker: WorkerProtocol) -> bool:
        return all(worker.answers)

    def step(self, worker: WorkerProtocol) -> bool:
        if worker.phase is GATHERING:
            left, right = worker.answers
            return bool(left and right) and self._join(worker, left.popleft(), right.popleft())
        if worker.phase is LENT:
            return False
        if worker.queue or worker.release():
            self.ask(worker, worker.request_for(worker.queue.popleft()))
            return True
        if worker.is_at_end:
            self.ask(worker, LAST)
            return True
        return False

    def _join(self, worker: WorkerProtocol, left: StateUp, right: StateUp) -> bool:
        """Works on the open operation with the state of both children; returns whether there may be more to do."""
        worker.joins += 1
        state = worker.calls.join(left.state, right.state)
        if not worker.begun:
            worker.give_up(state)
            return False
        operation = worker.begun[0]
        covered = operation.base + min(left.covered, right.covered)
        if operation.is_request:
            worker.lend(state, covered)
            return False
        state = worker.calls.update(state, operation.tag, operation.rows.item, operation.first, covered)
        self.take_state(worker, state, covered)
        return True

    def take_state(self, worker: WorkerProtocol, state: Any, done: int) -> None:
        """Gives the children their shares, and says how many of the events that they were asked for are done."""
        shares, begun = worker.calls.fork(state), worker.begun
        if begun:
            operation = begun.popleft() if done == begun[0].last else begun[0]
            operation.first = done
            done -= operation.base
        for messages, share in zip(worker.to_children, shares):
            messages.append(StateDown(share, done))
        worker.phase = GATHERING if begun else HAS
