"""One worker of a synchronization plan (dgs-flumina sections 3.2 and 3.4) as a protocol: messages in, messages out.

Pure: no I/O, no clock, no actors. Whoever owns it feeds it slices, promises and its neighbours' messages, lets it `run`,
and carries away what it wants to say, in order. It decides when what may happen, never what an event means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

import numpy as np

from actorstream.dgs.mailbox import NOTHING, SelectiveMailbox, Times
from actorstream.dgs.messages import Promise, Request, StateDown, StateUp, ToChild
from actorstream.dgs.operation import Operation, WaitingRows


class Calls(Protocol):
    """What the protocol asks of the program, by plan worker. What updates emit is the callee's business."""

    def update(self, state: Any, tag: Any, item: Any, first: int, last: int) -> Any:
        """The state after events `first` to `last` (exclusive) of an inserted item."""

    def join(self, left: Any, right: Any) -> Any: ...
    def fork(self, state: Any) -> tuple[Any, Any]: ...
    def finish(self, state: Any) -> None:
        """The whole state, after all input; called at the root."""

    def empty(self) -> Any:
        """A new empty state of this worker's type (`dgs.adding`)."""

    def add(self, state: Any, part: Any, child: int) -> Any:
        """The state together with what a child has made of an empty one (`dgs.adding`)."""


class Phase(Enum):
    HAS = "has"
    """The state is here, or with the children, and events may be worked on."""
    LENT = "lent"
    """The parent has it."""
    GATHERING = "gathering"
    """The children were asked for theirs."""


HAS, LENT, GATHERING = Phase  # a member by the name of its class costs 65 ns more


