"""One worker of a synchronization plan (dgs-flumina sections 3.2 and 3.4) as a protocol: messages in, messages out.

Pure: no I/O, no clock, no actors. Whoever owns it feeds it slices, promises and its neighbours' messages, lets it `run`,
and carries away what it wants to say, in order. It decides when what may happen, never what an event means.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Protocol, final

import numpy as np

from actorstream.dgs.mailbox import NOTHING, SelectiveMailbox, Times
from actorstream.dgs.messages import Promise, Request, StateDown, StateUp, ToChild
from actorstream.dgs.operation import Operation, WaitingRows
from actorstream.errors import DataError


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


class Children(Protocol):
    """How a worker gets the state for an event from its two children (`dgs.joining`, `dgs.adding`). Messages to them go to
    `worker.to_children`."""

    def ask(self, worker: WorkerProtocol, request: Request) -> None:
        """Asks the children for what the last begun operation needs."""

    def answered(self, worker: WorkerProtocol) -> bool:
        """One of `worker.answers` was added; returns whether this is a reason to `run`."""

    def step(self, worker: WorkerProtocol) -> bool:
        """Does one operation, or part of one; returns whether there may be more."""

    def take_state(self, worker: WorkerProtocol, state: Any, done: int) -> None:
        """Takes the state from above, behind event `done` of the request that it was lent for, if it was."""


class Phase(Enum):
    HAS = "has"
    """The state is here, or with the children, and events may be worked on."""
    LENT = "lent"
    """The parent has it."""
    GATHERING = "gathering"
    """The children were asked for theirs."""


HAS, LENT, GATHERING = Phase  # a member by the name of its class costs 65 ns more


@final
class WorkerProtocol:
    """One worker of a plan: mailbox, state, and what passes between it, its parent and its children.

    A leaf works on its events itself. A worker with children leaves to `children` how it comes by a state for an event.

    Args:
        own: its implementation tags.
        above: those of its ancestors.
        ranks: all tags of the plan in the order of their ranks; those of one stream side by side.
        depends: for each tag those that depend on it.
        calls: the program.
        children: what it does with its two children; None: it is a leaf.
        is_root: whether it has no parent.
        streams: tag -> its stream, where several tags share one.
        names: of its tags, for errors.
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
        children: Children | None = None,
        is_root: bool = True,
        streams: Mapping[Any, Any] | None = None,
        names: Mapping[Any, Any] | None = None,
        adds: bool = False,
    ) -> None:
        self.own, self.calls, self.is_root, self.adds = frozenset(own), calls, is_root, adds
        self.children = children
        tags = self.own.union(above)
        self._tags = [tag for tag in ranks if tag in tags]
        near = _ordered(self._tags, self.own, depends, children is None, adds)
        self.mailbox = SelectiveMailbox(self._tags, near, streams)
        self._names = names or {}
        self._sources: dict[Any, Any] = {}
        """Where the events of each own tag come from, as far as it was said."""
        self.to_parent: list[StateUp] = []
        self.to_children: tuple[list[ToChild], ...] = () if children is None else ([], [])
        self.answers: tuple[deque[StateUp], ...] = () if children is None else (deque(), deque())
        """Of each child, as far as they are not used, in order."""
        self._promised = dict.fromkeys(self._tags, (NOTHING, NOTHING))
        self.queue: deque[Operation] = deque()
        """Released operations that are not begun."""
        self.begun: deque[Operation] = deque()
        """Operations for which the children were asked, or the parent has the state, in order."""
        self.state: Any = calls.empty() if adds else None
        """Of all its tags, where it has no children."""
        self.phase = HAS if adds else LENT
        self._final = False
        self.done = False
        """Whether it has given its state up for the last time."""
        self.joins = 0

    # -- what comes in

    def start(self, state: Any) -> None:
        """Gives the root the initial state."""
        self._take_state(state, 0)

    def insert(
        self,
        tag: Any,
        times: Times,
        item: Any,
        places: np.ndarray | None = None,
        *,
        checked: bool = False,
        source: Any = None,
    ) -> None:
        """Events of an own tag. `source`: who brings them; None: nobody in particular. DataError: their times decrease (which is
        `checked` already), or begin before what was promised; or another source has brought some."""
        if source is not None and self._sources.setdefault(tag, source) is not source:
            raise DataError(
                f"rows of {self._names[tag]} come from several replicas of their source; allowed: one replica for the rows of "
                "a stream (replicas = 1)"
            )
        self.mailbox.insert(tag, times, WaitingRows(times, places, item), places, checked=checked)

    def begin(self, tag: Any, time: int, item: Any) -> bool:
        """A single event of an own tag that nothing goes before, where nothing else is to do: `insert` and `run` of it at
        once. False: it is not so, and nothing was changed. Not for tags with places."""
        if self.phase is not HAS or self.begun or self.queue or not self.mailbox.passes(tag, time):
            return False
        if self.children is None:
            self.state = self.calls.update(self.state, tag, item, 0, 1)
            return True
        times, behind = (time,), (time, NOTHING)
        if behind > self._promised[tag]:  # the request is a promise, too
            self._promised[tag] = behind
        self.begun.append(Operation(tag, WaitingRows(times, None, item), 0, 1))
        self.children.ask(self, Request(tag, times))
        return True

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
            self._take_state(message.state, message.done)
        return True

    def _answer(self, request: Request) -> bool:
        """A leaf answers a request for one event at once, if it has nothing to do before: what `insert` and `run` would do.
        False: it is not so, and nothing was changed."""
        tag, times, places = request
        if (
            self.phase is not HAS
            or self.children is not None
            or self.queue
            or len(times) != 1
            or places is not None
            or not self.mailbox.passes(tag, int(times[0]))
        ):
            return False
        if not self.adds:
            self.begun.append(Operation(tag, WaitingRows(times, None, None), 0, 1))
        self.lend(self.state, 1)
        return True

    def from_child(self, child: int, message: StateUp) -> bool:
        """Whether this lets it go on, and is a reason to `run`."""
        self.answers[child].append(message)
        return self.children.answered(self)  # type: ignore[union-attr]

    # -- what follows from it

    def run(self, most: int = 1 << 30) -> bool:
        """Does everything that can be done now, or `most` steps of it; whether there may be more."""
        more, waited, children = True, bool(self.queue), self.children
        while more and most > 0:
            more = self._step() if children is None else children.step(self)
            most -= 1
        if children is not None and (self.mailbox.changed or waited or self.queue):
            self._promise_down()
        return more

    def _step(self) -> bool:
        """At a leaf: one operation; whether there may be more."""
        if self.phase is LENT:
            return False
        if not (self.queue or self.release()):
            if self.is_at_end:
                self.give_up(self.state)
            return False
        operation = self.queue.popleft()
        if operation.is_request:
            self.release()
            if self.queue and self.queue[0].rows is operation.rows:  # more of it was released meanwhile
                operation.last = self.queue.popleft().last
            if not self.adds:
                self.begun.append(operation)
            self.lend(self.state, operation.last)
        else:
            self.state = self.calls.update(
                self.state, operation.tag, operation.rows.item, operation.first, operation.last
            )
        return True

    def release(self) -> bool:
        """Queues what the mailbox lets go; returns whether something is queued."""
        for tag, rows, first, last in self.mailbox.release():
            before = self.queue[-1] if self.queue else None
            if before is not None and before.rows is rows and before.last == first:
                before.last = last
            else:
                self.queue.append(Operation(tag, rows, first, last))
        return bool(self.queue)

    def request_for(self, operation: Operation) -> Request:
        """Begins an operation; returns the request for it. It is a promise, too: that of its last event."""
        self.begun.append(operation)
        tag, rows, first, last = operation.tag, operation.rows, operation.first, operation.last
        times, places = rows.times, rows.places
        if last - first < len(times):
            times, places = times[first:last], None if places is None else places[first:last]  # type: ignore[assignment]
        behind = int(times[-1]), NOTHING if places is None else int(places[-1]) + 1
        self._promised[tag] = max(self._promised[tag], behind)
        return Request(tag, times, places)

    def lend(self, state: Any, covered: int) -> None:
        """Gives the parent the state that it has requested; a part that is added leaves an empty one here."""
        self.to_parent.append(StateUp(state, covered))
        if self.adds:
            self.state = self.calls.empty()
        else:
            self.state, self.phase = None, LENT

    def _take_state(self, state: Any, done: int) -> None:
        """The parent has worked on `done` of the events that it has the state for, or has none yet and gives a first state."""
        if self.children is not None:
            self.children.take_state(self, state, done)
            return
        self.state, self.phase = state, HAS
        if self.begun:
            operation = self.begun.popleft()
            operation.first = done
            if done < operation.last:
                self.queue.appendleft(operation)

    @property
    def is_at_end(self) -> bool:
        """Whether all input has ended, and the state is to be given up for the last time."""
        return not self.done and (self.is_root or self._final) and self.mailbox.ended

    def give_up(self, state: Any) -> None:
        """Gives the state up for the last time, so that the run ends with one."""
        self.done, self.state, self.phase = True, None, LENT
        if self.is_root:
            self.calls.finish(state)
        else:
            self.to_parent.append(StateUp(state, 0))

    def _promise_down(self) -> None:
        """Tells the children how far requests of each tag may be excluded, behind the requests that were made."""
        if self.mailbox.moved:
            self.release()
        first: dict[Any, tuple[int, int]] = {}
        for operation in self.queue:
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
        begun = self.begun
        return begun[0].head[0] if self.phase is LENT and begun and begun[0].is_request else None

    def open_operations(self) -> list[Operation]:
        """Released operations that are not done."""
        return [*self.begun, *self.queue]


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
