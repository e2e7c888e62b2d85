"""A worker of a plan whose children only add to the state: nobody below it waits for a state to come back. Pure.

A program says by `additive` which tags these are; `docs/dgs.md` has the argument why the results stay the same.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from actorstream.dgs.messages import Request, StateDown, StateUp
from actorstream.dgs.operation import Operation
from actorstream.dgs.worker import HAS, LENT, WorkerProtocol

AHEAD = 256
"""Events that children may be asked for before the first of them is done: they run ahead of their parent by that much."""


class AddingWorker(WorkerProtocol):
    """A worker with children that it forks nothing: the state stays here, and the children begin with empty ones.

    A child answers a request with what it has made since its last answer, and goes on with an empty state at once. The
    worker adds these parts up, event by event: an event takes every part that began before it. So requests are made as
    soon as events are released, and many may be open. All tags below are additive, and so are all workers below with
    children of their own.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._asked: deque[Operation] = deque()
        """Operations that the children were asked for, in order."""
        self._ahead = 0
        """Events in them that were not done when they were asked for."""
        self._parts: tuple[deque[StateUp], ...] = (deque(), deque())
        """Answers of each child that are not added yet, in order."""
        self._covered = [0, 0]
        """How many events of the first operation each child has answered for, as far as its parts are added."""
        self._ending = False

    def begin(self, tag: Any, time: int, item: Any) -> bool:
        if self.phase is not HAS or self._queue or self._asked or not self.mailbox.passes(tag, time):
            return False
        operation, request = self._single(tag, time, item)
        self._say(request)
        self._asked.append(operation)
        self._ahead += 1
        return True

    def from_child(self, child: int, message: StateUp) -> bool:
        asked, covered, part = self._asked, self._covered, self._parts[child]
        done = asked[0].first - asked[0].base if asked else 0
        if asked and self.phase is HAS and not part and covered[child] <= done:
            # added while the other child is waited for
            self.state = self.calls.add(self.state, message.state, child)
            covered[child] = message.covered
        else:
            part.append(message)
        left, right = self._parts
        if not ((left or covered[0] > done) and (right or covered[1] > done)):
            return False
        if asked and self.phase is HAS:
            self._add()
        return True

    def _step(self) -> bool:
        self._ask()
        if self.phase is LENT:
            return False
        if not self._asked:
            return self._finish()
        if not self._add():
            return False
        return bool(self._asked or self._queue or self.mailbox.moved) or self._finish()

    def _ask(self) -> None:
        """Asks the children for their parts up to whatever was released, even while the parent has the state."""
        while self._ahead < AHEAD:
            if not self._queue and self.mailbox.moved:
                self._release()
            if not self._queue:
                return
            operation = self._queue.popleft()
            rows, first = operation.rows, operation.first
            last = min(operation.last, first + AHEAD - self._ahead)
            if last < operation.last:
                self._queue.appendleft(Operation(operation.tag, rows, last, operation.last))
                operation.last = last
            self._say(self._made(operation))
            self._asked.append(operation)
            self._ahead += last - first

    def _add(self) -> bool:
        """Works on events of the first operation, as far as the children have answered; whether it could."""
        operation, covered = self._asked[0], self._covered
        done = operation.first - operation.base
        for child, parts in enumerate(self._parts):
            while covered[child] <= done:
                if not parts:
                    return False
                part = parts.popleft()
                self.state = self.calls.add(self.state, part.state, child)
                covered[child] = part.covered
        self.joins += 1
        last = operation.base + min(covered)
        if operation.is_request:
            self._operation = operation
            self._lend(self.state, last)
            if not self.adds:
                return False
        else:
            self.state = self.calls.update(
                self.state, operation.tag, operation.rows.item, operation.first, last
            )
        self._done(operation, last)
        return True

    def _done(self, operation: Operation, upto: int) -> None:
        """The first operation is done up to an event."""
        operation.first = upto
        if upto == operation.last:
            self._asked.popleft()
            self._ahead -= upto - operation.base
            self._covered = [0, 0]

    def _returned(self, message: StateDown) -> None:
        operation, self._operation = self._operation, None
        if operation is not None:
            self._done(operation, message.done)
        self._take_state(message.state)

    def _take_state(self, state: Any) -> None:
        self.state, self.phase = state, HAS

    def _finish(self) -> bool:
        """At the end of all input the children are asked for what they have, once more."""
        if self.done or not (self.is_root or self._final) or not self.mailbox.ended:
            return False
        if not self._ending:
            self._ending = True
            self._say(Request(None, np.empty(0, np.int64)))
        if not all(self._parts):
            return False
        for child, parts in enumerate(self._parts):
            self.state = self.calls.add(self.state, parts.popleft().state, child)
        self._give_up(self.state)
        return False

    def _say(self, request: Request) -> None:
        for messages in self.to_children:
            messages.append(request)

    def open_operations(self) -> list[Operation]:
        return [*self._asked, *self._queue]