class WorkerProtocol:
    """One worker of a plan: mailbox, state, and what passes between it, its parent and its children.

    A worker with children has no state of its own between events: its children have it. To work on an event it requests
    their states, joins, updates and forks. While a request is open the children work on whatever comes before it, and
    workers elsewhere go on. The events of one released slice share a join as far as neither child has anything between
    them: a child says how many it covers, and is asked again for the rest.

    Args:
        own: its implementation tags.
        above: those of its ancestors.
        ranks: all tags of the plan in the order of their ranks; those of one stream side by side.
        depends: for each tag those that depend on it.
        calls: the program.
        children: how many it has: none or two.
        is_root: whether it has no parent.
        streams: tag -> its stream, where several tags share one.
        adds: whether its parent adds up what it makes of empty states (`dgs.adding`): it begins with one, and goes on with
            one at once when it has given its state up. Nothing comes down to it but requests and promises.
    """

    def __init__(
        self,
        own: Iterable[Any],
        above: Iterable[Any],
        *,
        ranks: Sequence[Any],
        depends: Mapping[Any, Iterable[Any]],
        calls: Calls,
        children: int = 0,
        is_root: bool = True,
        streams: Mapping[Any, Any] | None = None,
        adds: bool = False,
    ) -> None:
        self.own, self.calls, self.is_root, self.adds = frozenset(own), calls, is_root, adds
        tags = self.own.union(above)
        self._tags = [tag for tag in ranks if tag in tags]
        near = _ordered(self._tags, self.own, depends, not children, adds)
        self.mailbox = SelectiveMailbox(self._tags, near, streams)
        self.to_parent: list[StateUp] = []
        self.to_children: tuple[list[ToChild], ...] = tuple([] for _ in range(children))
        self._promised = dict.fromkeys(self._tags, (NOTHING, NOTHING))
        self._queue: deque[Operation] = deque()
        self._operation: Operation | None = None
        self.state: Any = calls.empty() if adds else None
        """Of all its tags, where it has no children."""
        self.phase = HAS if adds else LENT
        self.answers: list[StateUp | None] = [None] * children
        """Of the children, to the open request."""
        self._final = False
        self.done = False
        """Whether it has given its state up for the last time."""
        self.joins = 0

    # -- what comes in

    def start(self, state: Any) -> None:
        """Gives the root the initial state."""
        self._take_state(state)

    def insert(
        self,
        tag: Any,
        times: Times,
        item: Any,
        places: np.ndarray | None = None,
        *,
        checked: bool = False,
    ) -> None:
        """Events of an own tag. DataError: their times decrease (which is `checked` already), or begin before what was
        promised."""
        self.mailbox.insert(tag, times, WaitingRows(times, places, item), places, checked=checked)

    def begin(self, tag: Any, time: int, item: Any) -> bool:
        """A single event of an own tag that nothing goes before, where nothing else is to do: `insert` and `run` of it at
        once. False: it is not so, and nothing was changed. Not for tags with places."""
        if (
            self.phase is not HAS
            or self._operation is not None
            or self._queue
            or not self.mailbox.passes(tag, time)
        ):
            return False
        if not self.to_children:
            self.state = self.calls.update(self.state, tag, item, 0, 1)
            return True
        self._operation, request = self._single(tag, time, item)
        self._request(request)
        return True

    def _single(self, tag: Any, time: int, item: Any) -> tuple[Operation, Request]:
        """The operation of a single event, and the request for it, which is a promise, too."""
        times, behind = (time,), (time, NOTHING)
        if behind > self._promised[tag]:
            self._promised[tag] = behind
        return Operation(tag, WaitingRows(times, None, item), 0, 1), Request(tag, times)

    def promise(self, tag: Any, bound: int) -> None:
        """A source's heartbeat for an own tag."""
        self.mailbox.promise(tag, bound)

    def from_parent(self, message: ToChild) -> bool:
        """Whether this is a reason to `run`; else it was a request that was answered at once."""
        if isinstance(message, Request):
            if message.tag is None:
                self._final = True
            elif self._answer(message):
                return False
            else:
                rows = WaitingRows(message.times, message.places, None)
                self.mailbox.insert(message.tag, message.times, rows, message.places, checked=True)
        elif isinstance(message, Promise):
            self.mailbox.promise(*message)
        else:
            self._returned(message)
        return True

    def _answer(self, request: Request) -> bool:
        """A leaf answers a request for one event at once, if it has nothing to do before: what `insert` and `run` would do.
        False: it is not so, and nothing was changed."""
        tag, times, places = request
        if (
            self.phase is not HAS
            or self.to_children
            or self._operation is not None
            or self._queue
            or len(times) != 1
            or places is not None
            or not self.mailbox.passes(tag, int(times[0]))
        ):
            return False
        if not self.adds:
            self._operation = Operation(tag, WaitingRows(times, None, None), 0, 1)
        self._lend(self.state, 1)
        return True

    def from_child(self, child: int, message: StateUp) -> bool:
        """Whether this lets it go on, and is a reason to `run`."""
        self.answers[child] = message
        return None not in self.answers

    # -- what follows from it

    def run(self, most: int = 1 << 30) -> bool:
        """Does everything that can be done now, or `most` steps of it; whether there may be more."""
        more, waited = True, bool(self._queue)
        while more and most > 0:
            more = self._step()
            most -= 1
        if self.to_children and (self.mailbox.changed or waited or self._queue):
            self._promise_down()
        return more

    def _step(self) -> bool:
        """One operation, or part of one; whether there may be more."""
        if self.phase is GATHERING:
            return self._gather()
        if self.phase is LENT:
            return False
        if not self._queue:
            self._release()
        if not self._queue:
            return self._finish()
        operation = self._operation = self._queue.popleft()
        if self.to_children:
            self._request(self._made(operation))
        elif operation.is_request:
            self._release()
            if self._queue and self._queue[0].rows is operation.rows:  # more of it was released meanwhile
                operation.last = self._queue.popleft().last
            self._lend(self.state, operation.last)
        else:
            self.state = self.calls.update(
                self.state, operation.tag, operation.rows.item, operation.first, operation.last
            )
            self._operation = None
        return True

    def _release(self) -> None:
        for tag, rows, first, last in self.mailbox.release():
            before = self._queue[-1] if self._queue else None
            if before is not None and before.rows is rows and before.last == first:
                before.last = last
            else:
                self._queue.append(Operation(tag, rows, first, last))

    def _made(self, operation: Operation) -> Request:
        """The request for an operation. It is a promise, too: that of its last event."""
        tag, rows, first, last = operation.tag, operation.rows, operation.first, operation.last
        times, places = rows.times, rows.places
        if last - first < len(times):
            times, places = times[first:last], None if places is None else places[first:last]  # type: ignore[assignment]
        behind = int(times[-1]), NOTHING if places is None else int(places[-1]) + 1
        self._promised[tag] = max(self._promised[tag], behind)
        return Request(tag, times, places)

    def _request(self, request: Request) -> None:
        for messages in self.to_children:
            messages.append(request)
        self.phase = GATHERING

    def _gather(self) -> bool:
        """Goes on once both children have answered."""
        left, right = self.answers
        if left is None or right is None:
            return False
        self.answers = [None, None]
        self.joins += 1
        state = self.calls.join(left.state, right.state)
        operation = self._operation
        if operation is None:
            self._give_up(state)
            return False
        covered = operation.base + min(left.covered, right.covered)
        if operation.is_request:
            self._lend(state, covered)
            return False
        state = self.calls.update(state, operation.tag, operation.rows.item, operation.first, covered)
        operation.first = covered
        self._fork(state)
        return True

    def _fork(self, state: Any) -> None:
        """Gives the children their shares, and says how many of the events that they were asked for are done."""
        shares = self.calls.fork(state)
        operation = self._operation
        done = 0 if operation is None else operation.first - operation.base
        for messages, share in zip(self.to_children, shares):
            messages.append(StateDown(share, done))
        if operation is None or operation.first == operation.last:
            self._operation, self.phase = None, HAS
        else:
            self.phase = GATHERING

    def _lend(self, state: Any, covered: int) -> None:
        self.to_parent.append(StateUp(state, covered))
        if self.adds:
            self.state, self.phase, self._operation = self.calls.empty(), HAS, None
        else:
            self.state, self.phase = None, LENT

    def _returned(self, message: StateDown) -> None:
        """The parent has worked on some of its events, or has none yet and gives a first state."""
        operation = self._operation
        if operation is not None:
            operation.first = message.done
        self._take_state(message.state)

    def _take_state(self, state: Any) -> None:
        operation = self._operation
        if self.to_children:
            self._fork(state)
            return
        self.state, self.phase, self._operation = state, HAS, None
        if operation is not None and operation.first < operation.last:
            self._queue.appendleft(operation)

    def _finish(self) -> bool:
        """At the end of all input the root asks for everything once more, so that the run ends with one state."""
        if self.done or not (self.is_root or self._final) or not self.mailbox.ended:
            return False
        if self.to_children:
            self._request(Request(None, np.empty(0, np.int64)))
            return True
        self._give_up(self.state)
        return False

    def _give_up(self, state: Any) -> None:
        self.done, self.state, self.phase = True, None, LENT
        if self.is_root:
            self.calls.finish(state)
        else:
            self.to_parent.append(StateUp(state, 0))

    def _promise_down(self) -> None:
        """Tells the children how far requests of each tag may be excluded, behind the requests that were made."""
        if self.mailbox.moved:
            self._release()
        first: dict[Any, tuple[int, int]] = {}
        for operation in self._queue:
            if operation.tag not in first:
                first[operation.tag] = operation.head
        for tag in self._tags:
            bound = first.get(tag) or self.mailbox.head(tag)
            if bound > self._promised[tag]:
                self._promised[tag] = bound
                for messages in self.to_children:
                    messages.append(Promise(tag, *bound))
        self.mailbox.changed = False

    # -- looking at it

    @property
    def gives(self) -> bool:
        """Whether something that it has to say to a neighbour is a state."""
        if self.to_parent:
            return True
        for messages in self.to_children:
            for message in messages:
                if type(message) is StateDown:
                    return True
        return False

    @property
    def lent_until(self) -> int | None:
        """The time of the first event for which the parent has this worker's state, which is what the sibling, and all
        below it, have to get to before it comes back; None: the parent has it not."""
        operation = self._operation
        if self.phase is not LENT or operation is None:
            return None
        return operation.head[0]

    def open_operations(self) -> list[Operation]:
        """Released operations that are not done."""
        return [*self._queue] if self._operation is None else [self._operation, *self._queue]


def _ordered(
    tags: Iterable[Any], own: frozenset[Any], depends: Mapping[Any, Iterable[Any]], is_leaf: bool, adds: bool
) -> dict[Any, set[Any]]:
    """Which tags a worker takes in the order of their events.

    A leaf: those that depend on each other. A worker with children: all, since an operation takes the states of all below
    it, and a later event that it began with may wait there for one that waits for an earlier one; or for a source that
    waits for room behind one. Requests need not be ordered among each other if they come one at a time, as the parent has
    ordered them; a parent that adds makes many at once, and counts on answers in the order of their events."""
    here = frozenset(tags)
    others_above = here - own if adds else frozenset()
    if is_leaf:
        near = {tag: set(here.intersection(depends.get(tag, ()))) for tag in tags}
    else:
        near = {tag: set(here) for tag in tags}
    return {tag: others if tag in own else (others & own) | others_above for tag, others in near.items()}
